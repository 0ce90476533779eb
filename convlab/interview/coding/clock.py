"""The clock of a timed task: begun, paused, gone on with, ended; kept with all else that a learner did.

What is kept are the moments at which somebody pressed it, and what it shows is worked out from these. So it
goes on while a kernel or a browser is closed, and two tabs that look at it count the same time once.

The system's clock can be set. Beside it stands the time since the computer was started, which cannot: where
both moments are of one start, that is what counts, and the system's clock is found out by it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from uuid import uuid4

from convlab.lessons import progress
from convlab.lessons.progress_file import is_number
from convlab.support.clock_words import ENDS, clock_text
from convlab.support.files import text_if_there

KIND = "clock"  # of the events
BEGIN, PAUSE, RESUME = "begin", "pause", "resume"
SOLVED, GIVEN_UP = ENDS
_BOOT = Path("/proc/sys/kernel/random/boot_id")  # Linux: another one at each start
_SLACK = 5.0  # seconds by which a time server may put the system's clock right unnoticed


@dataclass(frozen=True)
class Moment:
    """A point in time.

    Attributes
    ----------
    wall : float
        Seconds since 1970, by the system's clock.
    steady : float
        Seconds since the computer was started, those in which it slept as well.
    start : str
        Which start that was.
    """

    wall: float
    steady: float
    start: str

    def until(self, later: Moment) -> tuple[float, float]:
        """Return the seconds between two moments, and those by which the system's clock was set meanwhile."""
        by_wall = later.wall - self.wall
        if self.start == later.start:
            passed = max(later.steady - self.steady, 0.0)
            return passed, by_wall - passed
        return max(by_wall, 0.0), min(by_wall, 0.0)  # started anew: only that it was set back can be seen


def now() -> Moment:
    """Return this moment."""
    named = {"linux": "CLOCK_BOOTTIME", "darwin": "CLOCK_MONOTONIC"}.get(sys.platform, "")
    clock = getattr(time, named, None)
    return Moment(time.time(), time.monotonic() if clock is None else time.clock_gettime(clock), _start())


@cache
def _start() -> str:
    """Return a name for this start of the computer; where the system has none, one for this process."""
    return text_if_there(_BOOT).strip() or uuid4().hex


@dataclass(frozen=True)
class Reading:
    """What a clock shows.

    Attributes
    ----------
    used : float
        Seconds since it was begun, without those in which it was paused.
    state : str
        "" where it was never begun, "running", "paused", "solved" or "given up".
    set_by : tuple of float
        Seconds by which the system's clock was set while it ran: forward, or back (below 0).
    """

    used: float = 0.0
    state: str = ""
    set_by: tuple[float, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether it has come to its end."""
        return self.state in ENDS

    @property
    def trouble(self) -> str:
        """What was wrong with the system's clock, in words; mostly nothing."""
        if not self.set_by:
            return ""
        worst = max(self.set_by, key=abs)
        way = "forward" if worst > 0 else "back"
        return (
            f"The clock of this computer was set {way} by {clock_text(abs(worst))} meanwhile. What counts "
            "is the time that passed, as far as it is known."
        )


class Clock:
    """The clock of one task.

    Parameters
    ----------
    name : str
        The task.
    """

    def __init__(self, name: str):
        self.name = name

    def press(self, what: str) -> None:
        """Note that it was begun, paused, gone on with, or that the task is solved or given up."""
        count = 1 + max((number for number, _, _ in self._pressed()), default=0)
        progress.record(KIND, self.name, did=what, count=count, **asdict(now()))

    def read(self) -> Reading:
        """Return what it shows."""
        return reading([(what, moment) for _, what, moment in self._pressed()], now())

    def _pressed(self) -> list[tuple[int, str, Moment]]:
        """Return what was pressed, in order. It is counted, for the system's clock may have been set back."""
        found = []
        for event in progress.events(KIND, self.name):
            count, what, *rest = (
                event.detail.get(key) for key in ("count", "did", "wall", "steady", "start")
            )
            if is_number(count) and is_number(rest[0]) and is_number(rest[1]):
                found.append((int(count), str(what), Moment(rest[0], rest[1], str(rest[2]))))
        return sorted(found, key=lambda one: one[0])


def reading(pressed: Iterable[tuple[str, Moment]], moment: Moment) -> Reading:
    """Return what a clock shows at a moment, after all that was pressed before."""
    used, state, set_by, since = 0.0, "", [], moment

    def run_until(end: Moment) -> None:
        nonlocal used
        passed, moved = since.until(end)
        used += passed
        set_by.extend([moved] if abs(moved) > _SLACK else [])

    for what, at in pressed:
        if what == BEGIN:  # an attempt of its own; what was before does not count
            used, state, set_by, since = 0.0, "running", [], at
        elif state == "running" and what in (PAUSE, SOLVED, GIVEN_UP):
            run_until(at)
            state = "paused" if what == PAUSE else what
        elif state == "paused" and what == RESUME:
            state, since = "running", at
        elif state == "paused" and what in (SOLVED, GIVEN_UP):
            state = what
    if state == "running":
        run_until(moment)
    return Reading(used, state, tuple(set_by))
