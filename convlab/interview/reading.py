"""A number as people type it: 1.2e9, 1.2 G, 1,200,000,000, 1.2·10⁹, 9/4, 3,5. The ambiguous is refused.

The card on a page reads by the same patterns and tables: `drill_reading.js` has them from here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from typing import NamedTuple

from convlab.interview.sentences import NotUnderstood
from convlab.interview.units import Unit, factor_of

LONGEST = 80  # characters; a number with its unit has fewer
LARGEST = 1e24  # in any unit; no answer comes near
SPACES = "\t\n\v\f\r\u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff"
ALIKE = {
    **dict.fromkeys("−–—", "-"),
    **dict.fromkeys([*SPACES, *map(chr, range(0x1C, 0x20)), *map(chr, range(0x2000, 0x200B))], " "),
    **dict.fromkeys("·⋅", "*"),
    **dict.fromkeys("’ʼ", "'"),
    "⁄": "/",
    "μ": "µ",
}
RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True))

# Patterns, as JavaScript reads them, too; there `(?P<` is written `(?<`.
BOUND = "[ -]*(bound|bounded|limited|side|is the limit)?[.!]?$"
ABOUT = r"^(?:[~≈=]|(?:about|roughly|around|approx\.?|ca\.?|circa|nearly) ) *"
POWERS = "(?<=[0-9])[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+"
ENDLESS = "[+-]? *(?:nan|inf|infinity)(?![a-z0-9_])|∞$"
NEGATIVE = "- *[0-9.]"
PLAIN = r"[0-9](?:[0-9.,_']| (?=[0-9]{3}(?![0-9])))*|\.[0-9]+"
NUMBER = (
    f"(?P<plain>{PLAIN})"
    "(?:[eE](?P<e>[+-]?[0-9]+)"  # 1.2e9
    r"| *[xX×*] *10 *(?:\^|\*\*) *(?P<ten>[+-]?[0-9]+)"  # 1.2 x 10^9
    r"| *(?:\^|\*\*) *(?P<power>[0-9]+)"  # 2^20
    f"| */ *(?P<below>{PLAIN}))?"  # 9/4
    " *(?P<word>.*)"
)
ONE_NUMBER = r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+"
THOUSANDS = {  # which mark is the point: digits in threes, with the other between them
    ".": r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?",
    ",": r"[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]+)?",
}
TWO_WAYS = "[1-9][0-9]{0,2},[0-9]{3}"
COMMA = "[0-9]+,[0-9]+"


class Typed(NamedTuple):
    """A number as it was typed.

    Attributes
    ----------
    value : float
    half : float
        Half a step of its last digit, by which it may be rounded: 0.005 of 4.93, 50 of 1,200; 0 of what is
        exact: a fraction, a power, a word.
    """

    value: float
    half: float


def read(text: str, unit: Unit) -> Typed:
    """Return an answer in a unit, and how finely it was written.

    Raises
    ------
    NotUnderstood
        If it is not one number above or at zero, with a word of that unit or none behind it.
    """
    text = _translated(text, ALIKE).strip()
    if not text:
        raise NotUnderstood("nothing")
    if len(text) > LONGEST:
        raise NotUnderstood("long", letters=len(text))
    if unit.choices:
        word = re.sub(BOUND, "", text.lower())
        if word not in unit.choices:
            raise NotUnderstood("no choice", text=_quoted(text), words=unit.name)
        return Typed(unit.choices[word], 0.0)
    text = re.sub(ABOUT, "", text, flags=re.IGNORECASE | re.ASCII)
    text = re.sub(POWERS, lambda raised: "^" + _translated(raised[0], RAISED), text)
    if re.match(ENDLESS, text, re.IGNORECASE | re.ASCII):
        raise NotUnderstood("not finite", text=_quoted(text))
    if re.match(NEGATIVE, text):
        raise NotUnderstood("negative")
    found = re.fullmatch(NUMBER, text.removeprefix("+"))
    if found is None:
        raise NotUnderstood("no number", text=_quoted(text))
    word = found["word"].strip().rstrip(".").rstrip()
    number, half = _number(found, word.lower() in unit.nouns)
    factor = factor_of(word, number, unit)
    if number * factor > LARGEST:
        raise NotUnderstood("too large")
    return Typed(number * factor, half * factor)


def _translated(text: str, table: Mapping[str, str]) -> str:
    return "".join(table.get(letter, letter) for letter in text)


def _number(found: re.Match[str], whole: bool) -> Typed:
    """Return the number, without the word behind it; where things are counted, digits in threes are whole."""
    alone = not any(found[part] for part in ("e", "ten", "power", "below"))
    number = plain(found["plain"], whole and alone)
    if found["below"]:
        if not (below := float(plain(found["below"]))):
            raise NotUnderstood("over zero")
        return Typed(float(number) / below, 0.0)
    exponent = found["power"] or found["e"] or found["ten"] or "0"
    if len(exponent) > 4:
        raise NotUnderstood("too large")
    if found["power"]:
        power = prod([float(number)] * int(exponent), start=1.0)  # factor by factor: the same in JavaScript
        return Typed(power, 0.0)
    return Typed(float(f"{number}e{exponent}"), 0.5 * float(f"1e{_last_place(number) + int(exponent)}"))


def _last_place(number: str) -> int:
    """Return the power of ten of the last digit: -2 of 1.25, 2 of 1200, whose zeros may be rounding."""
    whole, _, part = number.partition(".")
    return -len(part) if part else len(whole) - len(whole.rstrip("0"))


def plain(text: str, whole: bool = False) -> str:
    """Return digits with marks between them as Python writes them: 1,200,000 and 1 200 000, 1.25 and 3,5.

    One that is known to be `whole` can be read in one way only: 147,456.

    Raises
    ------
    NotUnderstood
        If they can be read in two ways, or stand at no place where people write them.
    """
    text = re.sub("[ _']", "", text.rstrip(".,"))
    if re.fullmatch(ONE_NUMBER, text):
        return text
    for point, threes in THOUSANDS.items():
        between = "," if point == "." else "."
        if (text.count(between) > 1 or point in text) and re.fullmatch(threes, text):
            return text.replace(between, "").replace(point, ".")
    if re.fullmatch(TWO_WAYS, text):
        before, after = text.split(",")
        if whole:
            return before + after
        raise NotUnderstood("two numbers", text=text, whole=before, part=after)
    if re.fullmatch(COMMA, text):
        return text.replace(",", ".")
    raise NotUnderstood("marks", text=_quoted(text))


def _quoted(text: str) -> str:
    """Return what was typed, short enough to be shown; "`" would end the quotation."""
    text = " ".join(text.replace("`", "'").split())
    return f"`{text if len(text) <= 40 else text[:40] + '…'}`"
