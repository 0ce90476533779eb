"""A result that is not whole: it lies beside its name, and notes say of which run it is and how far that got.

    result.npy.part             what is written
    result.npy.part.json        of which run, and how much of it
    result.npy.part.lock        while a run is at it
    result.npy.part.between     what `exchange` lays between the layers

At the end the first gets its name, in one step, and the others are deleted. A run that is killed leaves them,
and the same call goes on from there. (Killed, and not unplugged: notes may reach the disk before the rest.)
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

from convlab.errors import ParameterError, WorkspaceError
from convlab.support.checks import said
from convlab.support.files import write_atomically
from convlab.support.locks import alone
from convlab.support.units import bytes_text


class Unfinished:
    """Where a result lies until it is whole. While it is open no other run writes there.

    Parameters
    ----------
    path : Path
        The name that it gets.
    mark : str
        What tells this run from another one; empty if nothing does, and none can go on with what it wrote.

    Attributes
    ----------
    part : Path
        What is written; if it is of another run it is deleted.
    between : Path
        A folder for what lies between the layers; it is not there in the beginning.
    done, size : int
        Strips that are written, and the bytes of the part then, as an earlier run has noted.

    Raises
    ------
    ParameterError
        If nothing can be written there, or another run is at it.
    """

    def __init__(self, path: Path, mark: str) -> None:
        self.path, self.mark = path, mark
        self.part = path.with_name(path.name + ".part")
        self._notes = path.with_name(path.name + ".part.json")
        self.between = path.with_name(path.name + ".part.between")
        try:
            lift = alone(path.with_name(path.name + ".part.lock"))
        except OSError as error:
            raise ParameterError(
                f"target={said(str(path), 300)} cannot be written: {error.strerror}"
            ) from error
        if lift is None:
            raise ParameterError(
                f"target={said(str(path), 300)} is being written by another run; wait for it"
            )
        self._lift = lift
        delete(self.between)
        self.done = self.size = 0
        with suppress(OSError, ValueError, KeyError, TypeError):
            notes = json.loads(self._notes.read_text(encoding="utf-8"))
            if mark and notes["run"] == mark and self.part.exists():
                self.done, self.size = int(notes["strips"]), int(notes["bytes"])
        if not self.done:
            self.forget()

    def forget(self) -> None:
        """Delete what an earlier run has left."""
        self.done = self.size = 0
        with suppress(OSError):
            self._notes.unlink()
        delete(self.part)

    def note(self, done: int, size: int) -> None:
        """Note how many strips are written, and how many bytes the part has now."""
        if self.mark:
            self.done = done
            with suppress(OSError):  # then the next run goes on from an earlier strip
                text = json.dumps({"run": self.mark, "strips": done, "bytes": size})
                write_atomically(self._notes, text)

    def finish(self) -> Path:
        """Give the part its name; what had that before is gone."""
        if self.part.is_dir():
            delete(self.path)  # a folder takes no other one's place
        os.replace(self.part, self.path)
        return self.path

    def close(self) -> None:
        """Let others write there; and delete what no run can go on with."""
        delete(self.between)
        if not self.done or not self.part.exists():
            self.forget()
        self._lift()

    def full(self, error: OSError, row: int, picture: int) -> WorkspaceError:
        """Return the error for a disk that took no more."""
        then = "what is written stays, and the same call goes on from there when there is room"
        return WorkspaceError(
            f"{self.part}: {error.strerror or error} at row {row} of picture {picture}; "
            f"{then if self.mark else 'what was written is deleted'}"
        )


def delete(path: Path) -> None:
    """Delete a file, or a folder with all that is in it, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def check_room(folder: Path, needed: int, what: str) -> None:
    """Refuse to begin what its disk has no room for.

    Raises
    ------
    WorkspaceError
    """
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise WorkspaceError(
            f"{what} takes {bytes_text(needed)}, and {bytes_text(free)} are free on its disk"
        )
