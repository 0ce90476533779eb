"""Which files are the course: notebooks whose name starts with their number, such as 02_im2col.ipynb.

They lie in ``notebooks/``: in a checkout beside the library, in an installed wheel inside of it.
"""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

import convlab
from convlab.errors import ParameterError
from convlab.support.files import data_path
from convlab.support.install import course_command

PACKAGE = Path(convlab.__path__[0]).resolve()
ROOT = data_path().parent  # of the course: a checkout, or the package that came as a wheel
# lab.py, which must work before anything is installed, has the same pattern; a test compares the two.
NUMBERED = "[0-9][0-9]_*.ipynb"


def numbered(folder: Path) -> list[Path]:
    """Return the notebooks of `folder` in the order they are read; a learner's Untitled.ipynb is none."""
    return sorted(folder.glob(NUMBERED))


def course_folder() -> Path:
    """Return where the course's notebooks lie."""
    return ROOT / "notebooks"


def from_wheel() -> bool:
    """Return whether this course was installed, and is no checkout."""
    return ROOT == PACKAGE


def course_notebooks() -> list[Path]:
    """Return the course's notebooks; it is an error if there are none."""
    folder = course_folder()
    found = numbered(folder)
    if not found:
        raise ParameterError(
            f"no notebooks in {folder}; expected the whole course: a checkout, or convlab installed anew"
        )
    return found


def own_notebooks(work: Path) -> list[Path]:
    """Return the notebooks in the learner's folder: working copies, and any that the learner made."""
    found = sorted(path for path in work.glob("*.ipynb") if not path.name.startswith("."))
    if not found:
        makes = course_command("")
        raise ParameterError(f"no notebooks in {work}; expected your copies there: {makes} makes them")
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
    if several := by_number or by_part:
        names = ", ".join(path.stem for path in several)
        raise ParameterError(f"notebook={name!r} means more than one; expected one of: {names}")
    have = ", ".join(path.stem for path in notebooks)
    raise ParameterError(f"notebook={name!r}; expected a number like 02 or one of: {have}")


def copy_notebooks(folder: Path, to: Path, but: Path | None = None) -> None:
    """Copy the course to a new folder: its notebooks and what lies beside them, but nobody's scratch.

    The folder `but` is left out, too. All of the copy can be written to, also where the course cannot.
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
    for path in (to, *to.rglob("*")):
        path.chmod(path.stat().st_mode | stat.S_IWUSR)
