"""What the tests ask of a notebook: of its source, and of what it shows when it was run."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import matplotlib
from markdown_it import MarkdownIt
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from convlab.workspace.copies import KEPT
from convlab.workspace.execute import execute
from convlab.workspace.notebooks import numbered

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = numbered(ROOT / "notebooks")

MOST_LINES = 40
# Of a whole notebook; where other tests run beside it only what hangs is found.
MOST_SECONDS = 300 if "PYTEST_XDIST_WORKER" in os.environ else 60
_MARKDOWN = MarkdownIt("commonmark").enable("table")
_OUTSIDE_ADDRESS = re.compile(r"\b(?:https?|ftp|wss?)://(?!localhost\b|127\.)[^\s\"')]+")
_MACHINE_PATH = re.compile(
    r"(?<![\w.~/])/(?:home|Users|root|tmp|work|var)/\w[^\s\"'<)]*|\b[A-Z]:\\\\?Users\b"
)
_WIDGET = "application/vnd.jupyter.widget-view+json"


def notebook(*cells: NotebookNode | str) -> NotebookNode:
    """Return a notebook for a test to try its checks on; a string is a code cell."""
    made = [new_code_cell(cell) if isinstance(cell, str) else cell for cell in cells]
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    return new_notebook(cells=[new_markdown_cell("# A title"), *made], metadata={"kernelspec": kernel})


def complaints_about_source(nb: NotebookNode) -> Iterator[str]:
    """Yield what is wrong with a notebook as it is stored."""
    if nb.metadata.get("kernelspec", {}).get("name") != "python3":
        yield "its kernel is not python3"
    if "widgets" in nb.metadata:
        yield "it stores the state of widgets"
    ids = Counter(cell.get("id") for cell in nb.cells)
    for cell_id, count in ids.items():
        if not cell_id or count > 1:
            yield f"{count} cells have the id {cell_id!r}"
    if not nb.cells or nb.cells[0].cell_type != "markdown" or not nb.cells[0].source.startswith("# "):
        yield "its first cell is not Markdown that starts with a title"
    for cell in nb.cells:
        kept = KEPT in cell.metadata.get("tags", ())
        if (cell.get("outputs") and not kept) or cell.get("execution_count") is not None:
            yield f"it stores the output of {first_line(cell)}"
        if path := _MACHINE_PATH.search(cell.source):
            yield f"a path of one machine: {path[0]}"
        if cell.cell_type == "code" and (address := _OUTSIDE_ADDRESS.search(cell.source)):
            yield f"code with an address on the network: {address[0]}"
    markdown = "\n\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")
    yield from _complaints_about_markdown(markdown)


def _complaints_about_markdown(text: str) -> Iterator[str]:
    tokens = _MARKDOWN.parse(text)
    levels = [int(token.tag[1]) for token in tokens if token.type == "heading_open"]
    if levels.count(1) != 1:
        yield f"it has {levels.count(1)} titles"
    for above, below in itertools.pairwise(levels):
        if below > above + 1:
            yield f"a heading of level {below} follows one of level {above}"
    for token in tokens:
        for part in (token, *(token.children or ())):
            if part.type == "image" and not part.content.strip():
                yield f"an image without alternative text: {part.attrs['src']}"
            if part.type in ("html_block", "html_inline"):
                yield from _complaints_about_images(part.content)


_SHEET = '<article class="cl-sheet'  # a page to print, which is set as one


def complaints_about_outputs(nb: NotebookNode) -> Iterator[str]:
    """Yield what is wrong with what a notebook shows after it was run."""
    for cell in nb.cells:
        lines = 0
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if output.output_type == "stream":
                if output.name == "stderr":
                    yield f"{first_line(cell)} writes to stderr: {output.text.splitlines()[0]}"
                lines += len(output.text.splitlines())
            page = data.get("text/html", "")
            if _SHEET not in page:
                lines += page.count("<tr") if page else len(data.get("text/plain", "").splitlines())
            if _WIDGET in data and not page:
                yield f"{first_line(cell)} shows a widget that leaves no picture on a page without a kernel"
            if not page and any(kind.startswith("image/") for kind in data):
                yield f"{first_line(cell)} shows an image without alternative text"
            for complaint in _complaints_about_images(page):
                yield f"{first_line(cell)} shows {complaint}"
            for text in (output.get("text", ""), page, data.get("text/plain", "")):
                # Where something is not installed, the command that adds it names this very checkout.
                for known in (str(ROOT / "lab.py"), f"{ROOT}[", sys.executable):
                    text = text.replace(known, "")
                if path := _machine_path(text):
                    yield f"{first_line(cell)} shows a path of this machine: {path}"
        if lines > MOST_LINES:
            yield f"{first_line(cell)} shows {lines} lines"


class _Images(HTMLParser):
    """Collects the alternative text of every image, None where there is none."""

    def __init__(self, page: str):
        super().__init__()
        self.alts: list[str | None] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "img" and dict(attrs).get("aria-hidden") != "true":
            self.alts.append(dict(attrs).get("alt"))


def _complaints_about_images(page: str) -> Iterator[str]:
    for alt in _Images(page).alts:
        if not (alt or "").strip():
            yield "an image without alternative text"


def _machine_path(text: str) -> str | None:
    """Return a path of this machine in a text; what is encoded in data: addresses is no text."""
    text = re.sub(r"data:[^\"'\s]+", "", text)
    for folder in (str(ROOT), str(Path.home()), tempfile.gettempdir()):
        if len(folder) > 1 and folder + "/" in text.replace("\\", "/"):
            return folder
    return None


def first_line(cell: NotebookNode) -> str:
    """Return a cell's first line, in backticks: how a message names it."""
    return f"`{(cell.source.strip().splitlines() or ['(empty)'])[0]}`"


