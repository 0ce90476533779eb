"""Notebooks executed from top to bottom and kept as pages that need no kernel."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbconvert import HTMLExporter

from convlab.errors import ParameterError
from convlab.site.errors import BuildError
from convlab.site.execute import execute


def make_page(
    notebook: Path,
    out: Path,
    *,
    timeout: float = 300,
    on_cell: Callable[[int, int], None] = lambda i, n: None,
) -> str | None:
    """Execute one notebook and write it to `out` as HTML; return None, or which cell failed and how.

    A notebook that fails leaves its page too, up to the error: that is where one wants to look.
    The notebook itself is not changed, and whatever its cells write goes into a scratch folder.
    """
    try:
        nb = nbformat.read(notebook, as_version=4)
    except Exception as error:  # nbformat lets through whatever its JSON reader raises
        return f"{notebook.name} is not a notebook: {error}"
    failure = None
    with tempfile.TemporaryDirectory(prefix="convlab-") as scratch:
        try:
            execute(nb, notebook.name, Path(scratch), timeout=timeout, on_cell=on_cell)
        except BuildError as error:
            failure = str(error)
    # The state of the widgets would need scripts from the network; each widget leaves a still instead.
    # One script from there remains: MathJax, without which a formula reads as TeX.
    nb.metadata.pop("widgets", None)
    exporter = HTMLExporter(embed_images=True, require_js_url="")
    html, _ = exporter.from_notebook_node(nb, {"metadata": {"name": notebook.stem}})
    (out / f"{notebook.stem}.html").write_text(html, encoding="utf-8")
    return failure


def pages_folder(out: Path) -> Path:
    """Return the folder for the pages, made if it is not there.

    Raises
    ------
    ParameterError
        If it cannot be a folder.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"--out={str(out)!r}: {error.strerror}; expected a folder") from None
    return out
