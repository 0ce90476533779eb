"""The shared memory of a block: arrays whose size the source says, and one whose size the launch says."""

from __future__ import annotations

import numpy as np

from convlab.gpu.occupancy import MOST_SHARED
from convlab.gpu.simulator import errors
from convlab.gpu.simulator.arrays import Watched
from convlab.gpu.simulator.memory import EMPTY
from convlab.gpu.simulator.values import as_dtype

ALIGNMENT = 16


class SharedMemory:
    """The shared memory of the block that runs now.

    ``cuda.shared.array(shape, dtype)`` is one array for each place in the source. With shape 0 it is the
    dynamic memory, `dynamic_bytes` in all: every such array begins at its first byte, whatever its type.
    """

    def __init__(self, machine, dynamic_bytes: int):
        self._machine, self._dynamic_bytes = machine, dynamic_bytes
        self._bytes = np.zeros(MOST_SHARED, np.uint8)
        self._states = bytearray(MOST_SHARED)
        self._arrays: dict[tuple, Watched] = {}
        self._dynamic = 0
        self._end = dynamic_bytes

    def begin(self) -> None:
        """Begin a block: nothing is written yet."""
        self._bytes[: self._end] = 0xFF  # NaN, in every floating-point type
        self._states[: self._end] = bytes([EMPTY]) * self._end

    def array(self, shape, dtype, instruction: int, name: str) -> Watched:
        """Return the array made at an instruction of the function that runs now."""
        key = (self._machine.path.code.co_filename, self._machine.path.code.co_firstlineno, instruction)
        if key not in self._arrays:
            self._arrays[key] = self._made(shape, as_dtype(dtype), name)
        return self._arrays[key]

    def _made(self, shape, dtype, name):
        shape = shape if isinstance(shape, tuple) else (shape,)
        size = int(np.prod(shape)) * dtype.itemsize
        if size == 0:
            start, shape = 0, (self._dynamic_bytes // dtype.itemsize,)
            size = shape[0] * dtype.itemsize
        else:
            start = -(-self._end // ALIGNMENT) * ALIGNMENT
            self._end = start + size
        if self._end > MOST_SHARED:
            text = (
                f"with {name} the block takes {self._end} bytes of shared memory; it can have {MOST_SHARED}"
            )
            self._machine.stop(errors.MEMORY, text, name)
        numbers = self._bytes[start : start + size].view(dtype).reshape(shape)
        numbers.view(np.uint8)[...] = 0xFF
        self._machine.memory.look_at(0, start, dtype.itemsize)
        states = memoryview(self._states)[start : start + size]
        return Watched(self._machine, numbers, name, "shared", start, 0, states)
