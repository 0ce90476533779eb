"""`hint` and `solution`: help that comes when it is asked for, a little at a time."""

from __future__ import annotations

from convlab.lessons import progress
from convlab.lessons.exercises import EXERCISES
from convlab.lessons.note import Note
from convlab.support.checks import check_choice


def hint(name: str) -> Note:
    """Give the next hint for an exercise: each gives away more than the one before.

    Parameters
    ----------
    name : str
        The exercise, e.g. "buffer".
    """
    check_choice("exercise", name, EXERCISES)
    return next_hint(name, EXERCISES[name].hints, f'solution("{name}")')


def next_hint(name: str, hints: tuple[str, ...], rest: str) -> Note:
    """Give the first hint that was not given yet, and remember it; the last again, if there is none.

    Parameters
    ----------
    name : str
        What it is remembered by.
    hints : tuple of str
    rest : str
        The call that shows what no hint gives away.
    """
    number = min(len(progress.events("hint", name)), len(hints) - 1)
    progress.record("hint", name, number=number + 1)
    left = len(hints) - number - 1
    more = f"{left} more: ask again." if left else f"That was the last one. `{rest}` has the rest."
    return _told(Note(None, f"Hint {number + 1} of {len(hints)}", f"{hints[number]} {more}"))


def solution(name: str) -> Note:
    """Show the worked solution of an exercise, once you have tried it or have asked twice.

    Parameters
    ----------
    name : str
        The exercise, e.g. "buffer".
    """
    check_choice("exercise", name, EXERCISES)
    exercise = EXERCISES[name]
    asked, tried = progress.events("solution", name), progress.events("try", name)
    progress.record("solution", name, shown=bool(asked or tried))
    if not (asked or tried):
        help_on = (
            f'`hint("{name}")` helps you on. If you want to see the solution all the same, ask once more.'
        )
        return _told(Note(None, "You have not tried it yet.", help_on))
    return _told(Note(None, "One way to do it", exercise.why, code=exercise.solved))


def _told(note: Note) -> Note:
    """Say with a note what keeps the learner's work from being remembered, if anything does."""
    note.aside = progress.trouble()
    return note
