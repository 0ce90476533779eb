"""Where a home folder cannot be written to, the learner's folder plays its part.

Jupyter, IPython, Matplotlib and Numba keep things at home, and some of them end in a traceback where they
cannot: in a container that runs as a user without a home, or where the disk of all homes is full.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

INSTEAD = ".home"  # in the learner's folder
# What names another place for each, and what that is called in there.
PLACES = {
    "JUPYTER_CONFIG_DIR": "jupyter/config",
    "JUPYTER_DATA_DIR": "jupyter/data",
    "JUPYTER_RUNTIME_DIR": "jupyter/runtime",
    "IPYTHONDIR": "ipython",
    "MPLCONFIGDIR": "matplotlib",
    "NUMBA_CACHE_DIR": "numba",
    "CONVLAB_CACHE_DIR": "convlab",
}


def settle(folder: Path) -> None:
    """Let all that is started from here keep its things in `folder`, if it cannot at home.

    Who has named a place for some of it is right.
    """
    if _can_be_written_to(_home()):
        return
    instead = folder.absolute() / INSTEAD
    instead.mkdir(mode=0o700, exist_ok=True)  # Jupyter's secrets go there
    for variable, place in PLACES.items():
        if not os.environ.get(variable):
            there = instead / place
            there.mkdir(parents=True, exist_ok=True)
            os.environ[variable] = str(there)


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # this user has none
        return Path(os.devnull)


def _can_be_written_to(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):  # the only sure test: rights and read-only disks differ
            return True
    except OSError:
        return False
