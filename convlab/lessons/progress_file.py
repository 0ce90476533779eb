"""The file of what a learner did: SQLite, append-only, written by as many kernels as are open.

SQLite sees to it that what was written survives a crash: each write is whole or undone. What can be wrong
with a file all the same is met here, and said: what cannot be written waits in memory, and is written with
the next event if that can be; a file that is damaged gets another name, and a new one is begun. None is ever
deleted, and nothing here raises: it stands in the way of a learner's cell.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from math import isfinite
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TypeGuard, TypeVar

from convlab.support.locks import locked

VERSION = 1  # PRAGMA user_version of the files that this code writes
_PATIENCE = 2.0  # seconds to wait for another kernel that writes
_TABLE = """CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, detail TEXT NOT NULL
)"""
_BESIDE = ("-journal", "-wal", "-shm")  # what SQLite puts beside a file; it belongs to that one, by name

Done = TypeVar("Done")


class Event(NamedTuple):
    """One thing that a learner did.

    Attributes
    ----------
    time : float
        Seconds since 1970, UTC.
    kind : str
        "try", "hint", "solution" or "guess".
    name : str
        The exercise or the prediction.
    detail : dict
        What belongs to this kind.
    """

    time: float
    kind: str
    name: str
    detail: dict[str, Any]


class _NewerError(Exception):
    """A later version of the course wrote this file."""


class ProgressFile:
    """Events in a file, or only in memory.

    Parameters
    ----------
    path : Path or None
        None: nothing is kept on disk.
    option : str
        What a command must be told, to find this file; "" where it does so by itself.
    """

    def __init__(self, path: Path | None, option: str = ""):
        self.path, self.option = path, option
        self._waiting: list[Event] = []  # recorded, and not in the file
        self._troubles: list[str] = []
        self._said = 0
        self._looked_through = False
        self._lock = Lock()

    def record(self, kind: str, name: str, detail: dict[str, Any]) -> None:
        """Keep an event."""
        event = Event(time.time(), _text(kind), _text(name), json.loads(_json(detail)))
        with self._lock:
            self._waiting.append(event)
            self._write()

    def events(self) -> list[Event]:
        """Return all events in the order in which they were kept: a clock may have been set back between."""
        with self._lock:
            if self._waiting:
                self._write()
            return [*self._read(), *self._waiting]

    def trouble(self, *, again: bool = False) -> str:
        """Return what went wrong and has not been said yet, in words, or all of it; mostly nothing."""
        news, self._said = self._troubles[0 if again else self._said :], len(self._troubles)
        return " ".join(news)

    @property
    def kept(self) -> bool:
        """Whether all that was recorded is in the file; else it ends with this process."""
        return not self._waiting

    def _write(self) -> None:
        rows = [(e.time, e.kind, e.name, json.dumps(e.detail)) for e in self._waiting]

        def insert(file: sqlite3.Connection) -> None:
            file.execute("BEGIN IMMEDIATE")
            _look_at_version(file)
            file.execute(_TABLE)
            file.execute(f"PRAGMA user_version = {VERSION}")
            file.executemany("INSERT INTO events (time, kind, name, detail) VALUES (?, ?, ?, ?)", rows)
            file.execute("COMMIT")

        with self._survived("written"):
            if self.path is not None:
                self._do(self.path, insert)
                self._waiting.clear()

    def _read(self) -> list[Event]:
        def select(file: sqlite3.Connection) -> list[tuple]:
            _look_at_version(file)
            asked = "SELECT time, kind, name, detail FROM events ORDER BY id"
            return file.execute(asked).fetchall() if _has_tables(file) else []

        with self._survived("read"):
            if self.path is not None and os.path.lexists(self.path):
                return list(_readable(self._do(self.path, select)))
        return []

    def _do(self, path: Path, action: Callable[[sqlite3.Connection], Done]) -> Done:
        """Open the file for one action; a file that is damaged is moved aside first."""
        if os.path.lexists(path) and not path.is_file():
            raise OSError("it is no ordinary file")
        try:
            return self._once(path, action)
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
        self._move_aside(path)
        return self._once(path, action)

    def _once(self, path: Path, action: Callable[[sqlite3.Connection], Done]) -> Done:
        with closing(sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)) as file:
            if not self._looked_through:
                _look_through(file)
                self._looked_through = True
            return action(file)

    def _move_aside(self, path: Path) -> None:
        """Give a damaged file another name, unless another kernel has just done that."""
        with locked(path.with_name(f"{path.name}.lock")):
            if not _is_damaged(path):
                return
            aside = _free_name(path)
            for end in (*_BESIDE, ""):  # a journal that stayed would be taken for that of the new file
                with suppress(FileNotFoundError):
                    os.rename(f"{path}{end}", f"{aside}{end}")
        self._note(
            f"The file of your progress was damaged. It is kept as {aside.name}, and a new one is begun."
        )

    @contextmanager
    def _survived(self, done: str) -> Iterator[None]:
        try:
            yield
        except _NewerError:
            self._note(
                f"{self.path} comes from a newer version of this course, and is left alone; "
                "your progress is kept until this notebook is closed, or this command ends."
            )
        except Exception as error:  # whatever it is: the learner's cell goes on
            self._note(
                f"{self.path} cannot be {done} now ({error}); your progress is kept until this notebook is "
                "closed, or this command ends, and written if it can be."
            )

    def _note(self, words: str) -> None:
        if words not in self._troubles:
            self._troubles.append(words)


def _look_at_version(file: sqlite3.Connection) -> None:
    (version,) = file.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise _NewerError


def _look_through(file: sqlite3.Connection) -> None:
    """Raise where a page of the file is not what SQLite wrote, or where the tables are not ours."""
    _look_at_version(file)
    (verdict,) = file.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise sqlite3.DatabaseError(verdict)
    if _has_tables(file):
        file.execute("SELECT time, kind, name, detail FROM events LIMIT 1").fetchall()


def _has_tables(file: sqlite3.Connection) -> bool:
    return bool(file.execute("SELECT name FROM sqlite_master").fetchall())


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether it is the file that is wrong, and not its folder, its rights, its disk or another's lock."""
    code = getattr(error, "sqlite_errorcode", None)  # ours has none
    return code is None or code & 0xFF in (
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_ERROR,  # no such table, no such column
    )


