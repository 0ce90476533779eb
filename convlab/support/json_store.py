"""A small file of JSON that many processes read and write: no update is lost, no bad file is fatal.

A writer holds a lock while it reads, changes and replaces the file; a reader needs none, for the file is
whole at any moment.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from convlab.support.files import read_text, write_atomically
from convlab.support.locks import locked

_MOST = 16 << 20  # bytes; a file of ours has some thousands


def read(path: Path) -> dict:
    """Return what a file holds; nothing if there is none.

    Raises
    ------
    OSError
        If it cannot be read, or is no ordinary file.
    ValueError
        If it is no file of ours; the message says why.
    """
    if not path.exists() and not path.is_symlink():
        return {}
    if (size := path.stat().st_size) > _MOST:
        raise ValueError(f"it has {size} bytes")
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no JSON that can be read: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"it holds a {type(content).__name__}")
    return content


def update(path: Path, change: Callable[[dict], None]) -> None:
    """Change what a file holds, with no other writer in between; a bad file is replaced.

    Raises
    ------
    OSError
        If the file that is there cannot be read, or the new one cannot be written.
    """
    with locked(path.with_name(f".{path.name}.lock")):
        try:
            content = read(path)
        except ValueError:
            content = {}
        for base in (content, {}):
            change(base)
            with suppress(RecursionError):  # it was just shallow enough to be read
                write_atomically(path, json.dumps(base, indent=1))
                return
