"""The units that an answer is asked in: their names, their words, and how a value is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from convlab.interview import words
from convlab.interview.words import LARGE, NotUnderstood, after_prefix
from convlab.support.units import bytes_text, count_text, number_text, time_text


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
        A function of `words`, or one like them.
    text : callable
        How a value is shown.
    choices : mapping of str to float
        Where words are asked for: each that is understood, and the number that stands for it.
    how : str
        How to answer, where "in ..." does not say it.
    """

    name: str
    measures: str
    example: str
    factor: Callable[[str, float], float | None]
    text: Callable[[float], str]
    choices: Mapping[str, float] = field(default_factory=dict)
    how: str = ""

    def request(self, tolerance: float) -> str:
        """Return how the answer is to be given."""
        if self.choices:
            return f"Answer with a word: {self.name}."
        such_as = f", such as {self.example}" if self.example else ""
        near = f"within {100 * tolerance:g} % counts as right" if tolerance else "it must be exact"
        return f"Answer {self.how or 'in ' + self.name}{such_as}; {near}."


def _with_noun(prefixed: str, noun: str) -> str:
    return f"{prefixed}{noun}" if prefixed[-1].isalpha() else f"{prefixed} {noun}"


FLOP = Unit(
    "FLOP", "work", "1.2 GFLOP or 1.2e9", words.flop, lambda value: _with_noun(count_text(value), "FLOP")
)
BYTE = Unit("bytes", "memory", "3.5 MiB, 3.5 MB or 3500000", words.byte, bytes_text)
SECOND = Unit("seconds", "time", "1.2 ms or 0.0012", words.second, time_text)
INTENSITY = Unit(
    "FLOP/byte",
    "work for each byte",
    "4.5",
    words.intensity,
    lambda value: f"{number_text(value, 3)} FLOP/byte",
)
RATIO = Unit(
    "times",
    "a ratio",
    "2.5 or 5/2",
    words.ratio,
    lambda value: f"{number_text(value, 3)}×",
    how="as a number of times",
)
PERCENT = Unit(
    "percent", "a share", "40 %, 0.4 or 2/5", words.percent, lambda value: f"{number_text(value, 3)} %"
)


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
        return after_prefix(word.lower(), nouns, LARGE)

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
    for other in ALL if word.lower() not in LARGE else ():
        if other is not unit and other.factor(word, 2.0) is not None:
            raise NotUnderstood(f"`{word}` measures {other.measures}; asked is {unit.measures}.")
    raise NotUnderstood(f"`{word}` is no unit that is known here. Asked is {unit.measures}.")
