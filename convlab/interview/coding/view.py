"""A timed task as a page shows it: with a clock that ticks. The time itself is kept by `clock`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from convlab.lessons import progress

if TYPE_CHECKING:
    from convlab.interview.coding.timed import TimedTask
    from convlab.lessons.note import Note
    from convlab.widgets.task_clock import TaskClock

_CLOCKS: dict[str, TaskClock] = {}  # of each task one, however many cells show it: they show the same


def bundle(task: TimedTask, note: Note) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a cell shows of a task: the clock, and where no script runs a note of this moment."""
    from convlab.widgets.task_clock import TaskClock  # here: widgets take their time to import

    there = _CLOCKS.get(task.name)
    if there is None or there.comm is None:  # none yet, or one that was closed

        def press(what: str) -> None:
            {"pause": task.pause, "resume": task.resume}.get(what, lambda: renew(task))()

        there = _CLOCKS[task.name] = TaskClock(
            task.name,
            task.exercise.statement,
            task.minutes,
            hand_in=task.hand_in,
            call=task.call,
            lines=note.code,
            press=press,
        )
    there.shown = note._repr_html_()
    renew(task)
    told, metadata = there._repr_mimebundle_()
    return told | {"text/plain": repr(note)}, metadata


def renew(task: TimedTask) -> None:
    """Let the pages that show a task's clock know how it stands, if there are any."""
    if there := _CLOCKS.get(task.name):
        read, after = task.look()
        there.tell(read.used, read.state, f"{after} {progress.trouble(again=True)}".strip())
