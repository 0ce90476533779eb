"""What an exercise is: what is asked, the cases an answer is tried on, and the library's own answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


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
    arguments : tuple of str
        Their names, in order: what a case that fails is written with.
    """

    statement: str
    cases: Callable[[], Iterable[tuple]]
    answer: Callable[..., Any]
    arguments: tuple[str, ...]
