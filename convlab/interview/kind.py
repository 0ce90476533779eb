"""What a kind of drill is, what it asks, and the slips that it knows by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from convlab.interview.units import Unit


class Slip(NamedTuple):
    """A usual mistake.

    Attributes
    ----------
    name : str
        It goes on from "So it comes out for one who ...".
    value : float
        What one gets by it, in the unit that is asked for.
    hint : str
        A sentence that helps on, and does not give the answer away.
    """

    name: str
    value: float
    hint: str


class Asked(NamedTuple):
    """A question with numbers in it.

    Attributes
    ----------
    question : str
        Without the unit and the tolerance, which `Drill` adds.
    answer : float
        In the kind's unit.
    steps : tuple of str
        The arithmetic, a line for each step.
    slips : tuple of Slip
        The likeliest first; some may come to the same.
    """

    question: str
    answer: float
    steps: tuple[str, ...]
    slips: tuple[Slip, ...]


@dataclass(frozen=True)
class Kind:
    """A kind of drill.

    Attributes
    ----------
    name, title : str
        What `drill` takes, and what it is about.
    unit : Unit
    ask : callable
        ``ask(random)`` draws a question.
    read : tuple of (str, str)
        Where the course has it: the numbers of notebooks, and the exercise or prediction there.
    tolerance : float
        How far from the answer still counts as right, relative to it; 0: it must be exact.
    exact_below : float
        Answers below this must be exact, whatever the tolerance.
    """

    name: str
    title: str
    unit: Unit
    ask: Callable[[Random], Asked]
    read: tuple[tuple[str, str], ...]
    tolerance: float = 0.25
    exact_below: float = 0

    def tolerance_of(self, answer: float) -> float:
        """Return how far from this answer still counts as right."""
        return 0.0 if answer < self.exact_below else self.tolerance


SLACK = 1e-9  # a tolerance is not missed by a rounding


def near(value: float, answer: float, tolerance: float) -> bool:
    """Return whether a value is an answer, as far as a tolerance tells them apart."""
    return abs(value - answer) <= (tolerance + SLACK) * abs(answer)


def too_small(answer: float, tolerance: float, slips: Iterable[Slip]) -> tuple[Slip, ...]:
    """Return the slips that a tolerance lets pass: their values count as right, and are not the answer."""
    return tuple(
        slip for slip in slips if near(slip.value, answer, tolerance) and not near(slip.value, answer, 0)
    )


def told_apart(answer: float, tolerance: float, slips: Iterable[Slip]) -> tuple[Slip, ...]:
    """Return the slips that are told apart from the answer and from those before them."""
    kept: list[Slip] = []
    for slip in slips:
        others = [answer, *(one.value for one in kept)]
        if all(
            not near(slip.value, other, tolerance) and not near(other, slip.value, tolerance)
            for other in others
        ):
            kept.append(slip)
    return tuple(kept)
