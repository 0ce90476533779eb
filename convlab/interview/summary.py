"""What an interview came to: what, how fast, how sure, what to read again, and what comes again."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from convlab.interview.console import forgotten
from convlab.interview.drills import Drill
from convlab.interview.history import OTHERS, WAITS, boxes
from convlab.interview.judge import Judged
from convlab.interview.kinds import KINDS
from convlab.interview.places import of_cell
from convlab.lessons.progress_file import ProgressFile
from convlab.support.tables import lines
from convlab.support.units import plural


class Answered(NamedTuple):
    """One drill, what was said of the answer, how sure it was in percent, and the seconds that it took.

    `said` and `sure` are None where it was passed over.
    """

    drill: Drill
    said: Judged | None
    sure: float | None
    seconds: float

    @property
    def right(self) -> bool:
        """Whether the answer was right."""
        return self.said is not None and self.said.note.good is True

    @property
    def outcome(self) -> str:
        """In a word or two."""
        if self.said is None:
            return "passed over"
        return "right" if self.right else f"wrong: {self.said.slip}" if self.said.slip else "wrong"


def summary(done: Sequence[Answered], memory: ProgressFile) -> list[str]:
    """Return the lines of the summary."""
    if not done:
        return ["No drill was answered.", *filter(None, [memory.trouble()])]
    said = [_in_sum(done), "", *lines([("drill", "time", "sure", ""), *map(_row, done)])]
    if sure := sureness(done):
        said += ["", sure]
    missed = list(dict.fromkeys(one.drill.kind for one in done if not one.right))
    if missed:
        said += ["", "To read again:"]
        said += [f"  {KINDS[kind].title}: {of_cell(*place)}" for kind in missed for place in KINDS[kind].read]
    said += ["", _again(done, memory)]
    if memory.path is None:
        said.append(forgotten())
    return [*said, *filter(None, [memory.trouble()])]


def _in_sum(done: Sequence[Answered]) -> str:
    right = sum(one.right for one in done)
    passed = sum(one.said is None for one in done)
    parts = [f"{right} right", f"{len(done) - right - passed} wrong"]
    if passed:
        parts.append(f"{passed} passed over")
    middle = median(one.seconds for one in done)
    return f"{plural(len(done), 'drill')}: {', '.join(parts)}. The median took {_clock(middle)}."


def _row(one: Answered) -> tuple[str, str, str, str]:
    sure = "" if one.sure is None else f"{one.sure:g} %"
    return one.drill.about.title, _clock(one.seconds), sure, one.outcome


def sureness(done: Sequence[Answered]) -> str:
    """Return how often "so sure" was right."""
    levels = sorted({one.sure for one in done if one.sure is not None})
    rows = {sure: [one.right for one in done if one.sure == sure] for sure in levels}
    parts = [f"{sure:g} % sure: {sum(each)} of {len(each)} right" for sure, each in rows.items()]
    return f"How sure: {'; '.join(parts)}." if parts else ""


def _again(done: Sequence[Answered], memory: ProgressFile) -> str:
    """Return when each kind comes again."""
    now = boxes(memory.events())
    waits = []
    for kind in dict.fromkeys(one.drill.kind for one in done):
        box = now[kind]
        days = WAITS[box.level - 1]
        when = f"after {OTHERS} others" if box.missed else f"in {plural(days, 'day')}" if days else "any time"
        waits.append(f"{KINDS[kind].title} {when}")
    return f"Comes again: {'; '.join(waits)}."


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
