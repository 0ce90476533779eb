"""Eight small kernels that ask for the same things in different ways: what the microscope opens with.

Each is one warp's work, 32 threads, so that every request of it can be looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from convlab.gpu import simulator
from convlab.gpu.numba_cuda import cuda, float32
from convlab.gpu.occupancy import WARP
from convlab.gpu.ptx import load4, store4
from convlab.support.checked import Count, checked


@cuda.jit
def side_by_side(x, y):
    lane = cuda.threadIdx.x
    for row in range(4):
        y[row, lane] = x[row, lane]


@cuda.jit
def shifted(x, y):
    lane = cuda.threadIdx.x
    for row in range(4):
        y[row, lane] = x[row, lane + 1]


@cuda.jit
def one_for_all(x, y):
    lane = cuda.threadIdx.x
    for row in range(4):
        y[row, lane] = x[row, row]


@cuda.jit
def every_other(x, y):
    lane = cuda.threadIdx.x
    for row in range(4):
        y[row, lane] = x[row, 2 * lane]


@cuda.jit
def four_at_once(x, y):
    lane = cuda.threadIdx.x
    for row in range(4):
        a, b, c, d = load4(x, (row, 4 * lane))
        store4(y, (row, 4 * lane), a, b, c, d)


@cuda.jit
def turned(x, y):
    lane = cuda.threadIdx.x
    for row in range(32):
        y[row, lane] = x[lane, row]


@checked
def turned_in_shared(width: Count):
    """Return a kernel that turns a picture around in shared memory, in a tile `width` numbers wide."""

    @cuda.jit
    def turned_in_shared(x, y):
        tile = cuda.shared.array((32, width), float32)
        lane = cuda.threadIdx.x
        for row in range(32):
            tile[row, lane] = x[row, lane]
        cuda.syncthreads()
        for row in range(32):
            y[row, lane] = tile[lane, row]

    return turned_in_shared


@dataclass(frozen=True)
class AccessPattern:
    """A kernel of this file, and the pictures it is run on.

    Attributes
    ----------
    name : str
    kernel : callable
        Reads x and writes y, both of two axes and float32.
    x, y : (int, int)
        Their shapes.
    answer : callable
        ``answer(x)`` is what y must be.
    """

    name: str
    kernel: Callable
    x: tuple[int, int]
    y: tuple[int, int]
    answer: Callable

    def pictures(self) -> tuple[np.ndarray, np.ndarray]:
        """Return x, whose numbers count upwards, and y, not written yet."""
        x = np.arange(self.x[0] * self.x[1], dtype=np.float32).reshape(self.x)
        return x, simulator.poisoned(self.y, np.float32)

    def trace(self) -> simulator.Trace:
        """Run it in the lane simulator, and return what it asked of the memory."""
        return simulator.run(self.kernel, 1, WARP, *self.pictures())


ACCESS_PATTERNS = (
    AccessPattern("side by side", side_by_side, (4, 32), (4, 32), lambda x: x),
    AccessPattern("shifted by one", shifted, (4, 64), (4, 32), lambda x: x[:, 1:33]),
    AccessPattern("one for all", one_for_all, (4, 32), (4, 32), lambda x: np.diag(x)[:, None].repeat(32, 1)),
    AccessPattern("every other one", every_other, (4, 64), (4, 32), lambda x: x[:, ::2]),
    AccessPattern("four at once", four_at_once, (4, 128), (4, 128), lambda x: x),
    AccessPattern("turned around", turned, (32, 32), (32, 32), lambda x: x.T),
    AccessPattern("turned in shared memory", turned_in_shared(32), (32, 32), (32, 32), lambda x: x.T),
    AccessPattern("turned in shared memory, padded", turned_in_shared(33), (32, 32), (32, 32), lambda x: x.T),
)
