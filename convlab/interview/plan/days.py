"""Two days in hours: what fits, in which order, with breaks, and an end that leaves the night to sleep.

On the first day gaps are filled; the second begins with a mock interview, as it will be, and what that shows
is read again. A session takes from the first of its queues what fits, then from the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from convlab.interview.mocks.draw import WHOLE
from convlab.interview.plan.needs import Item, drills
from convlab.lessons.progress_file import Event

READ, CODE, WALK, DRILL = "read", "code", "walk", "drill"
START, PAUSE, LUNCH, SLEEP = 9 * 60, 15, 60, 8 * 60  # minutes; the first since midnight

_MOCK = Item(WHOLE, "A mock interview, as it will be: aloud, no notes", "", "mock")
_REPORT = Item(15, "Its report: what to say otherwise")
_AGAIN = Item(30, "What the report says to read again")
_SHEET = Item(20, "The cheat sheet: read it, put it away, write it down", "", "cheat_sheet")


@dataclass(frozen=True)
class Slot:
    """A session as it is planned: its minutes, what is fixed in it, and the queues that fill it."""

    minutes: int
    queues: tuple[str, ...]
    fixed: tuple[Item, ...] = ()


@dataclass(frozen=True)
class Day:
    """A day: its title, its rows of (minutes since midnight, what is done), and what comes after."""

    title: str
    rows: list[tuple[int, Item]] = field(default_factory=list)
    evening: str = ""


_LUNCH_AFTER = 2  # sessions
_FIRST = (
    *(Slot(100, (READ, WALK)), Slot(100, (READ, WALK))),
    *(Slot(75, (CODE, WALK)), Slot(80, (WALK, CODE)), Slot(40, (DRILL,))),
)
_SECOND = (
    *(Slot(60, (), (_MOCK, _REPORT)), Slot(80, (READ, DRILL), (_AGAIN,))),
    *(Slot(60, (CODE, WALK)), Slot(80, (WALK, CODE)), Slot(40, (DRILL,), (_SHEET,))),
)
_DAYS = (
    ("Two days before: fill the gaps", _FIRST, "Then walk, eat, and let it rest"),
    ("The day before: as it will be", _SECOND, "Then close everything: nothing new tonight"),
)


def two(events: Sequence[Event], queues: Mapping[str, Sequence[Item]]) -> tuple[list[Day], list[Item]]:
    """Return both days, and what is left over, of the queues in their order."""
    left = {name: list(items) for name, items in queues.items()}
    reading = [slot for _, slots, _ in _DAYS for slot in slots if READ in slot.queues]
    room = sum(slot.minutes - sum(item.minutes for item in slot.fixed) for slot in reading)
    left[READ] = _in_order(left[READ], room)
    days = []
    for title, slots, after in _DAYS:
        day = Day(title, evening=f"{after}. Go to bed in time for {SLEEP // 60} hours of sleep.")
        now = START
        for number, slot in enumerate(slots):
            if number:
                long, name = (LUNCH, "Lunch") if number == _LUNCH_AFTER else (PAUSE, "Pause: stand up")
                day.rows.append((now, Item(long, name, rest=True)))
                now += long
            for item in _filled(slot, left, events):
                day.rows.append((now, item))
                now += _rounded(item.minutes)
        days.append(day)
    return days, left[READ]


def _filled(slot: Slot, left: dict[str, list[Item]], events: Sequence[Event]) -> list[Item]:
    """Take from the queues what fits into a session."""
    taken = list(slot.fixed)

    def room() -> int:
        return slot.minutes - sum(_rounded(item.minutes) for item in taken)

    for queue in slot.queues:
        if queue == DRILL and room() > 0:
            taken.append(drills(events, room()))
        for item in list(left.get(queue, ())):
            if _rounded(item.minutes) <= room():
                taken.append(item)
                left[queue].remove(item)
    return taken


def _in_order(items: list[Item], room: float) -> list[Item]:
    """Return what to read, as much as there is room for in the order of the course, the rest as it was."""
    chosen: list[Item] = []
    for item in items:
        if sum(_rounded(one.minutes) for one in (*chosen, item)) <= room:
            chosen.append(item)
    return sorted(chosen, key=lambda item: item.file) + [item for item in items if item not in chosen]


def _rounded(minutes: float) -> int:
    """Return minutes as a plan has them: in fives, and never less than it takes."""
    return 5 * ceil(minutes / 5)
