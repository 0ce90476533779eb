"""Folders that are written to: where the learner's is, and what is refused before anything is done."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Callable
from pathlib import Path

from convlab.errors import ParameterError
from convlab.support.files import why_kept
from convlab.support.learners_folder import learners_folder
from convlab.workspace import notebooks

FROM_WHEEL = "convlab-work"  # what the learner's folder is called where there is no checkout


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


def usual_folder() -> Path:
    """Return the learner's folder, where --work names no other: ``work/`` in a checkout.

    From a wheel it is the one that we are in, or ``convlab-work/`` in the current folder.
    """
    if not notebooks.from_wheel():
        return notebooks.ROOT / "work"
    try:
        return learners_folder() or Path.cwd() / FROM_WHEEL
    except OSError as error:
        raise ParameterError(
            f"the current folder: {error.strerror}; expected one that is there, or a folder named by --work"
        ) from None


def mixed_up(work: Path) -> str | None:
    """Say which course is used, and which is not, where both a wheel and a checkout are at hand.

    Parameters
    ----------
    work : Path
        The learner's folder that is used.

    Returns
    -------
    str or None
        None where there is only one.
    """
    if notebooks.from_wheel():
        if checkout := _checkout_around():
            return (
                f"this is the course that is installed in {notebooks.PACKAGE}, not the checkout {checkout}; "
                f"that one is opened by: python3 {shlex.quote(str(checkout / 'lab.py'))}"
            )
        return None
    around = learners_folder()
    if around and around.resolve() != work.resolve():
        return (
            f"this is the course of the checkout {notebooks.ROOT}, on your folder {work}; you are in another "
            f"of yours: --work {shlex.quote(str(around))} opens that"
        )
    return None


def _checkout_around() -> Path | None:
    """Return the checkout of the course that the current folder lies in."""
    try:
        here = Path.cwd()
        parts = "lab.py", "convlab/__init__.py", "notebooks"
        return next((f for f in (here, *here.parents) if all((f / part).exists() for part in parts)), None)
    except OSError:  # the current folder was deleted, or one above may not be looked into
        return None


def work_folder(folder: Path | None = None) -> Path:
    """Return the folder of the working copies, by default the usual one; never one among the course's own."""
    folder, course = folder or usual_folder(), notebooks.course_folder()
    if _holds(folder, course) or _holds(course, folder):
        raise ParameterError(
            f"--work={str(folder)!r} is, holds or lies in the course's own {course}; expected another folder"
        )
    return writable(folder, "--work")


def _holds(outer: Path, inner: Path) -> bool:
    """Return whether `inner` is `outer` or lies somewhere in it, whatever the two are called."""
    try:
        inner = Path(os.path.realpath(inner))  # Path.resolve raises a RuntimeError for links in a circle
        return outer.exists() and any(
            folder.exists() and folder.samefile(outer) for folder in (inner, *inner.parents)
        )
    except OSError:  # too long a name, a folder one may not look into or that is gone: `writable` says so
        return False
