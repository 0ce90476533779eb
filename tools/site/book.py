"""One book, of executed notebooks: its pages in one language, and the same on paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convlab.lessons.course import Chapter
from tools.site import card, front_page, languages, pages, printed
from tools.site.slim import slim

PDF = "convlab.pdf"  # in the book


@dataclass(frozen=True)
class Material:
    """What every edition of a book is made of.

    Parameters
    ----------
    source : Path
        The executed notebooks, in a folder that gets the front page.
    clean : list of Path
        The notebooks as they are stored, for those who want to run them.
    chapters : sequence of Chapter
        What is known of each.
    lines : mapping of str to str
        What each asks, by its file's name.
    address, repository : str
        Where the book will be, and where its source is; "" if nowhere.
    """

    source: Path
    clean: list[Path]
    chapters: Sequence[Chapter]
    lines: Mapping[str, str]
    address: str
    repository: str

    def pages(self, language: str, editions: Sequence[str], scratch: Path, pdf: bytes | None) -> list[str]:
        """Make the pages of one edition in the folder `scratch / language`; return what Sphinx warned about.

        The first of the editions is the book, which each other one is a folder of; `pdf` goes into the book.
        """
        book, path = scratch / language, languages.path_between(editions[0], language, editions)
        address = self.address and self.address + path
        text = front_page.front_page(self.chapters, self.lines, self.repository, pdf and (PDF, len(pdf)))
        (self.source / front_page.FRONT_PAGE).write_text(text, encoding="utf-8")
        figure = front_page.figure_of_the_blow_up().page()
        (self.source / front_page.FIGURE).write_text(figure, encoding="utf-8")
        settings = {
            "page_lines": {Path(name).stem: line for name, line in self.lines.items()},
            "html_baseurl": address,
            "repository": self.repository,
            **languages.settings(language, scratch / f"of-{language}", editions),
        }
        book.mkdir()
        if pdf:
            (book / PDF).write_bytes(pdf)  # before the pages, which lead to it
        warnings = pages.build_pages(self.source, book, scratch / f"doctrees-{language}", settings)
        pages.offer_clean_notebooks(self.clean, book)
        card.draw(book / "_static" / card.CARD)
        slim(book)
        if address:
            pages.lead_from_anywhere(book / "404.html", address)
        return warnings

    def on_paper(self, language: str, scratch: Path) -> bytes:
        """Return the book as a PDF, in one language."""
        front = self.source / printed.FRONT_PAGE
        front.write_text(front_page.printed_front(self.chapters), encoding="utf-8")
        folder = scratch / "printed"
        settings: dict[str, Any] = languages.settings(language, folder)
        page = printed.page_to_print(self.source, folder, settings)
        front.unlink()
        return printed.print_page(page)
