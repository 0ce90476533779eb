"""``python -m tools.site``: build the book; ``--help`` says what may be asked for."""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from convlab.lessons.course import chapters
from convlab.support.install import install_extra
from convlab.support.progress import Steps
from convlab.workspace.execute import NotebookError, execute
from convlab.workspace.notebooks import ROOT, copy_notebooks, numbered
from convlab.workspace.pages import link_maps
from tools.errors import BuildError, UsageError
from tools.github import EXPECTED, is_repository


def main(arguments: list[str] | None = None) -> int:
    """Build the book and return the exit code: 0 done, 1 a notebook or a page failed, 2 wrongly asked."""
    parser = argparse.ArgumentParser(
        prog="lab.py site",
        description="Build the book: every notebook executed, readable offline, widgets that still move.",
    )
    for option, folder, what in (
        ("--out", "site", "where the book goes"),
        ("--notebooks", "notebooks", "where the notebooks are"),
    ):
        parser.add_argument(
            option, type=Path, default=ROOT / folder, metavar="DIR", help=f"{what} (default: {folder})"
        )
    parser.add_argument("--address", default="", metavar="URL", help="where the book will be published")
    parser.add_argument(
        "--repository",
        default=os.environ.get("GITHUB_REPOSITORY", ""),
        metavar="OWNER/NAME",
        help="on GitHub, for buttons that open a notebook (default: $GITHUB_REPOSITORY, else none)",
    )
    parser.add_argument(
        "--pdf",
        type=Path,
        metavar="FILE",
        help="print the whole book into this file, too; the front page leads to it",
    )
    parser.add_argument(
        "--language",
        nargs="+",
        default=["en"],
        metavar="CODE",
        help="of what was translated, e.g. de (default: en); after the first, each gets a folder in the book",
    )
    asked = parser.parse_args(arguments)
    try:
        build(
            asked.notebooks,
            asked.out,
            address=asked.address,
            repository=asked.repository,
            pdf=asked.pdf,
            editions=asked.language,
        )
    except UsageError as error:
        print(f"lab.py site: {error}", file=sys.stderr)
        return 2
    except (BuildError, NotebookError) as error:
        print(f"lab.py site: {error}\nNo book was written.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nlab.py site: stopped; no book was written.", file=sys.stderr)
        return 130
    return 0


def build(
    notebooks: Path,
    out: Path,
    run: Callable = execute,
    *,
    address: str = "",
    repository: str = "",
    pdf: Path | None = None,
    editions: Sequence[str] = ("en",),
) -> None:
    """Build the book of the notebooks in one folder into another folder; `run` executes one of them.

    Of several editions, by language, the first is the book, and each other one a folder in it.
    """
    try:
        import myst_nb  # noqa: F401
        import nbformat
        import sphinx_book_theme  # noqa: F401

        from tools.site import front_page, languages, links, pages, printed
        from tools.site.book import Material
        from tools.site.publish import check_out, publish
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is not installed; {install_extra('workshop')} adds it") from None

    if not notebooks.is_dir():
        raise UsageError(f"--notebooks {notebooks} is not a folder")
    sources = numbered(notebooks)
    if not sources:
        raise UsageError(f"--notebooks {notebooks} holds no notebook with a name such as 00_start_here.ipynb")
    check_out(out)
    address = _checked_address(address)
    if repository and not is_repository(repository):
        raise UsageError(f"--repository {repository}: expected {EXPECTED}")
    if pdf:
        printed.check_file(pdf)
    languages.check(editions)

    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="book-") as scratch:
        work, source, books = (Path(scratch, name) for name in ("work", "source", "books"))
        copy_notebooks(notebooks, work)
        copy_notebooks(notebooks, source)
        books.mkdir()
        lines = {}
        # One after the other: a notebook that measures must not share the processor with its neighbour.
        with Steps(len(sources) + len(editions) + bool(pdf)) as steps:
            for path in sources:
                steps.begin(path.name)
                notebook = nbformat.read(path, as_version=4)
                first = notebook.cells[0].source if notebook.cells else path.stem
                lines[path.name] = front_page.title_and_line(first)[1]
                run(notebook, path.name, work, on_cell=steps.part)
                link_maps(notebook, [each.stem for each in sources])
                notebook.metadata.pop("widgets", None)  # the pages' widgets carry their own state
                nbformat.write(notebook, source / path.name)
            material = Material(source, sources, chapters(notebooks), lines, address, repository)
            paper = None
            if pdf:
                steps.begin("printing")
                paper = material.on_paper(editions[0], books)
            warnings = []
            for language in editions:
                steps.begin("making pages" + f" in {language}" * (language != languages.ORIGINAL))
                warnings += material.pages(
                    language, editions, books, paper if language == editions[0] else None
                )
            book, *others = (books / language for language in editions)
            for other in others:
                other.rename(book / other.name)
            if address:
                more = [f"{code}/{page}.html" for code in editions[1:] for page in languages.translated(code)]
                pages.tell_crawlers(book, address, more)
            links.check(book, address)
            publish(book, out)
            if pdf and paper:
                printed.write(paper, pdf)
        for line in warnings:
            print(line, file=sys.stderr)
    print(f"The book is ready after {time.monotonic() - begin:.0f} s: open {out / 'index.html'}")


def _checked_address(address: str) -> str:
    """Return the book's address with a stroke at its end, or say what is wrong with it."""
    if address and not re.fullmatch(r"https?://[^\s?#/]+(/[^\s?#]*)?", address):
        raise UsageError(f"--address {address}: expected an address such as https://example.org/convlab/")
    return f"{address.rstrip('/')}/" if address else ""


if __name__ == "__main__":
    sys.exit(main())
