"""A Sphinx extension: formulas are drawn by `convlab.workspace.formulas`, as everywhere in the course."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util import logging

from convlab.workspace.formulas import FormulaError, mathml

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)


def inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a sentence."""
    translator.body.append(_formula(node, as_block=False))
    raise nodes.SkipNode


def display(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own; a wide one scrolls inside its box, which the keyboard reaches.

    Formulas carry no numbers: in JupyterLab, where the notebook is read as well, they have none either.
    """
    box = translator.starttag(node, "div", CLASS="math-box", tabindex="0")
    translator.body.append(f"{box}{_formula(node, as_block=True)}</div>\n")
    raise nodes.SkipNode


def _formula(node: nodes.math | nodes.math_block, *, as_block: bool) -> str:
    """Return a node's formula as MathML; what cannot be read stays LaTeX on the page, with a warning."""
    try:
        return mathml(node.astext(), as_block=as_block)
    except FormulaError as error:
        logger.warning("formula %r: %s", node.astext(), error, location=node)
        return f"<code>{escape(node.astext())}</code>"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer; `conf.py` chooses it with ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
