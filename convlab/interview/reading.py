"""A number as people type it: 1.2e9, 1.2 G, 1,200,000,000, 1.2·10⁹, 9/4, 3,5. The ambiguous is refused."""

from __future__ import annotations

import re

from convlab.interview.units import Unit, factor_of
from convlab.interview.words import NotUnderstood

LONGEST = 80  # characters; a number with its unit has fewer
LARGEST = 1e24  # in any unit; no answer comes near
_TOO_LARGE = "That is larger than any number that can be right."
_ALIKE = str.maketrans(
    {
        **dict.fromkeys("−–—", "-"),
        **dict.fromkeys("\u00a0\u2007\u2009\u202f\t", " "),
        **dict.fromkeys("·⋅", "*"),
        **dict.fromkeys("’ʼ", "'"),
        "⁄": "/",
        "μ": "µ",
    }
)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_ABOUT = re.compile(r"^(?:[~≈=]|(?:about|roughly|around|approx\.?|ca\.?|circa|nearly)\s)\s*", re.IGNORECASE)
_PLAIN = r"[0-9](?:[0-9.,_']|\s(?=[0-9]{3}(?![0-9])))*|\.[0-9]+"
_NUMBER = re.compile(
    rf"""(?P<plain>{_PLAIN})
         (?: [eE](?P<e>[+-]?[0-9]+)                                 # 1.2e9
           | \s*[xX×*]\s*10\s*(?:\^|\*\*)\s*(?P<ten>[+-]?[0-9]+)    # 1.2 x 10^9
           | \s*(?:\^|\*\*)\s*(?P<power>[0-9]+)                     # 2^20
           | \s*/\s*(?P<below>{_PLAIN}) )?                          # 9/4
         \s*(?P<word>.*)""",
    re.VERBOSE | re.DOTALL,
)


def read(text: str, unit: Unit) -> float:
    """Return the value of an answer, in a unit.

    Raises
    ------
    NotUnderstood
        If it is not one number above or at zero, with a word of that unit or none behind it.
    """
    text = text.translate(_ALIKE).strip()
    if not text:
        raise NotUnderstood("Nothing was typed.")
    if len(text) > LONGEST:
        raise NotUnderstood(f"That is a text of {len(text)} characters; a number with its unit is asked for.")
    if unit.choices:
        word = re.sub(r"[\s-]*(bound|side)?[.!]?$", "", text.lower())
        if word not in unit.choices:
            raise NotUnderstood(f"{_quoted(text)} is none of the words asked for: {unit.name}.")
        return unit.choices[word]
    text = _ABOUT.sub("", text)
    text = re.sub(r"(?<=[0-9])([⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)", lambda raised: "^" + raised[1].translate(_RAISED), text)
    if re.match(r"[+-]?\s*(?:nan|inf|infinity|∞)\b", text, re.IGNORECASE) or text == "∞":
        raise NotUnderstood(f"{_quoted(text)} is no number that can be right: a finite one is asked for.")
    if re.match(r"-\s*[0-9.]", text):
        raise NotUnderstood("That is below zero, and what is asked for cannot be.")
    found = _NUMBER.fullmatch(text.removeprefix("+"))
    if found is None:
        raise NotUnderstood(f"{_quoted(text)} does not begin with a number.")
    number = _value(found)
    value = number * factor_of(found["word"].strip().rstrip(".").rstrip(), number, unit)
    if value > LARGEST:
        raise NotUnderstood(_TOO_LARGE)
    return value


def _value(found: re.Match[str]) -> float:
    """Return the number, without the word behind it."""
    number = plain(found["plain"])
    if found["below"]:
        if not (below := plain(found["below"])):
            raise NotUnderstood("A fraction over zero is no number.")
        return number / below
    try:
        if found["power"]:
            return number ** _exponent(found["power"])
        exponent = _exponent(found["e"] or found["ten"] or "0")
        return number * 10.0**exponent
    except OverflowError:
        raise NotUnderstood(_TOO_LARGE) from None


def _exponent(digits: str) -> int:
    if len(digits) > 4:
        raise NotUnderstood(_TOO_LARGE)
    return int(digits)


def plain(text: str) -> float:
    """Return the value of digits with marks between them: 1,200,000 and 1 200 000, 1.25 and 3,5.

    Raises
    ------
    NotUnderstood
        If they can be read in two ways, or stand at no place where people write them.
    """
    text = re.sub(r"[\s_']", "", text.rstrip(".,"))
    if re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", text):
        return float(text)
    for thousands, point in ((",", "."), (".", ",")):
        groups = rf"[0-9]{{1,3}}(?:\{thousands}[0-9]{{3}})+"
        several = text.count(thousands) > 1 or point in text
        if several and re.fullmatch(rf"{groups}(?:\{point}[0-9]+)?", text):
            return float(text.replace(thousands, "").replace(point, "."))
    if re.fullmatch(r"[1-9][0-9]{0,2},[0-9]{3}", text):
        whole, part = text.split(",")
        raise NotUnderstood(
            f"`{text}` can be read as {whole}{part} or as {whole}.{part}. Write one of these."
        )
    if re.fullmatch(r"[0-9]+,[0-9]+", text):
        return float(text.replace(",", "."))
    raise NotUnderstood(f"The marks in {_quoted(text)} stand at no place where numbers have them.")


def _quoted(text: str) -> str:
    """Return what was typed, short enough to be shown; "`" would end the quotation."""
    text = " ".join(text.replace("`", "'").split())
    return f"`{text if len(text) <= 40 else text[:40] + '…'}`"
