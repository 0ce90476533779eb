"""``python -m tools.site [--out DIR] [--notebooks DIR] [--address URL] [--repository NAME] [--pdf FILE]``."""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from convlab.lessons.course import chapters
from convlab.support.progress import Steps
from convlab.workspace.execute import NotebookError, execute
from convlab.workspace.notebooks import ROOT, copy_notebooks, numbered
from convlab.workspace.pages import link_maps
from tools.errors import BuildError, UsageError


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
    parser.add_argument("--pdf", type=Path, metavar="FILE", help="print the whole book into this file, too")
    parser.add_argument(
        "--language", default="en", metavar="CODE", help="of what was translated, e.g. de (default: en)"
    )
    asked = parser.parse_args(arguments)
    try:
        build(
            asked.notebooks,
            asked.out,
            address=asked.address,
            repository=asked.repository,
            pdf=asked.pdf,
            language=asked.language,
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
    language: str = "en",
) -> None:
    """Build the book of the notebooks in one folder into another folder; `run` executes one of them."""
    try:
        import myst_nb  # noqa: F401
        import nbformat
        import sphinx_book_theme  # noqa: F401

        from tools.site import card, front_page, languages, links, pages, printed
        from tools.site.publish import check_out, publish
        from tools.site.slim import slim
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is not installed; pip install 'convlab[workshop]'") from None

    if not notebooks.is_dir():
        raise UsageError(f"--notebooks {notebooks} is not a folder")
    sources = numbered(notebooks)
    if not sources:
        raise UsageError(f"--notebooks {notebooks} holds no notebook with a name such as 00_start_here.ipynb")
    check_out(out)
    address = _checked_address(address)
    if repository and not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise UsageError(f"--repository {repository}: expected OWNER/NAME, as GitHub has it")
    if pdf:
        printed.check_file(pdf)

    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="book-") as scratch:
        work, source, book, doctrees = (
            Path(scratch, name) for name in ("work", "source", "book", "doctrees")
        )
        spoken = languages.settings(language, Path(scratch))
        copy_notebooks(notebooks, work)
        copy_notebooks(notebooks, source)
        lines = {}
        # One after the other: a notebook that measures must not share the processor with its neighbour.
        with Steps(len(sources) + 1 + bool(pdf)) as steps:
            for path in sources:
                steps.begin(path.name)
                notebook = nbformat.read(path, as_version=4)
                first = notebook.cells[0].source if notebook.cells else path.stem
                lines[path.name] = front_page.title_and_line(first)[1]
                run(notebook, path.name, work, on_cell=steps.part)
                link_maps(notebook, [each.stem for each in sources])
                notebook.metadata.pop("widgets", None)  # the pages' widgets carry their own state
                nbformat.write(notebook, source / path.name)
            steps.begin("making pages")
            course = chapters(notebooks)
            (source / front_page.FRONT_PAGE).write_text(
                front_page.front_page(course, lines), encoding="utf-8"
            )
            figure = front_page.figure_of_the_blow_up().page()
            (source / front_page.FIGURE).write_text(figure, encoding="utf-8")
            settings = {
                "page_lines": {Path(name).stem: line for name, line in lines.items()},
                "html_baseurl": address,
                "repository": repository,
                **spoken,
            }
            warnings = pages.build_pages(source, book, doctrees, settings)
            pages.offer_clean_notebooks(sources, book)
            card.draw(book / "_static" / card.CARD)
            if address:
                pages.tell_crawlers(book, address)
            slim(book)
            links.check(book, address)
            if pdf:
                steps.begin("printing")
                (source / printed.FRONT_PAGE).write_text(front_page.printed_front(course), encoding="utf-8")
                printed.print_page(printed.page_to_print(source, Path(scratch, "printed")), pdf)
            publish(book, out)
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
