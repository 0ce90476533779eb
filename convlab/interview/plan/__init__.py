"""Two days before an interview: a plan in hours, made for this learner.

`needs` says what they missed, and what was never done; `days` fills the hours with it. Here is what shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import ceil
from typing import TYPE_CHECKING

from convlab.lessons import progress
from convlab.support.wrapping import columns, wrapped

if TYPE_CHECKING:
    from convlab.interview.plan.days import Day
    from convlab.interview.plan.needs import Item
    from convlab.lessons.progress_file import ProgressFile

WIDTH = 100  # letters in a line of plain text
_TITLE = "Two days before the interview"


class TwoDays:
    """The plan, as a page shows it and as text."""

    def __init__(self, days: Sequence[Day], left_out: Sequence[Item], trouble: str = ""):
        self.days, self.left_out, self.trouble = days, left_out, trouble

    def __repr__(self) -> str:
        return self.text()

    def text(self, *, in_terminal: bool = False) -> str:
        """Return the plan as text, with what to call in a notebook, or in a terminal."""
        said, width = [_TITLE], columns(WIDTH)
        for day in self.days:
            said += ["", day.title]
            for start, item in day.rows:
                what = f"{item.what} ({item.why})" if item.why else item.what
                when = f"{clock(start):>5} {ceil(item.minutes):>3} min  "
                then = " " * len(when)
                said.append(wrapped(what, width, when, then))
                if item.door:
                    said.append(then + (item.command if in_terminal else item.call))
            said.append(wrapped(day.evening, width))
        return "\n".join([*said, *(f"\n{wrapped(line, width)}" for line in self._after())])

    def _repr_html_(self) -> str:
        from convlab.lessons.map_of_course import framed

        tables = "".join(
            f"<h3>{escape(day.title)}</h3>{_table(day)}<p>{escape(day.evening)}</p>" for day in self.days
        )
        after = "".join(f'<p class="cl-key">{escape(line)}</p>' for line in self._after())
        return framed(f"<h2>{_TITLE}</h2>{tables}{after}")

    def _after(self) -> Iterator[str]:
        if self.left_out:
            names = "; ".join(item.what.removeprefix("Notebook ") for item in self.left_out)
            yield f"No time is left for notebooks {names}."
        if self.trouble:
            yield self.trouble


def two_days() -> TwoDays:
    """Return a plan for the two days before an interview; what you missed comes first.

    Returns
    -------
    TwoDays
        A cell shows it; ``print(two_days())`` gives it as text.
    """
    return plan_of(progress.memory())


def plan_of(memory: ProgressFile) -> TwoDays:
    """Return the plan of the learner whose memory this is."""
    from convlab.interview.plan import days, needs
    from convlab.interview.walks.show import WALKS
    from convlab.lessons.course import chapters

    events, walks = memory.events(), [make() for make in WALKS.values()]
    queues = {
        days.READ: needs.readings(events, chapters(), walks),
        days.CODE: needs.tasks(events),
        days.WALK: needs.walked(events, walks),
    }
    return TwoDays(*days.two(events, queues), trouble=memory.trouble())


def _table(day: Day) -> str:
    """Return a day as a table: when, how long, what, and why."""
    from convlab.lessons.map_of_course import LINK

    rows = []
    for start, item in day.rows:
        named = f'{LINK}{escape(item.file)}">{escape(item.what)}</a>' if item.file else escape(item.what)
        named += f" <code>{escape(item.call)}</code>" if item.call else ""
        cells = (f"{ceil(item.minutes)} min", named, escape(item.why))
        kind = ' class="cl-pause"' if item.rest else ""
        rows.append(f'<tr{kind}><th scope="row">{clock(start)}</th><td>{"</td><td>".join(cells)}</td></tr>')
    head = "".join(f'<th scope="col">{name}</th>' for name in ("from", "for", "what", "why"))
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<table class="cl-map cl-plan">{body}</table>'


def clock(minutes: int) -> str:
    """Return a time of day: 540 is "9:00"."""
    return f"{minutes // 60}:{minutes % 60:02}"
