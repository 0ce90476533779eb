"""The memory a launch can reach: where arrays lie, and which of their bytes hold something.

Arrays of the host hold what was put there. An array made with `poisoned` holds nothing yet: it remembers,
byte by byte, what has been written since, whoever wrote it and through whichever view.
"""

from __future__ import annotations

from math import gcd

import numpy as np

from convlab.support.checks import check_dtype, check_shape
from convlab.support.integers import round_up

EMPTY, WRITTEN, COPYING = 0, 1, 2  # states of a byte; COPYING: cp.async has been told, and may not be done
ALIGNMENT = 512  # bytes; where the device begins an array
FIRST = 1 << 24  # global addresses begin here, shared ones at 0: no address means two things


class Unwritten(np.ndarray):
    """A NumPy array that knows which of its bytes were written."""

    def __array_finalize__(self, parent):
        self.written = getattr(parent, "written", None)

    def __setitem__(self, index, value):
        super().__setitem__(index, value)
        marks = self.marks()
        if marks is not None:
            marks[index] = bytes([WRITTEN]) * self.itemsize

    def marks(self) -> np.ndarray | None:
        """Return the states of the bytes, one item for an element; None if this is a copy, all written."""
        if self.written is None:
            return None
        whole, states = self.written
        start = _pointer(self) - _pointer(whole)
        if not 0 <= start < max(whole.nbytes, 1):
            return None
        return np.ndarray(self.shape, f"V{self.itemsize}", states, start, self.strides)


def poisoned(shape, dtype) -> np.ndarray:
    """Return an array that holds nothing: to read an element before it is written is a mistake.

    Should it be read all the same, it is NaN where the type has one, and otherwise a number far off.
    """
    shape, dtype = check_shape("shape", shape), np.dtype(check_dtype(dtype))
    whole = np.full(shape, np.nan if dtype.kind in "fc" else 0, dtype)
    if dtype.kind in "ui":
        whole.reshape(-1).view(np.uint8)[:] = 0xA5
    array = whole.view(Unwritten)
    array.written = (whole, np.zeros(whole.nbytes, np.uint8))
    return array


class GlobalMemory:
    """Where the arrays of one launch lie: every allocation at an address of its own.

    Attributes
    ----------
    sizes : dict of int to int
        Address of an allocation -> bytes.
    grains : dict of int to int
        Address of an allocation -> bytes: every element in it begins and ends at a multiple of so many.
    """

    def __init__(self):
        self._found: list[tuple[np.ndarray, int]] = []
        self.sizes: dict[int, int] = {}
        self.grains: dict[int, int] = {}
        self._end = FIRST

    @property
    def grain(self) -> int:
        """The grain of all allocations together."""
        return gcd(*self.grains.values())

    def place(self, array: np.ndarray) -> tuple[int, int]:
        """Return the address of an array's first element, and of the allocation it is a view of."""
        whole = array
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        first, size = _pointer(whole), _span(whole)
        inside = (  # by their bytes: a buffer may have several arrays over it
            (known, start)
            for known, start in self._found
            if 0 <= first - _pointer(known) <= _span(known) - max(size, 1)
        )
        known, start = next(inside, (whole, self._end))
        if start == self._end:
            self._found.append((known, start))
            self.sizes[start] = size
            self._end += round_up(size, ALIGNMENT) + ALIGNMENT
        address = start + _pointer(array) - _pointer(known)
        self.look_at(start, address, array.itemsize)
        return address, start

    def look_at(self, start: int, address: int, itemsize: int) -> None:
        """Take into account an array that is in an allocation."""
        self.grains[start] = gcd(self.grains.get(start, 0), address - start, itemsize)


def states(array: np.ndarray):
    """Return the states of an array's bytes from its first element on, or None if all are written."""
    if not isinstance(array, Unwritten) or array.marks() is None:
        return None
    whole, all_states = array.written
    return memoryview(all_states)[_pointer(array) - _pointer(whole) :]


def _span(array) -> int:
    """Return the bytes from an array's first to its last."""
    steps = sum((extent - 1) * stride for extent, stride in zip(array.shape, array.strides, strict=True))
    return steps + array.itemsize if array.size else 0


def _pointer(array) -> int:
    return array.__array_interface__["data"][0]
