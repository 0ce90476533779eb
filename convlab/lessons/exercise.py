"""What an exercise is: what is asked, the cases an answer is tried on, and the library's own answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    Attributes
    ----------
    statement : str
        What is asked, in one sentence.
    cases : callable
        Returns the argument tuples to try, the smallest first.
    answer : callable
        The library's answer for one tuple of arguments.
    """

    statement: str
    cases: Callable[[], Iterable[tuple]]
    answer: Callable

    def names(self) -> list[str]:
        """Return the names of the arguments, in order."""
        return self.statement.partition("(")[2].partition(")")[0].split(", ")
