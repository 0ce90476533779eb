"""Arrays in global, shared and constant memory, as a kernel sees them.

Every access is looked at, and written down: it may be part of a request of the warp, or of a race.
"""

from __future__ import annotations

import sys
from math import prod
from operator import index as whole_number

import numpy as np

from convlab.errors import ArrayError
from convlab.gpu.simulator import errors
from convlab.gpu.simulator.casts import cast
from convlab.gpu.simulator.errors import element
from convlab.gpu.simulator.global_memory import COPYING, EMPTY, WRITTEN

WIDEST = 16  # bytes a thread can ask for in one request
_ONES = [bytes([WRITTEN]) * size for size in range(33)]


class TracedArray:
    """An array in memory that threads share, or a part of one.

    Parameters
    ----------
    simulation : Simulation
    array : numpy.ndarray
        Its numbers.
    name, space : str
        What the kernel calls it; "global", "shared" or "const".
    address, start : int
        Of its first element, and of the allocation it is in.
    states : buffer or None
        For every byte EMPTY, WRITTEN or COPYING; None: all are written.
    """

    def __init__(self, simulation, array, name, space, address, start, states=None):
        self.simulation, self.name, self.space = simulation, name, space
        self.dtype, self.itemsize, self.states = array.dtype, array.itemsize, states
        if any(stride < 0 or stride % array.itemsize for stride in array.strides):
            raise ArrayError(f"{name} has strides of {array.strides} bytes: give the kernel a copy of it")
        steps = [stride // array.itemsize for stride in array.strides]  # elements from one to the next
        span = 1 + sum((extent - 1) * step for extent, step in zip(array.shape, steps, strict=True))
        span = span if array.size else 0
        self.flat = np.lib.stride_tricks.as_strided(array, (span,), (array.itemsize,))
        self.whole, self.base, self.start, self.first = self, address, start, 0
        self._take_shape(list(zip(array.shape, steps, strict=True)))
        self._get = self.flat.item if array.dtype.kind in "uib" else self.flat.__getitem__
        self._cast = cast(array.dtype) if array.dtype.kind in "ui" else None
        self._record = simulation.log.numbers.extend
        self.ld, self.st = (simulation.log.access(kind, self, self.itemsize) for kind in ("ld", "st"))

    def _take_shape(self, axes):
        self.axes = axes  # (extent, step) of every axis
        self.shape = tuple(extent for extent, _ in axes)
        self.ndim, self.size = len(axes), prod(self.shape)
        self.end = self.first + 1 + sum((extent - 1) * step for extent, step in axes)
        # Elements of a row that lie side by side; -1: there are none; 0: the array has no rows.
        self.row = 0 if len(axes) < 2 else axes[-1][0] if axes[-1][1] == 1 else -1
        self._elements = _Elements(self)

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, as NumPy has it."""
        return tuple(step * self.itemsize for _, step in self.axes)

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, index):
        try:
            k = self._elements[index]
        except TypeError:
            return self._part(index)
        byte = k * self.itemsize
        self._record((self.simulation.path.number, sys._getframe(1).f_lasti, self.ld, self.base + byte))
        if self.states is not None and self.states[byte] != WRITTEN:
            self._unwritten(k, self.states[byte])
        return self._get(k)

    def __setitem__(self, index, value):
        try:
            k = self._elements[index]
        except TypeError as error:
            no_whole_number(self, index)
            raise TypeError(f"{self.name}: one element at a time is written, at whole numbers") from error
        byte = k * self.itemsize
        self._record((self.simulation.path.number, sys._getframe(1).f_lasti, self.st, self.base + byte))
        self.put(k, value)

    def put(self, k: int, value) -> None:
        """Let element k be `value`, unnoticed."""
        self.flat[k] = value if self._cast is None else self._cast(value)
        if self.states is not None:
            byte = k * self.itemsize
            self.states[byte : byte + self.itemsize] = _ONES[self.itemsize]

    def locate(self, index) -> int:
        """Return which element of `flat` an index means."""
        try:
            return self._elements[index]
        except TypeError as error:
            no_whole_number(self, index)
            raise TypeError(f"{self.name} has {self.ndim} axes; one element was meant by {index}") from error

    def load(self, index, count: int, instruction: int, kind: str = "ld") -> tuple:
        """Return `count` elements that lie side by side, read at once by the instruction that is said."""
        k = self.run(index, count, instruction, kind)
        if self.states is not None:
            for i in range(k, k + count):
                if self.states[i * self.itemsize] != WRITTEN:
                    self._unwritten(i, self.states[i * self.itemsize])
                    break
        return tuple(self.flat[k : k + count].tolist() if self._cast else self.flat[k : k + count])

    def store(self, index, values, instruction: int) -> None:
        """Write elements that lie side by side, at once."""
        k = self.run(index, len(values), instruction, "st")
        for i, value in enumerate(values):
            self.put(k + i, value)

    def run(self, index, count: int, instruction: int, kind: str) -> int:
        """Return the first of `count` elements side by side, having looked at and noted the access."""
        k = self.locate(index)
        if k + count > self.end:
            last = (*index[:-1], index[-1] + count - 1) if index.__class__ is tuple else (index + count - 1,)
            out_of_bounds(self, last)
        if self.row and count > 1 and index[-1] + count > self.row:
            self._leaves_row(index, count)
        size, address = count * self.itemsize, self.base + k * self.itemsize
        piece = min(size, WIDEST)
        if address % piece:
            text = f"{element(self.name, self.index(k))} begins at byte {address - self.whole.base}"
            text += f" of {self.name}; {piece} bytes at once must begin at a multiple of {piece}"
            self.simulation.stop(errors.MISALIGNED, text, self.name)
        for part in range(size // piece):
            access = self.simulation.log.access(kind, self.whole, piece, part)
            self._record((self.simulation.path.number, instruction, access, address + part * piece))
        return k

    def _leaves_row(self, index, count):
        """Say that elements that lie side by side in memory are not those of one row."""
        extent, step = self.axes[-1]
        name, axis = element(self.name, index), self.ndim - 1
        if step != 1:
            text = f"{count} elements from {name} on lie side by side in memory, but not along axis {axis} of"
            text += f" {self.name}, whose elements are {step} apart"
        else:
            text = f"{count} elements from {name} on go past the end of their row: axis {axis} of {self.name}"
            text += f" has {extent} elements, and the last {index[-1] + count - extent} are of another row"
        self.simulation.note(errors.ROW, text, self.name, index)

    def mark(self, k: int, count: int, state: int) -> None:
        """Say in which state elements are."""
        if self.states is not None:
            start, stop = k * self.itemsize, (k + count) * self.itemsize
            self.states[start:stop] = bytes([state]) * (stop - start)

    def index(self, k: int) -> tuple[int, ...]:
        """Return the index of element k of `flat` in the whole array."""
        axes = self.whole.axes
        found = [0] * len(axes)
        for axis in sorted(range(len(axes)), key=lambda axis: -axes[axis][1]):
            if axes[axis][1]:
                found[axis], k = divmod(k, axes[axis][1])
        return tuple(found)

    def _part(self, index):
        index = index if isinstance(index, tuple) else (index,)
        if len(index) > self.ndim:
            raise TypeError(f"{self.name} has {self.ndim} axes; {len(index)} indices were given")
        index += (slice(None),) * (self.ndim - len(index))
        no_whole_number(self, index)
        part, axes, first = object.__new__(TracedArray), [], self.first
        part.__dict__.update(self.__dict__)
        for i, (extent, step) in zip(index, self.axes, strict=True):
            if isinstance(i, slice):
                start, stop, stride = i.indices(extent)
                axes.append((len(range(start, stop, stride)), step * stride))
                first += start * step
            else:
                if not 0 <= i < extent:
                    out_of_bounds(self, index)
                first += i * step
        part.first = first
        part._take_shape(axes)
        return part

    def _unwritten(self, k, state):
        name = element(self.name, self.index(k))
        if state == COPYING:
            text = f"{name} is read while cp.async still copies to it: wait for the copy first"
            self.simulation.note(errors.PENDING, text, self.name, self.index(k))
        elif state == EMPTY:
            text = f"{name}, in {self.space} memory, is read before anything was written there"
            self.simulation.note(errors.UNWRITTEN, text, self.name, self.index(k))


class _Elements(dict):
    """Which element of `flat` an index means: worked out once for every index."""

    MOST = 1 << 18

    def __init__(self, array):
        self._array = array

    def __missing__(self, index):
        indices, axes = index if isinstance(index, tuple) else (index,), self._array.axes
        if len(indices) != len(axes):
            raise TypeError("this is no element, but a part of the array")
        k = self._array.first
        for i, (extent, step) in zip(map(whole_number, indices), axes, strict=True):
            if not 0 <= i < extent:
                out_of_bounds(self._array, indices)
            k += i * step
        if len(self) == self.MOST:
            self.clear()
        self[index] = k
        return k


def no_whole_number(array, index) -> None:
    """Stop if an index has a fraction, or might have one."""
    indices = index if isinstance(index, tuple) else (index,)
    ends = [end for i in indices for end in ((i.start, i.stop, i.step) if isinstance(i, slice) else (i,))]
    if any(isinstance(end, float | np.floating) for end in ends):
        text = f"{element(array.name, indices)}: an index is a whole number, and this is none"
        text += " (/ makes a float, even of 4 / 2; // does not)"
        array.simulation.stop(errors.FRACTION, text, array.name, indices)


def out_of_bounds(array, index) -> None:
    """Stop: an index is beyond its axis."""
    axis = next(a for a, i in enumerate(index) if not 0 <= i < array.shape[a])
    wrong, extent = index[axis], array.shape[axis]
    name = element(array.name, index)
    if wrong < 0:
        text = f"{name}: an index below zero (Numba would count it from the end)"
        array.simulation.watch.beyond(wrong)
        array.simulation.stop(errors.NEGATIVE, text, array.name, index)
    text = f"{name} is outside of {array.name}, whose axis {axis} has {extent} elements"
    for bits in (32, 64):
        if 1 << bits - 1 <= wrong < 1 << bits:
            text += f" ({wrong} is {wrong - (1 << bits)} as a uint{bits})"
            array.simulation.watch.beyond(wrong)
    array.simulation.stop(errors.BOUNDS, text, array.name, index)
