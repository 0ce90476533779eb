"""Formulas as MathML, which browsers draw themselves: no script, no font, nothing to fetch.

docutils already knows how to turn LaTeX into MathML; this adds what the course needs beside that.
"""

from __future__ import annotations

import re

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
# A prime is an apostrophe to docutils, and stays one.
_APOSTROPHE = "<mo>'</mo>"
_PRIMED = rf"(<mi>[^<]*</mi>)((?:{_APOSTROPHE})+)"


class FormulaError(Exception):
    """docutils cannot read a formula, or is not installed; the message says which."""


def mathml(latex: str, *, as_block: bool) -> str:
    """Return a LaTeX formula as MathML, for a line of its own if `as_block`, else for a sentence."""
    try:
        from docutils.utils.math import MathError
        from docutils.utils.math.latex2mathml import tex2mathml
    except ImportError as error:
        raise FormulaError(str(error)) from None
    for pattern, replacement in _REWRITES:
        latex = re.sub(pattern, replacement, latex)
    try:
        drawn = tex2mathml(latex, as_block=as_block)
    except (MathError, IndexError, AttributeError) as error:  # the latter two for a formula that breaks off
        raise FormulaError(str(error)) from None
    # The indentation is for people who read the source; inside a line of text it would show as spaces.
    drawn = re.sub(r">\s+<", "><", drawn)
    return re.sub(_PRIMED, lambda found: _primed(found[1], len(found[2]) // len(_APOSTROPHE)), drawn)


def _primed(letter: str, primes: int) -> str:
    return f"<msup>{letter}<mo>{'′' * primes}</mo></msup>"