def _is_damaged(path: Path) -> bool:
    if not os.path.lexists(path):
        return False
    try:
        with closing(sqlite3.connect(path, timeout=_PATIENCE)) as file:
            _look_through(file)
    except sqlite3.DatabaseError as error:
        return _is_damage(error)
    except _NewerError:  # another kernel has begun it
        return False
    return False


def _free_name(path: Path) -> Path:
    day = time.strftime("%Y-%m-%d")
    number = 1
    while os.path.lexists(aside := path.with_stem(f"{path.stem}-damaged-{day}-{number}")):
        number += 1
    return aside


def _readable(rows: list[tuple]) -> Iterator[Event]:
    for when, kind, name, detail in rows:
        with suppress(ValueError, TypeError, RecursionError):
            yield Event(float(when), str(kind), str(name), dict(json.loads(detail)))


def is_number(value: Any) -> TypeGuard[float]:
    """Return whether a detail that was read is a finite number."""
    try:
        return isinstance(value, int | float) and isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _json(detail: dict[str, Any]) -> str:
    """Return JSON of anything: what it does not know, such as NumPy's numbers, as a number or as text."""
    try:
        return json.dumps({_text(key): value for key, value in detail.items()}, default=_plain)
    except Exception:  # a list that holds itself, for instance
        return json.dumps({_text(key): _text(value) for key, value in detail.items()})


def _plain(value: Any) -> Any:
    return value.item() if getattr(value, "ndim", None) == 0 else _text(value)


def _text(value: Any) -> str:
    """Return text that any file can hold."""
    try:
        return str(value).encode("utf-8", "replace").decode()
    except Exception:  # an object whose own __str__ fails
        return f"<{type(value).__name__}>"