# The kernel runs this before the first cell. Python asks every hook before it opens or connects anything.
_GUARD = """
import os, sys

def _guard(event, args, allowed={allowed!r}, writing=os.O_WRONLY | os.O_RDWR | os.O_CREAT):
    if event == "open":
        path, _, flags = args
        if isinstance(path, int) or not flags & writing:
            return
        changed = [path]
    elif event in ("os.mkdir", "os.remove", "os.rmdir"):
        changed = args[:1]
    elif event == "os.rename":
        changed = args[:2]
    elif event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        place = args[1] if event == "socket.connect" else args[0]
        host = place[0] if isinstance(place, tuple) else place if event != "socket.connect" else None
        if host not in (None, "", "localhost", "::1", "0.0.0.0") and not str(host).startswith("127."):
            raise PermissionError(f"the notebook asks the network for {{host}}")
        return
    else:
        return
    for path in changed:
        full = os.path.realpath(os.fsdecode(path))
        if "__pycache__" not in full and not full.startswith(tuple(allowed)):
            raise PermissionError(f"the notebook writes outside its folder: {{full}}")

sys.addaudithook(_guard)
"""


def run_guarded(nb: NotebookNode, home: Path, name: str = "planted.ipynb", hasty: bool = False) -> None:
    """Run a notebook in ``home / "work"``, the only folder beside a scratch one that it may write to.

    In haste it takes few times of what it measures, see `hasty`.
    """
    folder = home / "work"
    folder.mkdir(parents=True, exist_ok=True)
    execute(nb, name, folder, timeout=MOST_SECONDS, env=guarded(folder, home / "scratch", hasty))


def guarded(folder: Path, scratch: Path, hasty: bool = False) -> dict[str, str]:
    """Return a kernel's environment in which it may only write to `folder`, and ask nothing of the network.

    Temporary files go to `scratch`. Caches of compiled code (``__pycache__``, $NUMBA_CACHE_DIR) and
    matplotlib's list of fonts may be written: they are a help, not a need.
    """
    startup = scratch / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    allowed = [folder, scratch, matplotlib.get_cachedir(), matplotlib.get_configdir(), "/dev"]
    allowed += filter(None, [os.environ.get("NUMBA_CACHE_DIR")])
    guard = _GUARD.format(allowed=[str(Path(path).resolve()) for path in allowed])
    (startup / "00_guard.py").write_text(guard, encoding="utf-8")
    if hasty:
        shutil.copy(Path(__file__).with_name("hasty.py"), startup / "01_hasty.py")
    return {"IPYTHONDIR": str(startup.parent.parent), "TMPDIR": str(scratch), "TEMP": str(scratch)}
