"""Arrays of a device, and a device that counts its bytes: all of them the lane simulator's."""

from contextlib import contextmanager

import numpy as np

from convlab.gpu.simulated_gpu import Simulator


class Held:
    """An array of the simulator as another library would show it: by CUDA's array interface alone."""

    def __init__(self, array, **changes):
        self.array, self.changes = array, changes

    @property
    def __cuda_array_interface__(self):
        facts = self.array.__array_interface__
        kept = {name: facts[name] for name in ("shape", "typestr", "data", "strides")}
        return {**kept, "version": 3, **self.changes}


def aligned(shape, dtype=np.float32, at=0):
    """Return zeros that begin `at` bytes after a multiple of 64."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 128, np.uint8)
    start = -memory.__array_interface__["data"][0] % 64 + at
    return memory[start : start + size].view(dtype).reshape(shape)


def held(values, **changes):
    array = aligned(values.shape, values.dtype)
    array[...] = values
    return Held(array, **changes)


class Counting(Simulator):
    """Counts the bytes that are asked for."""

    def __init__(self):
        super().__init__(traced=False)
        self.taken = 0

    def put(self, array):
        self.taken += array.nbytes
        return super().put(array)

    def empty(self, shape, dtype):
        array = super().empty(shape, dtype)
        self.taken += array.nbytes
        return array

    @contextmanager
    def counted(self):
        before, count = self.taken, {}
        yield count
        count["bytes"] = self.taken - before
