"""The shared memory of a block: arrays whose size the source says, and one whose size the launch says."""

from __future__ import annotations

import numpy as np

from convlab.gpu.occupancy import MOST_SHARED
from convlab.gpu.simulator import errors
from convlab.gpu.simulator.casts import as_dtype
from convlab.gpu.simulator.global_memory import EMPTY
from convlab.gpu.simulator.traced_arrays import TracedArray
from convlab.support.integers import round_up

ALIGNMENT = 16


class SharedMemory:
    """The shared memory of the block that runs now.

    ``cuda.shared.array(shape, dtype)`` is one array for each place in the source. With shape 0 it is the
    dynamic memory, `dynamic_bytes` in all: every such array begins at its first byte, whatever its type.
    """

    def __init__(self, simulation, dynamic_bytes: int):
        self._simulation, self._dynamic_bytes = simulation, dynamic_bytes
        self._bytes = np.zeros(MOST_SHARED, np.uint8)
        self._states = bytearray(MOST_SHARED)
        self._arrays: dict[tuple, TracedArray] = {}
        self._end = dynamic_bytes

    def begin(self) -> None:
        """Begin a block: nothing is written yet."""
        self._bytes[: self._end] = 0xFF  # NaN, in every floating-point type
        self._states[: self._end] = bytes([EMPTY]) * self._end

    def array(self, shape, dtype, instruction: int, name: str) -> TracedArray:
        """Return the array made at an instruction of the function that runs now."""
        key = (self._simulation.path.code.co_filename, self._simulation.path.code.co_firstlineno, instruction)
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
            start = round_up(self._end, ALIGNMENT)
            self._end = start + size
        if self._end > MOST_SHARED:
            text = (
                f"with {name} the block takes {self._end} bytes of shared memory; it can have {MOST_SHARED}"
            )
            self._simulation.stop(errors.MEMORY, text, name)
        numbers = self._bytes[start : start + size].view(dtype).reshape(shape)
        numbers.view(np.uint8)[...] = 0xFF
        self._simulation.memory.look_at(0, start, dtype.itemsize)
        states = memoryview(self._states)[start : start + size]
        return TracedArray(self._simulation, numbers, name, "shared", start, 0, states)
