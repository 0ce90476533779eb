"""The units that an answer is asked in: their names, their words, and how a value is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from convlab.interview import words
from convlab.interview.sentences import NotUnderstood
from convlab.interview.words import LARGE
from convlab.support.units import bytes_text, count_text, number_text, time_text

WRITTEN: Mapping[str, Callable[[float], str]] = {
    "bytes": bytes_text,
    "count": count_text,
    "time": time_text,
    "3 digits": partial(number_text, digits=3),
    "9 digits": partial(number_text, digits=9),
}


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
    written : str
        How a value is shown: a name of `WRITTEN`.
    after, after_one : str
        What stands behind it, and behind 1 where that is another; a blank falls away behind a prefix.
    nouns : tuple of str
        What whole things are called.
    choices : mapping of str to float
        Where words are asked for: each that is understood, and the number that stands for it.
    how : str
        How to answer, where "in ..." does not say it.
    """

    name: str
    measures: str
    example: str
    factor: Callable[[str, float], float | None]
    written: str
    after: str = ""
    after_one: str = ""
    nouns: tuple[str, ...] = ()
    choices: Mapping[str, float] = field(default_factory=dict)
    how: str = ""

    def text(self, value: float) -> str:
        """Return a value as it is shown."""
        if self.choices:
            return next(word for word, number in self.choices.items() if number == value)
        number = WRITTEN[self.written](value)
        after = self.after_one if self.after_one and value == 1 else self.after
        return number + (after.lstrip() if number[-1].isalpha() else after)

    def request(self, tolerance: float) -> str:
        """Return how the answer is to be given."""
        if self.choices:
            return f"Answer with a word: {self.name}."
        such_as = f", such as {self.example}" if self.example else ""
        near = f"within {100 * tolerance:g} % counts as right" if tolerance else "it must be exact"
        return f"Answer {self.how or 'in ' + self.name}{such_as}; {near}."


FLOP = Unit("FLOP", "work", "1.2 GFLOP or 1.2e9", words.flop, "count", " FLOP")
BYTE = Unit("bytes", "memory", "3.5 MiB, 3.5 MB or 3500000", words.byte, "bytes")
SECOND = Unit("seconds", "time", "1.2 ms or 0.0012", words.second, "time")
INTENSITY = Unit("FLOP/byte", "work for each byte", "4.5", words.intensity, "3 digits", " FLOP/byte")
RATIO = Unit("times", "a ratio", "2.5 or 5/2", words.ratio, "3 digits", "×", how="as a number of times")
PERCENT = Unit("percent", "a share", "40 %, 0.4 or 2/5", words.percent, "3 digits", " %")


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
    factor = partial(words.thing, nouns)
    return Unit(many, f"a count of {many}", "", factor, "9 digits", f" {many}", f" {one}", nouns)


SIDES = {
    **dict.fromkeys(
        (
            *("memory", "bandwidth", "memory bandwidth", "memory-bandwidth", "bytes"),
            *("left", "the left", "the memory"),
        ),
        -1.0,
    ),
    **dict.fromkeys(("arithmetic", "compute", "computation", "flops", "flop", "math"), 1.0),
    **dict.fromkeys(("right", "the right", "the arithmetic"), 1.0),
}
SIDE = Unit(
    "memory or arithmetic",
    "the side of the ridge",
    "memory",
    lambda word, number: None,
    "",
    choices=SIDES,
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
        raise NotUnderstood("billion or bytes")
    if word.lower().endswith(words.SPEED):
        raise NotUnderstood("speed", word=word, asked=unit.measures)
    for other in ALL if word.lower() not in LARGE else ():
        if other is not unit and other.factor(word, 2.0) is not None:
            raise NotUnderstood("another unit", word=word, other=other.measures, asked=unit.measures)
    raise NotUnderstood("no unit", word=word, asked=unit.measures)
