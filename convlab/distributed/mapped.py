"""An array that is mapped from a file: which file, and where in it the array lies.

Every byte of a mapping that was touched counts as memory of the process that touched it. Who knows the file
can read and write it there.
"""

from __future__ import annotations

from mmap import mmap
from pathlib import Path
from typing import NamedTuple

import numpy as np

from convlab.errors import ArrayError

MAPPINGS = Path("/proc/self/maps")  # Linux only; Windows lets nobody replace a file that is mapped


class Mapped(NamedTuple):
    """Where an array (N, H, W, C) lies.

    Attributes
    ----------
    path : Path
    offset : int
        Bytes before its first number.
    strides : (int, int)
        Bytes from a picture to the next, and from a row to the next.
    """

    path: Path
    offset: int
    strides: tuple[int, int]


def mapped(name: str, array: np.ndarray) -> Mapped | None:
    """Return where an array lies, if it is mapped from a file; a part of such an array is one, too.

    A mapping whose changes stay in memory (mode "c") is memory, and so is one whose file has no name, or is
    no longer found by it.

    Raises
    ------
    ArrayError
        If its rows do not lie one by one.
    """
    whole = array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    if not isinstance(whole, np.memmap) or not isinstance(whole.base, mmap) or array.ndim != 4:
        return None
    if whole.filename is None or whole.mode == "c":
        return None
    path, start = Path(whole.filename).resolve(), whole.__array_interface__["data"][0]
    if not _is_mapped(path, start):
        return None
    if array.size and not array[0, 0].flags.c_contiguous:
        raise ArrayError(
            f"{name} is mapped from {whole.filename}, and its pixels do not lie row by row; expected a "
            "C-contiguous array, or some rows and columns of one"
        )
    if whole.mode != "r":
        whole.flush()  # what was changed in memory is in the file from now on
    before = array.__array_interface__["data"][0] - start
    return Mapped(path, whole.offset + before, array.strides[:2])


def _is_mapped(path: Path, address: int) -> bool:
    """Say if a file is the one that is mapped to an address: another one may have taken its name.

    Linux tells under which name a mapped file is found now. Where no system tells, one of the name will do.
    """
    if not MAPPINGS.exists():
        return path.exists()
    with MAPPINGS.open(errors="surrogateescape") as lines:
        for line in lines:  # START-END MODE OFFSET DEVICE INODE NAME
            start, end = (int(one, 16) for one in line.split(maxsplit=1)[0].split("-"))
            if start <= address < end:
                return line.rstrip("\n").split(maxsplit=5)[-1] == str(path)
    return False
