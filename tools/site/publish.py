"""Put a finished book in the place of the old one, and touch nothing that is not a book of ours."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from convlab.support.files import read_text
from tools.errors import BuildError, UsageError

# Every book carries this file, so that a later build knows which folder it may replace, and what is in it.
MARKER = ".convlab-book"
_BY_DESKTOPS = (".DS_Store", "Thumbs.db", "desktop.ini")  # put into a folder that was only looked at


def check_out(out: Path) -> None:
    """Refuse an output folder that a book may not take."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UsageError(f"--out {out} is not a folder; name a new or an empty one")
    if out.is_dir() and any(out.iterdir()):
        if not (out / MARKER).is_file():
            raise UsageError(
                f"--out {out} holds other files; name a new or an empty folder, or an older book"
            )
        if strange := _strange(out):
            raise UsageError(f"--out {out} holds {strange}, which no build put there; move it away first")
    parent = next(folder for folder in out.resolve().parents if folder.exists())
    if not parent.is_dir():
        raise UsageError(f"--out {out} cannot be made: {parent} is not a folder")
    try:
        with tempfile.TemporaryFile(dir=parent):
            pass
    except OSError as error:
        raise UsageError(f"--out {out} cannot be made: {parent}: {error.strerror}") from None


def _strange(book: Path) -> str | None:
    """Return a file in a book's folder that is not of the book; older books do not tell what is theirs."""
    try:
        listed = set(read_text(book / MARKER).splitlines()[1:])
    except (OSError, ValueError):
        return MARKER
    found = (name for name in _names(book) if name not in listed and Path(name).name not in _BY_DESKTOPS)
    return next(found, None) if listed else None


def _names(book: Path) -> list[str]:
    """Return the files of a folder, by their paths in it."""
    paths = (path for path in book.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(path.relative_to(book).as_posix() for path in paths)


def publish(book: Path, out: Path) -> None:
    """Move the folder `book` to `out`, replacing an older book there in one step."""
    lines = ["Built by convlab; the next build replaces this folder, which holds:", MARKER, *_names(book)]
    (book / MARKER).write_text("\n".join(lines) + "\n", encoding="utf-8")
    check_out(out)  # once more: something may have come while the book was made
    out = out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    # First copy it next to its place (the scratch folder may be on another disk), then rename: a rename
    # is quick and cannot end half-way.
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as beside:
        fresh, old = Path(beside, "new"), Path(beside, "old")
        shutil.move(book, fresh)
        if out.exists():
            out.rename(old)
        try:
            fresh.rename(out)
        except OSError as error:
            if old.exists():
                old.rename(out)
            raise BuildError(f"--out {out} cannot be written: {error.strerror}") from None
