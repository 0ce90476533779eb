"""Notebooks executed from top to bottom and kept as pages that need no kernel and no network."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Collection
from html import escape
from pathlib import Path

import nbformat
from jinja2 import FileSystemLoader, pass_context
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from convlab.lessons.map_of_course import LINK
from convlab.support.files import why_kept, write_atomically
from convlab.workspace.execute import NotebookError, execute
from convlab.workspace.formulas import FormulaError, mathml
from convlab.workspace.notebooks import copy_notebooks

_HERE = Path(__file__).parent
_IN_MAP = re.compile(rf"({re.escape(LINK)})([\w-]+)\.ipynb")
MARK = "<!-- made by convlab run -->"  # the template has it in every page


def make_page(
    notebook: Path,
    out: Path,
    *,
    timeout: float = 300,
    others: Collection[str] = (),
    on_cell: Callable[[int, int], None] = lambda cell, cells: None,
) -> str | None:
    """Execute one notebook and write it to `out` as HTML; return None, or which cell failed and how.

    A notebook that fails leaves its page too, up to the error: that is where one wants to look.
    It runs in a scratch copy of its folder, so that neither it nor anything beside it is changed.

    A link to another notebook becomes one to its page, where that is in `out` already or will be:
    `others` names the notebooks (without .ipynb) that are made into pages in the same go.
    """
    try:
        nb = nbformat.read(notebook, as_version=4)
    except Exception as error:  # nbformat lets through whatever its JSON reader raises
        return f"{notebook.name} is not a notebook: {error}"
    failure = None
    with tempfile.TemporaryDirectory(prefix="convlab-") as scratch:
        folder = Path(scratch, notebook.parent.name)
        copy_notebooks(notebook.parent, folder, but=out)
        try:
            execute(nb, notebook.name, folder, timeout=timeout, on_cell=on_cell)
        except NotebookError as error:
            failure = str(error)
    return write_page(nb, notebook, out, others) or failure


def write_page(
    nb: nbformat.NotebookNode, notebook: Path, out: Path, others: Collection[str] = ()
) -> str | None:
    """Write `nb`, which is `notebook` after it was run, to `out` as HTML; return None, or why that failed.

    `others` is as in `make_page`.
    """
    pages = {notebook.stem, *others, *(page.stem for page in out.glob("*.html"))}
    # The state of the widgets would need scripts from the network; each widget leaves a still instead.
    nb.metadata.pop("widgets", None)
    link_maps(nb, pages)
    # The path is where pictures beside the notebook are found.
    names = {"metadata": {"name": notebook.stem, "path": str(notebook.parent)}}
    html, _ = PageExporter(pages).from_notebook_node(nb, names)
    page = out / f"{notebook.stem}.html"
    try:
        if reason := why_kept(page, is_ours):  # it may have come while the notebook ran
            return f"{page} {reason}; it is left as it is"
        write_atomically(page, html)
    except OSError as error:
        return f"{page} cannot be written: {error.strerror}"
    return None


def link_maps(nb: nbformat.NotebookNode, pages: Collection[str]) -> None:
    """Let the map of the course, where a cell shows it, lead to the pages of notebooks that have one."""

    def page(match: re.Match) -> str:
        return f"{match[1]}{match[2]}.html" if match[2] in pages else match[0]

    for cell in nb.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "text/html" in data:
                data["text/html"] = _IN_MAP.sub(page, data["text/html"])


def is_ours(text: str) -> bool:
    """Say if a file that begins with this text is a page that `make_page` wrote."""
    return MARK in text[:2000]


class PageExporter(HTMLExporter):
    """Makes pages that carry all they show: pictures inside, formulas as MathML, no script from elsewhere."""

    def __init__(self, pages: Collection[str] = ()):
        self._pages = pages  # which notebooks have a page beside this one
        loader = FileSystemLoader([_HERE / "templates", _HERE / "static"])
        super().__init__(template_file="page.html.j2", extra_loaders=[loader], embed_images=True)

    @pass_context
    def markdown2html(self, context, source: str) -> str:
        """Return Markdown as HTML; nbconvert asks this method for every Markdown cell and output."""
        renderer = _Renderer(
            escape=False,
            attachments=context.get("cell", {}).get("attachments", {}),
            embed_images=self.embed_images,
            path=context["resources"]["metadata"]["path"],
        )
        renderer.pages = self._pages
        return MarkdownWithMath(renderer=renderer).render(source)


class _Renderer(IPythonRenderer):
    """Draws the formulas that nbconvert's own renderer leaves to a script, and links page to page."""

    pages: Collection[str] = ()

    def link(self, text: str, url: str, title: str | None = None) -> str:
        path, mark, place = url.partition("#")
        if path.endswith(".ipynb") and path.removesuffix(".ipynb") in self.pages:
            url = path.removesuffix(".ipynb") + ".html" + mark + place
        return super().link(text, url, title)

    def block_html(self, html: str) -> str:
        # To find pictures in it, nbconvert would close what is opened here and is closed further down.
        return super().block_html(html) if "<img" in html else html

    def inline_html(self, html: str) -> str:
        return super().inline_html(html) if "<img" in html else html

    def inline_math(self, body: str) -> str:
        return _formula(body, as_block=False)

    def block_math(self, body: str) -> str:
        # A span, because nbconvert puts it in a paragraph, which no div may stand in.
        return f'<span class="math-box" tabindex="0">{_formula(body, as_block=True)}</span>'

    def latex_environment(self, name: str, body: str) -> str:
        return self.block_math(f"\\begin{{{name}}}{body}\\end{{{name}}}")


def _formula(latex: str, *, as_block: bool) -> str:
    """Return a formula as MathML; what cannot be drawn stays LaTeX, set like code."""
    try:
        return mathml(latex.strip(), as_block=as_block)
    except FormulaError:
        return f"<code>{escape(latex)}</code>"
