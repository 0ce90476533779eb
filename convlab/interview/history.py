"""What was answered, kept with the predictions of the course, and which kind of drill comes next.

An answer is an event "guess" in the learner's file, with how sure they were: so calibration counts it. Kinds
are learned as with cards in Leitner's five boxes:

    right     the kind goes up a box, if its time had come; else it goes on waiting
    wrong     it goes back to box 1, and comes again after three other answers; between two that come again
              there is one that was due or new, as long as there are any
    boxes     wait 0, 1, 3, 7 and 21 days

Answers are numbered, and it is by their numbers that they are put in order: a clock may be set back. A time
that lies ahead cannot be right; a kind that has one is asked at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from convlab.interview.drills import Drill
from convlab.interview.judge import Judged
from convlab.interview.kind import Kind
from convlab.interview.kinds import KINDS
from convlab.lessons import progress
from convlab.lessons.note import Note
from convlab.lessons.progress_file import Event, ProgressFile, is_number
from convlab.support.checked import checked
from convlab.support.checks import check_number

WAITS = (0, 1, 3, 7, 21)  # days that each box waits
DAY = 24 * 3600  # seconds
OTHERS = 3  # answers until a missed kind comes again


@dataclass(frozen=True)
class Box:
    """Where a kind stands.

    Attributes
    ----------
    kind : str
    level : int
        Its box, 1 to 5.
    missed : bool
        Whether the last answer was wrong.
    time : float
        From when on it waits, in seconds since 1970.
    number : int
        How many answers were given up to its last one, of any kind.
    times : int
        How many of them were to this kind.
    """

    kind: str
    level: int
    missed: bool
    time: float
    number: int
    times: int = 1

    def due(self, now: float) -> float:
        """Return how many seconds ago its time came; below 0 if it is still to come."""
        ago = now - self.time
        return ago - WAITS[self.level - 1] * DAY if ago >= 0 else 0.0


@checked
def answer(one: Drill, text: str, sure: Annotated[float, partial(check_number, least=0, most=100)]) -> Note:
    """Judge an answer to a drill, and remember it; calibration counts the first one to each drill.

    Parameters
    ----------
    one : Drill
    text : str
        As people write it, with a unit or without.
    sure : float
        How sure you are that it is right, in percent.

    Returns
    -------
    Note
        As `Drill.judge` gives. What is not understood is not remembered.
    """
    said = one.verdict(text)
    keep(progress.memory(), one, said, sure)
    said.note.aside = progress.trouble()
    return said.note


def keep(
    memory: ProgressFile, one: Drill, said: Judged | None, sure: float | None, seconds: float | None = None
) -> None:
    """Record an answer; of None, that the drill was passed over, which counts as missed.

    Parameters
    ----------
    memory : ProgressFile
    one : Drill
    said : Judged or None
    sure : float or None
        In percent.
    seconds : float, optional
        How long it took.
    """
    if said is not None and said.value is None:
        return
    detail = {
        "guess": said and said.value,
        "sure": sure,
        "actual": one.value,
        "unit": one.unit,
        "right": bool(said and said.note.good),
        "drill": one.kind,
        "seed": one.seed,
        "slip": said.slip if said else "",
        "seconds": seconds,
        "number": 1 + last_number(memory.events()),
    }
    memory.record("guess", one.name, detail)


def boxes(events: Iterable[Event]) -> dict[str, Box]:
    """Return where each kind stands that was asked. Of each drill the first answer counts."""
    found: dict[str, Box] = {}
    first: dict[str, Event] = {}
    for event in answers(events):
        first.setdefault(event.name, event)
    for event in first.values():
        kind, right = event.detail["drill"], event.detail["right"]
        before = found.get(kind) or Box(kind, 1, False, event.time, 0, 0)
        number, times = int(event.detail["number"]), before.times + 1
        if right and before.due(event.time) < 0:  # too early to tell: the days go on
            found[kind] = replace(before, number=number, times=times)
        else:
            level = min(before.level + 1, len(WAITS)) if right else 1
            found[kind] = Box(kind, level, not right, event.time, number, times)
    return found


def last_number(events: Iterable[Event]) -> int:
    """Return the number of the answer that was given last; 0 if there is none."""
    return max((int(event.detail["number"]) for event in answers(events)), default=0)


def answers(events: Iterable[Event]) -> list[Event]:
    """Return the answers to drills by their numbers; what another version wrote otherwise is passed over."""
    found = [event for event in events if event.kind == "guess" and _is_answer(event.detail)]
    return sorted(found, key=lambda event: event.detail["number"])


def _is_answer(detail: Mapping[str, Any]) -> bool:
    kind, right, number = (detail.get(name) for name in ("drill", "right", "number"))
    return isinstance(kind, str) and kind in KINDS and isinstance(right, bool) and is_number(number)


def next_kind(events: Iterable[Event], kinds: Mapping[str, Kind] = KINDS, now: float | None = None) -> str:
    """Return the kind that comes next.

    First what was missed, once three others were answered, but not twice in a row; then what is due, longest
    first; then what was never asked, in the order of the course; and if nothing else is left, what was
    missed, or is due soonest.

    Parameters
    ----------
    events : iterable of Event
    kinds : mapping of str to Kind
        What to choose from.
    now : float, optional
        Seconds since 1970; by default the clock's.
    """
    now = time.time() if now is None else now
    known = boxes(events)
    last = max((box.number for box in known.values()), default=0)
    asked = [known[kind] for kind in kinds if kind in known]
    came_again = any(box.number == last and box.times > 1 for box in asked)
    missed = [box for box in asked if box.missed and last - box.number >= OTHERS]
    due = [box for box in asked if not box.missed and box.due(now) >= 0]
    new = [kind for kind in kinds if kind not in known]
    if missed and not (came_again and (due or new)):
        return min(missed, key=lambda box: box.number).kind
    if due:
        return max(due, key=lambda box: box.due(now)).kind
    if new:
        return new[0]
    others = [box for box in asked if box.number < last] or asked
    return max(others, key=lambda box: (box.missed, box.due(now))).kind
