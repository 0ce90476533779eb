"""The learner's own copies of the notebooks: made, kept up to date, and never overwritten once changed.

The course's notebooks lie in ``notebooks/``; the learner works in a folder of their own, see `folders`. What
was copied is remembered there, in ``.convlab.json``, as a digest of each notebook's cells. Running a notebook
only adds outputs, so a notebook that was merely run still counts as untouched; typing in a cell makes it the
learner's.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from convlab.errors import ParameterError
from convlab.support.files import read_text, replacing, write_atomically
from convlab.support.learners_folder import RECORD

KEPT = "keep_output"  # the tag of the cell whose picture is there before anything is run


@dataclass(frozen=True)
class Copy:
    """What became of one notebook's working copy.

    Attributes
    ----------
    path : Path
        The working copy.
    state : str
        "new" (copied now), "current" (as in the course), "updated" (replaced by the course's newer one),
        "yours" (the learner changed it) or "behind" (the learner changed it, and so did the course).
    """

    path: Path
    state: str


def update(notebooks: Iterable[Path], work: Path) -> list[Copy]:
    """Copy new notebooks into `work`, bring untouched ones up to date, leave changed ones alone."""
    record = _read_record(work)
    copies = []
    for source in notebooks:
        target = work / source.name
        state, record[source.name] = _compare(source, target, record.get(source.name))
        if state == "updated" and has_outputs(target):
            _copy(target, free_name(work / "earlier" / source.name))
        if state in ("new", "updated"):
            _copy(source, target)
        copies.append(Copy(target, state))
    _write_record(work, record)
    return copies


def fresh(source: Path, work: Path) -> Copy:
    """Return a copy of the notebook as the course has it, beside the learner's own if that was changed."""
    copy = update([source], work)[0]
    if copy.state not in ("yours", "behind"):
        return copy
    course = digest(source)
    name = free_name(work / f"{source.stem}_fresh.ipynb", lambda there: digest(there) == course)
    if not name.exists():
        _copy(source, name)
    # From now on the learner has seen this version: the next start need not speak of it again.
    _write_record(work, _read_record(work) | {source.name: digest(source)})
    return Copy(name, "new")


def digest(path: Path) -> str | None:
    """Return a digest of what a person writes in a notebook (cells, pasted pictures); None if unreadable."""
    try:
        cells = json.loads(read_text(path))["cells"]
        written = [
            (cell["cell_type"], "".join(cell["source"]), sorted(cell.get("attachments", {}).items()))
            for cell in cells
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return hashlib.sha256(json.dumps(written).encode()).hexdigest()


def has_outputs(path: Path) -> bool:
    """Return whether the notebook was run and saved; the picture that it opens with says nothing of that."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return any(
        cell.get("execution_count")
        or (cell.get("outputs") and KEPT not in cell.get("metadata", {}).get("tags", ()))
        for cell in cells
    )


def free_name(path: Path, serves: Callable[[Path], bool] = lambda there: False) -> Path:
    """Return `path`, or the first of name_2, name_3 ... that is not taken, or serves; its folder is made."""
    with _told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    name, number = path, 1
    while name.exists() and not serves(name):
        number += 1
        name = path.with_stem(f"{path.stem}_{number}")
    return name


def _compare(source: Path, target: Path, recorded: str | None) -> tuple[str, str | None]:
    """Return the state of one working copy, and the digest to remember for it."""
    course = digest(source)
    if not target.exists():
        return "new", course
    mine = digest(target)
    if mine == course:
        return "current", course
    if mine is not None and mine == recorded:
        return "updated", course
    return ("yours" if recorded == course else "behind"), recorded


def _copy(source: Path, target: Path) -> None:
    """Copy a notebook's text, not its rights: a read-only course must not make read-only copies."""
    with _told(target), replacing(target) as draft:
        shutil.copyfile(source, draft)


@contextmanager
def _told(target: Path) -> Iterator[None]:
    """Say in words that a file could not be written: a full disk, or a folder in its place."""
    try:
        yield
    except OSError as error:
        raise ParameterError(
            f"{str(target)!r} cannot be written: {error.strerror or error}; "
            "make room there, or choose another folder with --work"
        ) from None


def _read_record(work: Path) -> dict[str, str | None]:
    try:
        record = json.loads(read_text(work / RECORD))
    except (OSError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _write_record(work: Path, record: dict[str, str | None]) -> None:
    with _told(work / RECORD):
        write_atomically(work / RECORD, json.dumps(record, indent=1, sort_keys=True) + "\n")
