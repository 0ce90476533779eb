"""Put a finished book in the place of the old one, and touch nothing that is not a book of ours."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from convlab.site.errors import UsageError

# Every book carries this file, so that a later build knows which folder it may replace.
MARKER = ".convlab-book"


def check_out(out: Path) -> None:
    """Refuse an output folder that a book may not take."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UsageError(f"--out {out} is not a folder; name a new or an empty one")
    if out.is_dir() and any(out.iterdir()) and not (out / MARKER).is_file():
        raise UsageError(f"--out {out} holds other files; name a new or an empty folder, or an older book")
    parent = next(folder for folder in out.resolve().parents if folder.exists())
    if not parent.is_dir():
        raise UsageError(f"--out {out} cannot be made: {parent} is not a folder")


def publish(book: Path, out: Path) -> None:
    """Move the folder `book` to `out`, replacing an older book there in one step."""
    (book / MARKER).write_text("Built by convlab; the next build replaces this folder.\n", encoding="utf-8")
    out = out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    # First copy it next to its place (the scratch folder may be on another disk), then rename: a rename
    # is quick and cannot end half-way.
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as beside:
        fresh, old = Path(beside, "new"), Path(beside, "old")
        shutil.move(book, fresh)
        if out.exists():
            out.rename(old)
        fresh.rename(out)
