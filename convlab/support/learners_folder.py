"""The learner's folder, where their copies of the notebooks lie: how a notebook knows that it is in one."""

from __future__ import annotations

from pathlib import Path

RECORD = ".convlab.json"  # what was copied into it; the folder that has this file is the learner's


def learners_folder() -> Path | None:
    """Return the nearest folder around the working directory that is a learner's; None outside of one.

    A kernel starts in its notebook's folder. Tests, pages and the book run in others, without that file.
    """
    try:
        here = Path.cwd()
        return next((folder for folder in (here, *here.parents) if (folder / RECORD).is_file()), None)
    except OSError:  # the working directory was deleted
        return None
