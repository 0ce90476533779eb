"""The learner's memory: what was tried, solved and predicted, kept in their folder and sent nowhere.

`record` notes an event, `events` returns them. Outside of a learner's folder, in tests or where pages are
made, nothing is kept on disk. CONVLAB_PROGRESS names another folder, which is made if there is none; where it
is empty, nothing is kept either. Nothing here raises: what went wrong is said once, by `trouble`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from convlab.lessons.progress_file import Event, ProgressFile
from convlab.support.learners_folder import learners_folder

__all__ = ["Event", "events", "file", "kept_in", "memory", "record", "trouble"]

NAMED = "CONVLAB_PROGRESS"  # environment variable: the folder to keep progress in; empty: none
NAME = ".convlab-progress.sqlite"
_INSTEAD: ContextVar[ProgressFile | None] = ContextVar("instead", default=None)


def record(kind: str, name: str, **detail: Any) -> None:
    """Note what the learner did.

    Parameters
    ----------
    kind : str
        "try", "hint", "solution" or "guess".
    name : str
        The exercise or the prediction.
    **detail
        What else there is to remember, as JSON knows it.
    """
    memory().record(kind, name, detail)


def events(kind: str | None = None, name: str | None = None) -> list[Event]:
    """Return what was recorded, oldest first: all, or of one kind, or of one name."""
    return [event for event in memory().events() if kind in (None, event.kind) and name in (None, event.name)]


def not_kept(change: Any, kept: list) -> list:
    """Return what was added to the list of a widget and is not among what was kept of it.

    Two of its views may hand in the same: a page hands in what no kernel heard of, wherever it is shown.
    """
    old, new = change["old"], change["new"]
    added = enumerate(new[len(old) :], start=len(old) + 1)
    return [one for end, one in added if kept.count(one) < new[:end].count(one)]


def file() -> Path | None:
    """Return the file that progress is kept in; None if it is kept in memory only."""
    return memory().path


def trouble(*, again: bool = False) -> str:
    """Return what went wrong since this was last asked, in words; nearly always an empty text.

    Parameters
    ----------
    again : bool
        All that went wrong, also what was said before.
    """
    return memory().trouble(again=again)


@contextmanager
def kept_in(other: ProgressFile) -> Iterator[None]:
    """Let what is done inside of a ``with`` be remembered in another file than this process's own."""
    token = _INSTEAD.set(other)
    try:
        yield
    finally:
        _INSTEAD.reset(token)


def memory() -> ProgressFile:
    """Return where all this is kept: of this process, or of the ``with`` around it."""
    return _INSTEAD.get() or here()


@cache
def here() -> ProgressFile:
    """Return the memory of this process. Where it lies is settled once: a cell may change the directory."""
    named = os.environ.get(NAMED)
    if not named:
        return of(learners_folder() if named is None else None)
    folder = Path(named).absolute()
    with suppress(OSError):  # what cannot be made cannot be written to either, and that is said
        folder.mkdir(parents=True, exist_ok=True)
    return of(folder)


def of(folder: Path | None, option: str = "") -> ProgressFile:
    """Return what is remembered in a folder; of None, a memory that ends with the process."""
    return ProgressFile(folder / NAME if folder else None, option)
