"""The units that an answer is asked in, and the words by which people write them.

A unit says by what a number is multiplied that stands before a word: 2e9 before "GMAC", 1024² before "MiB".
What can be read in two ways is refused, in words; so is a word that measures something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from convlab.support.units import bytes_text, count_text, number_text, time_text

_LARGE = {
    **dict.fromkeys(("k", "kilo", "thousand"), 1e3),
    **dict.fromkeys(("m", "mega", "million", "millions", "mio", "mn"), 1e6),
    **dict.fromkeys(("g", "giga", "billion", "billions", "bn", "mrd"), 1e9),
    **dict.fromkeys(("t", "tera", "trillion", "trillions"), 1e12),
    **dict.fromkeys(("p", "peta"), 1e15),
    "": 1.0,
}
_BINARY = {
    **{"kibi": 1024.0, "mebi": 1024.0**2, "gibi": 1024.0**3, "tebi": 1024.0**4},
    **{"ki": 1024.0, "mi": 1024.0**2, "gi": 1024.0**3, "ti": 1024.0**4},
}
_SMALL = {"m": 1e-3, "milli": 1e-3, "µ": 1e-6, "u": 1e-6, "micro": 1e-6, "n": 1e-9, "nano": 1e-9, "": 1.0}
_OPERATION = ("operations", "operation", "flops", "flop", "ops", "op")
_SECOND = ("seconds", "second", "secs", "sec", "s")
_MULTIPLY_ADD = ("multiply-adds", "multiply-add", "macs", "mac", "fmas", "fma")


class NotUnderstood(ValueError):
    """An answer that is not taken for one; the message says why, in words."""


@dataclass(frozen=True)
class Unit:
    """What an answer is counted in.

    Attributes
    ----------
    name : str
        As the question says it.
    measures : str
        What it is a unit of.
    example : str
        How an answer may be written; "" where that needs no word.
    factor : callable
        ``factor(word, number)`` returns by what a number before this word is multiplied, None if it is no
        word of this unit. "" is a bare number.
    text : callable
        How a value is shown.
    choices : mapping of str to float
        Where words are asked for: each that is understood, and the number that stands for it.
    """

    name: str
    measures: str
    example: str
    factor: Callable[[str, float], float | None]
    text: Callable[[float], str]
    choices: Mapping[str, float] = field(default_factory=dict)

    def request(self, tolerance: float) -> str:
        """Return how the answer is to be given."""
        if self.choices:
            return f"Answer with a word: {self.name}."
        such_as = f", such as {self.example}" if self.example else ""
        where = self.name if self.name.startswith("as ") else f"in {self.name}"
        near = f"within {100 * tolerance:g} % counts as right" if tolerance else "it must be exact"
        return f"Answer {where}{such_as}; {near}."


def _after_prefix(word: str, nouns: tuple[str, ...], prefixes: dict[str, float]) -> float | None:
    """Return the factor of a prefix before one of some nouns: "GFLOP", "giga operations"."""
    for noun in nouns:
        if word.endswith(noun) and (prefix := word[: len(word) - len(noun)].strip(" -")) in prefixes:
            return prefixes[prefix]
    return None


def _flop(word: str, number: float) -> float | None:
    word = word.lower()
    twice = _after_prefix(word, _MULTIPLY_ADD, _LARGE)
    return 2 * twice if twice is not None else _after_prefix(word, (*_OPERATION, ""), _LARGE)


def _byte(word: str, number: float) -> float | None:
    if re.fullmatch(r"[KMGTP]i?b|b", word):
        raise NotUnderstood(f"`{word}` can be read as bits or as bytes. Write {word[:-1]}B, or bit in full.")
    low = word.lower()
    if short := re.fullmatch(r"([kmgtp]?)(i?)b?", low):
        letter, binary = short.groups()
        power = " kmgtp".index(letter) if letter else 0
        return None if binary and not letter else (1024.0 if binary else 1000.0) ** power
    prefixes = _LARGE | _BINARY
    if (bits := _after_prefix(low, ("bits", "bit"), prefixes)) is not None:
        return bits / 8
    return _after_prefix(low, ("bytes", "byte"), prefixes)


def _second(word: str, number: float) -> float | None:
    if not word:
        return 1.0
    return 60.0 if word in ("min", "minute", "minutes") else _after_prefix(word, _SECOND, _SMALL)


def _intensity(word: str, number: float) -> float | None:
    work, _, place = re.sub(r"\s+(?:per|a|for each)\s+", "/", word).partition("/")
    if word and place.strip().lower() not in ("b", "byte", "bytes"):
        return None
    return _flop(work.strip(), number)


def _ratio(word: str, number: float) -> float | None:
    if word in ("%", "percent"):
        return 0.01
    return 1.0 if word.lower() in ("", "x", "×", "*", "times", "fold", "-fold", ": 1", ":1") else None


def _percent(word: str, number: float) -> float | None:
    if word in ("%", "percent", "per cent", "pct"):
        return 1.0
    if word:
        return None
    if number == 1:
        raise NotUnderstood("1 can be read as 1 % or as all of it. Write a percent sign behind the number.")
    return 100.0 if number < 1 else 1.0  # 0.375 and 3/8 are shares


def _with_noun(prefixed: str, noun: str) -> str:
    return f"{prefixed}{noun}" if prefixed[-1].isalpha() else f"{prefixed} {noun}"


FLOP = Unit("FLOP", "work", "1.2 GFLOP or 1.2e9", _flop, lambda value: _with_noun(count_text(value), "FLOP"))
BYTE = Unit("bytes", "memory", "3.5 MiB, 3.5 MB or 3500000", _byte, bytes_text)
SECOND = Unit("seconds", "time", "1.2 ms or 0.0012", _second, time_text)
INTENSITY = Unit(
    "FLOP/byte",
    "work for each byte",
    "4.5",
    _intensity,
    lambda value: f"{number_text(value, 3)} FLOP/byte",
)
RATIO = Unit(
    "as a number of times", "a ratio", "2.5 or 5/2", _ratio, lambda value: f"{number_text(value, 3)}×"
)
PERCENT = Unit("percent", "a share", "40 %, 0.4 or 2/5", _percent, lambda value: f"{number_text(value, 3)} %")


def count(one: str, many: str = "", *others: str) -> Unit:
    """Return the unit of whole things, e.g. ``count("row")``.

    Parameters
    ----------
    one, many : str
        What one is called, and what several are.
    *others : str
        Other words for it.
    """
    many = many or f"{one}s"
    nouns = (many, one, *others, "")

    def factor(word: str, number: float) -> float | None:
        return _after_prefix(word.lower(), nouns, _LARGE)

    def text(value: float) -> str:
        return f"{number_text(value, 9)} {one if value == 1 else many}"

    return Unit(many, f"a count of {many}", "", factor, text)


SIDES = {
    **dict.fromkeys(("memory", "bandwidth", "bytes", "left", "the left", "the memory"), -1.0),
    **dict.fromkeys(
        ("arithmetic", "compute", "computation", "flops", "math", "right", "the arithmetic"), 1.0
    ),
}
SIDE = Unit(
    "memory or arithmetic",
    "the side of the ridge",
    "memory",
    lambda word, number: None,
    lambda value: "memory" if value < 0 else "arithmetic",
    SIDES,
)
ALL = (FLOP, BYTE, SECOND, INTENSITY, PERCENT)  # which a word may belong to that was not asked for


def factor_of(word: str, number: float, unit: Unit) -> float:
    """Return what a number before a word is multiplied by, to be in a unit.

    Raises
    ------
    NotUnderstood
        If it is no word of this unit, or can be read in two ways.
    """
    if (factor := unit.factor(word, number)) is not None:
        return factor
    if word in ("B", "b"):
        raise NotUnderstood("B can be read as a billion or as bytes. Write G, or 1.2e9.")
    if word.lower().endswith(("/s", "per second", "/sec")):
        raise NotUnderstood(f"`{word}` is a speed; asked is {unit.measures}.")
    for other in ALL:
        if other is not unit and word and other.factor(word, 2.0) is not None:
            raise NotUnderstood(f"`{word}` measures {other.measures}; asked is {unit.measures}.")
    raise NotUnderstood(f"`{word}` is no unit that is known here. Asked is {unit.measures}.")
