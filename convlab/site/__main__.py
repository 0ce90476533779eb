"""``python -m convlab.site [--out DIR] [--notebooks DIR]``: build the book."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from convlab.site.errors import BuildError, UsageError
from convlab.workspace.execute import NotebookError, execute
from convlab.workspace.notebooks import ROOT, copy_notebooks, numbered


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

        from convlab.site import pages
        from convlab.site.publish import check_out, publish
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
        for count, path in enumerate(sources, 1):
            progress = Progress(f"[{count}/{len(sources)}] {path.name}")
            notebook = nbformat.read(path, as_version=4)
            titles[path.stem] = pages.title_and_line(
                notebook.cells[0].source if notebook.cells else path.stem
            )
            run(notebook, path.name, work, on_cell=progress.cell)
            notebook.metadata.pop("widgets", None)  # the pages' widgets carry their own state
            nbformat.write(notebook, source / path.name)
            progress.done()
        progress = Progress("making pages")
        (source / pages.FRONT_PAGE).write_text(pages.front_page(titles), encoding="utf-8")
        for line in pages.build_pages(source, book, Path(scratch)):
            print(line, file=sys.stderr)
        pages.offer_clean_notebooks(sources, book)
        publish(book, out)
        progress.done()
    print(f"The book is ready after {time.monotonic() - begin:.0f} s: open {out / 'index.html'}")


class Progress:
    """One line a step; on a terminal it also counts the cells while they run."""

    def __init__(self, what: str):
        self._what = what
        self._begin = time.monotonic()
        self._live = sys.stdout.isatty()
        self._show("")

    def cell(self, cell: int, cells: int) -> None:
        """Say which code cell runs now."""
        self._show(f"  cell {cell} of {cells}")

    def done(self) -> None:
        """End the line with the time it took."""
        print(f"{self._start}{self._what}  {time.monotonic() - self._begin:.1f} s", flush=True)

    @property
    def _start(self) -> str:
        return "\r\x1b[K" if self._live else ""

    def _show(self, tail: str) -> None:
        if self._live:
            print(f"{self._start}{self._what}{tail}", end="", flush=True)


if __name__ == "__main__":
    sys.exit(main())
