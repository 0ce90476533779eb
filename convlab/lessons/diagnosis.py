"""Which mistake a wrong answer behaves like: the exercise's bank of wrong answers runs beside it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

from convlab.lessons.attempt import Outcome
from convlab.lessons.clues import clue
from convlab.lessons.difference import same
from convlab.lessons.exercise import Exercise
from convlab.lessons.guard import TimeUp, guarded
from convlab.lessons.unwritten import unwritten_shows

SECONDS = 0.5  # for one wrong answer in one case: two mistakes together may well run for ever

Results = list[tuple[Any, BaseException | None]]  # of each case: what came out, and what was raised instead


def diagnosis(exercise: Exercise, outcomes: Sequence[Outcome]) -> str:
    """Say which mistake an answer behaves like, in all cases: a known one, two at once, or what numbers tell.

    Returns
    -------
    str
        A few sentences, or "" if nothing is recognised.
    """
    mine: Results = [(o.got, o.error) for o in outcomes]
    cases = [o.arguments for o in outcomes]
    for mistake in exercise.mistakes:
        wrong = exercise.wrong(mistake)
        if wrong and _alike(mine, cases, wrong):
            return str(mistake)
    failed = any(o.error for o in outcomes)  # two mistakes together raise errors for reasons of their own
    for pair in () if failed else combinations(exercise.mistakes, 2):
        wrong = exercise.wrong(*pair)
        if wrong and _alike(mine, cases, wrong):
            one, two = pair
            return (
                f"Two things at once: yours behaves like one that {one.name}, and {two.name}. "
                f"{one.meaning} {two.meaning}"
            )
    return clue(exercise, outcomes)


def _alike(mine: Results, cases: Sequence[tuple], wrong: Callable[..., Any]) -> bool:
    """Return whether a wrong answer does in every case what the learner's did."""
    seen = False  # a number that agrees, or an error in the same words: any slip raises one of *some* kind
    for (got, raised), arguments in zip(mine, cases, strict=True):
        try:
            with unwritten_shows(), guarded(SECONDS):
                its = wrong(*copy.deepcopy(arguments))
        except TimeUp:
            return False
        except Exception as error:  # a wrong answer may well fail
            if type(raised) is not type(error):
                return False
            seen |= str(raised) == str(error)
        else:
            if raised or not same(got, its):
                return False
            seen = True
    return seen
