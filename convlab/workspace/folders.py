"""Folders and files that the learner chooses to be written: refused before anything is done."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from convlab.errors import ParameterError
from convlab.support.files import why_kept
from convlab.workspace import notebooks


def writable(folder: Path, option: str) -> Path:
    """Return a folder that can be written to, made if it is not there, or say which `option` is wrong."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):  # the only sure test: rights and read-only disks differ
            pass
    except OSError as error:
        raise ParameterError(
            f"{option}={str(folder)!r}: {error.strerror}; expected a folder that can be written to"
        ) from None
    return folder


def replaceable(file: Path, option: str, is_ours: Callable[[str], bool], ours: str) -> Path:
    """Return where to write a file: a link is followed; the folder is made, if it is not there.

    Parameters
    ----------
    file : Path
    option : str
        Where it was chosen.
    is_ours : callable
        Of the text that a file begins with, says if we wrote it, so that it may be written over.
    ours : str
        What such a file is called.

    Raises
    ------
    ParameterError
        If something is there that is neither empty nor ours, or if the folder cannot be written to.
    """
    if reason := why_kept(file, is_ours):
        raise ParameterError(
            f"{option}={str(file)!r} {reason}; expected a file that is not there yet, or {ours} to write over"
        )
    if file.is_symlink():
        file = Path(os.path.realpath(file))
    return writable(file.parent, option) / file.name


def work_folder(folder: Path | None = None) -> Path:
    """Return the folder of the working copies, by default ``work/`` beside ``notebooks/``, never in it."""
    folder, course = folder or notebooks.ROOT / "work", notebooks.ROOT / "notebooks"
    if _holds(folder, course) or _holds(course, folder):
        raise ParameterError(
            f"--work={str(folder)!r} is, holds or lies in the course's own {course}; expected another folder"
        )
    return writable(folder, "--work")


def _holds(outer: Path, inner: Path) -> bool:
    """Return whether `inner` is `outer` or lies somewhere in it, whatever the two are called."""
    inner = inner.resolve()
    try:
        return outer.exists() and any(
            folder.exists() and folder.samefile(outer) for folder in (inner, *inner.parents)
        )
    except OSError:  # a name that is too long, a folder one may not look into: `writable` says so
        return False
