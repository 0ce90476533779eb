"""What a kernel sees as `cuda`."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np

from convlab.gpu.occupancy import WARP
from convlab.gpu.simulator.atomics import Atomics
from convlab.gpu.simulator.vector_clocks import BLOCK, DEVICE
from convlab.gpu.simulator.warp_names import WarpNames


class Cuda(WarpNames):
    """The names of `numba.cuda` that kernels use, for one launch."""

    warpsize = WARP

    def __init__(self, simulation):
        self._simulation = simulation
        self.blockDim, self.gridDim = simulation.block, simulation.grid
        self.shared = SimpleNamespace(array=self._shared_array)
        self.local = SimpleNamespace(array=self._local_array)
        self.const = SimpleNamespace(array_like=self._constant)
        self.atomic = Atomics(simulation)

    threadIdx = property(lambda self: self._simulation.lane.index)
    blockIdx = property(lambda self: self._simulation.block_index)
    laneid = property(lambda self: self._simulation.lane.number)

    def grid(self, ndim: int):
        """Return this thread's place in the whole grid."""
        place = [
            block * extent + thread
            for block, extent, thread in zip(self.blockIdx, self.blockDim, self.threadIdx, strict=True)
        ]
        return place[0] if ndim == 1 else tuple(place[:ndim])

    def gridsize(self, ndim: int):
        """Return the number of threads of the whole grid."""
        size = [blocks * extent for blocks, extent in zip(self.gridDim, self.blockDim, strict=True)]
        return size[0] if ndim == 1 else tuple(size[:ndim])

    def syncthreads(self):
        """Wait for all threads of the block."""
        self._simulation.barrier(True, sys._getframe(1).f_lasti)

    def syncthreads_count(self, predicate):
        """Wait for all threads of the block; return for how many the predicate was true."""
        return sum(map(bool, self._simulation.barrier(predicate, sys._getframe(1).f_lasti)))

    def syncthreads_and(self, predicate):
        """Wait for all threads of the block; return whether the predicate was true for all."""
        return int(all(self._simulation.barrier(predicate, sys._getframe(1).f_lasti)))

    def syncthreads_or(self, predicate):
        """Wait for all threads of the block; return whether the predicate was true for any."""
        return int(any(self._simulation.barrier(predicate, sys._getframe(1).f_lasti)))

    def threadfence(self):
        """Let what came before be seen by whoever sees what comes after; memory is in order here."""
        self._simulation.order.fence(DEVICE, BLOCK)

    def threadfence_block(self):
        """The same, for threads of this block alone."""
        self._simulation.order.fence(BLOCK)

    threadfence_system = threadfence

    def fma(self, a, b, c):
        """Return a * b + c, rounded once."""
        return type(c)(np.longdouble(a) * np.longdouble(b) + np.longdouble(c))

    def popc(self, value):
        """Return the number of bits that are set."""
        return int(value).bit_count()

    def clz(self, value):
        """Return the number of zeros before the first bit that is set, of 32."""
        return 32 - (int(value) & 0xFFFFFFFF).bit_length()

    def ffs(self, value):
        """Return 1 + the number of the lowest bit that is set; 0 if none is."""
        return (int(value) & -int(value)).bit_length()

    def selp(self, condition, a, b):
        """Return a where the condition is true, else b."""
        return a if condition else b

    def _shared_array(self, shape, dtype, alignment=None):
        return self._simulation.shared_array(shape, dtype, sys._getframe(1).f_lasti)

    def _local_array(self, shape, dtype, alignment=None):
        return self._simulation.local_array(shape, dtype, sys._getframe(1).f_lasti)

    def _constant(self, array):
        return self._simulation.constant(array, sys._getframe(1).f_lasti)

    def __getattr__(self, name):
        raise NotImplementedError(f"the lane simulator has no stand-in for cuda.{name}")
