"""Files: where the course's data lies, how one is read and written, and which may be written over."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from convlab.support.checked import checked

_PACKAGE = Path(__file__).resolve().parents[1]

_BEGINNING = 1 << 20  # bytes of a file that tell whose it is
_LEFT_BEHIND = 3600  # seconds: no draft takes so long to write; who began it was stopped


@checked
def data_path(*parts: str) -> Path:
    """Return the path of a file below `data/`, e.g. ``data_path("networks", "resnet18.csv")``.

    That is `data/` in a checkout, and inside the package in an installed wheel.
    """
    inside = _PACKAGE / "data"
    return (inside if inside.is_dir() else _PACKAGE.parent / "data").joinpath(*parts)


def read_text(path: Path) -> str:
    """Return the text of an ordinary file: to read a pipe or a device might never end.

    Raises
    ------
    OSError, UnicodeDecodeError
        If it cannot be read, or is no UTF-8.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "is no ordinary file", str(path))
    return path.read_text(encoding="utf-8")


def text_if_there(path: Path) -> str:
    """Return what a file of the system says; nothing if it is not there, or may not be read."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def why_kept(path: Path, is_ours: Callable[[str], bool]) -> str | None:
    """Return in words why a file may not be written over; None if it is not there, is empty, or is ours.

    Parameters
    ----------
    path : Path
        A link is judged by what it leads to.
    is_ours : callable
        Told the text that the file begins with, it says if we wrote it.
    """
    try:
        return _why_kept(path, is_ours)
    except OSError as error:  # its name is too long, or it lies where one may not look
        return f"cannot be there: {error.strerror}"


def _why_kept(path: Path, is_ours: Callable[[str], bool]) -> str | None:
    try:  # not by path.exists(): Python 3.14 answers False, too, where one may not look
        mode = path.stat().st_mode
    except OSError as error:
        if path.is_symlink():
            return "is a link that leads nowhere"
        if isinstance(error, (FileNotFoundError, NotADirectoryError)):
            return None
        raise
    if stat.S_ISDIR(mode):
        return "is a folder"
    if not stat.S_ISREG(mode):
        return "is no ordinary file"
    if not os.access(path, os.W_OK):
        return "is write-protected"
    try:
        with path.open("rb") as file:
            begin = file.read(_BEGINNING).decode("utf-8", errors="replace")
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if not begin or is_ours(begin):
        return None
    return f"holds something else: it begins with {begin[:40]!r}"


def write_atomically(path: Path, text: str) -> None:
    """Write a text file, exactly as it is given; one that is there is replaced in one step, or not at all.

    Raises
    ------
    OSError
        If the disk is full, or the folder is not there or cannot be written to.
    """
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to write to; that file takes the place of `path` in one step, or not at all.

    The name is new each time: two who write at once must not write the same draft.
    """
    _sweep(path)
    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
    try:
        yield draft
        os.replace(draft, path)
    finally:  # whatever ends it: a full disk, or the reader's Ctrl-C
        with suppress(OSError):
            draft.unlink()


def _sweep(path: Path) -> None:
    """Delete old drafts of a file: a process that is killed while it writes cannot."""
    with suppress(OSError):
        for name in os.listdir(path.parent):
            if re.fullmatch(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}\.part", name):
                old = path.with_name(name)
                if time.time() - old.stat().st_mtime > _LEFT_BEHIND:
                    old.unlink()
