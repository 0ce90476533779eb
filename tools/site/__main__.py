"""``python -m tools.site [--out DIR] [--notebooks DIR]``: build the book."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

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
    asked = parser.parse_args(arguments)
    try:
        build(asked.notebooks, asked.out)
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


def build(notebooks: Path, out: Path, run: Callable = execute) -> None:
    """Build the book of the notebooks in one folder into another folder; `run` executes one of them."""
    try:
        import myst_nb  # noqa: F401
        import nbformat
        import sphinx_book_theme  # noqa: F401

        from tools.site import pages
        from tools.site.publish import check_out, publish
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is not installed; pip install 'convlab[workshop]'") from None

    if not notebooks.is_dir():
        raise UsageError(f"--notebooks {notebooks} is not a folder")
    sources = numbered(notebooks)
    if not sources:
        raise UsageError(f"--notebooks {notebooks} holds no notebook with a name such as 00_start_here.ipynb")
    check_out(out)

    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="book-") as scratch:
        work, source, book = (Path(scratch, name) for name in ("work", "source", "book"))
        copy_notebooks(notebooks, work)
        copy_notebooks(notebooks, source)
        titles = {}
        # One after the other: a notebook that measures must not share the processor with its neighbour.
        with Steps(len(sources) + 1) as steps:
            for path in sources:
                steps.begin(path.name)
                notebook = nbformat.read(path, as_version=4)
                first = notebook.cells[0].source if notebook.cells else path.stem
                titles[path.stem] = pages.title_and_line(first)
                run(notebook, path.name, work, on_cell=steps.part)
                link_maps(notebook, [each.stem for each in sources])
                notebook.metadata.pop("widgets", None)  # the pages' widgets carry their own state
                nbformat.write(notebook, source / path.name)
            steps.begin("making pages")
            (source / pages.FRONT_PAGE).write_text(pages.front_page(titles), encoding="utf-8")
            warnings = pages.build_pages(source, book, Path(scratch))
            pages.offer_clean_notebooks(sources, book)
            publish(book, out)
        for line in warnings:
            print(line, file=sys.stderr)
    print(f"The book is ready after {time.monotonic() - begin:.0f} s: open {out / 'index.html'}")


if __name__ == "__main__":
    sys.exit(main())
