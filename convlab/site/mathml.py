"""Formulas as MathML, which browsers draw themselves: no script, no font, nothing to fetch.

docutils already knows how to turn LaTeX into MathML; this Sphinx extension uses it as the math renderer.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

# A braced group with at most one more level of braces in it.
_GROUP = r"\{((?:[^{}]|\{[^{}]*\})*)\}"
# What docutils says otherwise, or not at all.
_REWRITES = (
    # It knows the environments that stand inside a formula; AMS LaTeX has some that are a formula.
    (r"\\(begin|end)\{(?:align|gather|equation)\*?\}", r"\\\1{aligned}"),
    # It writes the words under a brace to the right of it.
    (rf"\\underbrace{_GROUP}_{_GROUP}", r"\\underset{\2}{\\underbrace{\1}}"),
    (rf"\\overbrace{_GROUP}\^{_GROUP}", r"\\overset{\2}{\\overbrace{\1}}"),
)


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
    except MathError as error:
        logger.warning("formula %r: %s", node.astext(), error, location=node)
        return f"<code>{escape(node.astext())}</code>"


def mathml(latex: str, *, as_block: bool) -> str:
    """Return a LaTeX formula as MathML.

    Raises
    ------
    docutils.utils.math.MathError
        If docutils cannot read the formula.
    """
    for pattern, replacement in _REWRITES:
        latex = re.sub(pattern, replacement, latex)
    # The indentation is for people who read the source; inside a line of text it would show as spaces.
    return re.sub(r">\s+<", "><", tex2mathml(latex, as_block=as_block))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer; `conf.py` chooses it with ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
