"""Which files are the course: notebooks whose name starts with their number, such as 02_im2col.ipynb."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import convlab
from convlab.errors import ParameterError

ROOT = Path(convlab.__path__[0]).resolve().parent
# lab.py, which must work before anything is installed, has the same pattern; a test compares the two.
NUMBERED = "[0-9][0-9]_*.ipynb"


def numbered(folder: Path) -> list[Path]:
    """Return the notebooks of `folder` in the order they are read; a learner's Untitled.ipynb is none."""
    return sorted(folder.glob(NUMBERED))


def course_notebooks() -> list[Path]:
    """Return the course's notebooks.

    Raises
    ------
    ParameterError
        If there are none: an installed wheel carries the library, not the course.
    """
    folder = ROOT / "notebooks"
    found = numbered(folder)
    if not found:
        raise ParameterError(f"no notebooks in {folder}; expected a checkout of the course, with notebooks/")
    return found


def find(name: str, notebooks: Iterable[Path]) -> Path:
    """Return the notebook that `name` means: a number ("02" or "2"), a name or a file name.

    Raises
    ------
    ParameterError
        If no notebook, or more than one, goes by that name.
    """
    notebooks = list(notebooks)
    wanted = Path(name).name.removesuffix(".ipynb")
    number = wanted.zfill(2) if wanted.isdecimal() else None
    matches = [path for path in notebooks if path.stem == wanted or path.stem[:2] == number]
    if len(matches) != 1:
        have = ", ".join(path.stem for path in notebooks)
        raise ParameterError(f"notebook={name!r}; expected a number like 02 or one of: {have}")
    return matches[0]


def copy_notebooks(folder: Path, to: Path) -> None:
    """Copy the course to a new folder: its notebooks and what lies beside them, but nobody's scratch."""

    def unwanted(inside: str, names: list[str]) -> set[str]:
        ours = {path.name for path in numbered(Path(inside))}
        return {
            name for name in names if name.startswith(".") or (name.endswith(".ipynb") and name not in ours)
        }

    shutil.copytree(folder, to, ignore=unwanted)
