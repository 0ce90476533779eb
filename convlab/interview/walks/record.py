"""What was said of a walk-through, ticked by the one who said it, and kept with all else that they did.

Points are kept by their titles: one that has another title in a later version of the course is a new point.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from convlab.lessons.progress_file import Event, ProgressFile, is_number

KIND = "walk"  # of the events


@dataclass(frozen=True)
class Round:
    """A walk-through that was answered aloud once, and ticked.

    Attributes
    ----------
    name : str
        Which one.
    ticked : tuple of str
        The titles of the points that were made, in the order of the walk.
    points : int
        How many there were to make.
    seconds : float or None
        How long the answer took; None if no stopwatch ran.
    number : int
        1 for the first round of this walk.
    time : float
        When it was ticked, in seconds since 1970.
    """

    name: str
    ticked: tuple[str, ...]
    points: int
    seconds: float | None
    number: int
    time: float


def keep(memory: ProgressFile, name: str, ticked: Iterable[str], points: int, seconds: float | None) -> None:
    """Record a round of a walk-through."""
    number = 1 + max((one.number for one in rounds(memory.events(), name)), default=0)
    detail = {"ticked": list(ticked), "points": points, "seconds": seconds, "number": number}
    memory.record(KIND, name, detail)


def rounds(events: Iterable[Event], name: str) -> list[Round]:
    """Return the rounds of a walk-through by their numbers; what is none of them is passed over."""
    found = [_round(event) for event in events if (event.kind, event.name) == (KIND, name)]
    return sorted((one for one in found if one), key=lambda one: one.number)


def ticked(events: Iterable[Event], name: str) -> Round | None:
    """Return the last round of a walk-through; None if there is none."""
    return next(reversed(rounds(events, name)), None)


def _round(event: Event) -> Round | None:
    ticked, points, seconds, number = map(event.detail.get, ("ticked", "points", "seconds", "number"))
    if not (isinstance(ticked, list) and all(isinstance(title, str) for title in ticked)):
        return None
    if not (is_number(points) and is_number(number) and (seconds is None or is_number(seconds))):
        return None
    return Round(event.name, tuple(ticked), int(points), seconds, int(number), event.time)
