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
    """Return the course's notebooks; it is an error if there are none: an installed wheel has no course."""
    folder = ROOT / "notebooks"
    found = numbered(folder)
    if not found:
        raise ParameterError(f"no notebooks in {folder}; expected a checkout of the course, with notebooks/")
    return found


def own_notebooks(work: Path) -> list[Path]:
    """Return the notebooks in the learner's folder: working copies, and any that the learner made."""
    found = sorted(path for path in work.glob("*.ipynb") if not path.name.startswith("."))
    if not found:
        raise ParameterError(f"no notebooks in {work}; expected your copies there: python3 lab.py makes them")
    return found


def find(name: str, notebooks: Iterable[Path]) -> Path:
    """Return the notebook that `name` means: "02", "2", "02_im2col" (or that file), "im2col" or "im2"."""
    notebooks = list(notebooks)
    wanted = Path(name).name.removesuffix(".ipynb")
    number = wanted.zfill(2) if wanted.isdecimal() else None
    by_name = [path for path in notebooks if path.stem == wanted]
    by_number = [path for path in notebooks if path.stem[:2] == number]
    by_title = [path for path in notebooks if path.stem.partition("_")[2] == wanted != ""]
    by_part = [path for path in notebooks if wanted and wanted in path.stem.partition("_")[2]]
    for matches in (by_name, by_number, by_title, by_part):
        if len(matches) == 1:
            return matches[0]
    have = ", ".join(path.stem for path in by_part or notebooks)
    raise ParameterError(f"notebook={name!r}; expected a number like 02 or one of: {have}")


def copy_notebooks(folder: Path, to: Path, but: Path | None = None) -> None:
    """Copy the course to a new folder: its notebooks and what lies beside them, but nobody's scratch.

    The folder `but` is left out, too.
    """

    def unwanted(inside: str, names: list[str]) -> set[str]:
        ours = {path.name for path in numbered(Path(inside))}
        return {
            name
            for name in names
            if name.startswith(".")
            or (name.endswith(".ipynb") and name not in ours)
            or (but and Path(inside, name).resolve() == but.resolve())
        }

    shutil.copytree(folder, to, ignore=unwanted)
