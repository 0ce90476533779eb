"""Files: where the course's data lies, and how a file is written so that it is whole at any moment."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent

_LEFT_BEHIND = 3600  # seconds: no draft takes so long to write; who began it was stopped


def data_path(*parts: str) -> Path:
    """Return the path of a file below `data/`, e.g. ``data_path("networks", "resnet18.csv")``.

    That is `data/` in a checkout, and inside the package in an installed wheel.
    """
    inside = _PACKAGE / "data"
    return (inside if inside.is_dir() else _PACKAGE.parent / "data").joinpath(*parts)


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
            if name.startswith(f".{path.name}.") and name.endswith(".part"):
                old = path.with_name(name)
                if time.time() - old.stat().st_mtime > _LEFT_BEHIND:
                    old.unlink()
