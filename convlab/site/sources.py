"""Which files are the course: notebooks whose name starts with their number, such as 02_im2col.ipynb."""

from __future__ import annotations

import shutil
from pathlib import Path

NUMBERED = "[0-9][0-9]_*.ipynb"


def numbered(folder: Path) -> list[Path]:
    """Return the notebooks of `folder` in the order they are read."""
    return sorted(folder.glob(NUMBERED))


def copy_notebooks(folder: Path, to: Path) -> None:
    """Copy the course to a new folder: its notebooks and what lies beside them, but nobody's scratch."""

    def unwanted(inside: str, names: list[str]) -> set[str]:
        ours = {path.name for path in numbered(Path(inside))}
        return {
            name for name in names if name.startswith(".") or (name.endswith(".ipynb") and name not in ours)
        }

    shutil.copytree(folder, to, ignore=unwanted)
