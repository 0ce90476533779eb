"""What a kernel sees as `cuda`: where a thread is, barriers, what a warp does together, atomic operations."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np

from convlab.gpu.occupancy import WARP
from convlab.gpu.simulator import errors
from convlab.gpu.simulator.kernel_source import dropped
from convlab.gpu.simulator.vector_clocks import BLOCK, DEVICE


class Cuda:
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

    # -- what the lanes of a warp do together; a mask has one bit for each lane that takes part --------------

    def syncwarp(self, mask=0xFFFFFFFF):
        """Wait for the lanes of the mask; what they wrote can be read by all of them."""
        self._simulation.meet(mask, None, sys._getframe(1).f_lasti, ordered=True)

    def shfl_sync(self, mask, value, lane):
        """Return another lane's value."""
        return self._from(mask, value, lane % WARP, sys._getframe(1).f_lasti)

    def shfl_up_sync(self, mask, value, delta):
        """Return the value of the lane `delta` below; one's own where there is none."""
        return self._from(mask, value, self._simulation.lane.number - delta, sys._getframe(1).f_lasti)

    def shfl_down_sync(self, mask, value, delta):
        """Return the value of the lane `delta` above; one's own where there is none."""
        return self._from(mask, value, self._simulation.lane.number + delta, sys._getframe(1).f_lasti)

    def shfl_xor_sync(self, mask, value, bits):
        """Return the value of the lane whose number differs in these bits."""
        return self._from(mask, value, self._simulation.lane.number ^ bits, sys._getframe(1).f_lasti)

    def ballot_sync(self, mask, predicate):
        """Return one bit for each lane: whether its predicate is true."""
        votes = self._simulation.meet(mask, predicate, sys._getframe(1).f_lasti)
        return sum(1 << lane for lane, vote in votes.items() if vote)

    def all_sync(self, mask, predicate):
        """Return whether the predicate is true in all lanes."""
        return all(self._simulation.meet(mask, predicate, sys._getframe(1).f_lasti).values())

    def any_sync(self, mask, predicate):
        """Return whether the predicate is true in any lane."""
        return any(self._simulation.meet(mask, predicate, sys._getframe(1).f_lasti).values())

    def eq_sync(self, mask, predicate):
        """Return whether the predicate is the same in all lanes."""
        votes = self._simulation.meet(mask, predicate, sys._getframe(1).f_lasti)
        return len(set(map(bool, votes.values()))) == 1

    def match_any_sync(self, mask, value):
        """Return one bit for each lane that has the same value."""
        values = self._simulation.meet(mask, value, sys._getframe(1).f_lasti)
        return sum(1 << lane for lane, other in values.items() if other == value)

    def activemask(self):
        """Return one bit for each lane that gets here together with this one."""
        return sum(1 << lane for lane in self._simulation.meet(None, None, sys._getframe(1).f_lasti))

    def lanemask_lt(self):
        """Return one bit for each lane below this one."""
        return (1 << self._simulation.lane.number) - 1

    def _from(self, mask, value, lane, instruction):
        values = self._simulation.meet(mask, value, instruction)
        if not 0 <= lane < WARP:
            return value
        if lane not in values:
            me = self._simulation.lane.number
            text = f"lane {me} asks for the value of lane {lane}, which takes no part"
            self._simulation.note(errors.DIVERGENT_WARP, text)
            return value
        return values[lane]

    # -- arithmetic ------------------------------------------------------------------------------------------

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

    # -- arrays ----------------------------------------------------------------------------------------------

    def _shared_array(self, shape, dtype, alignment=None):
        return self._simulation.shared_array(shape, dtype, sys._getframe(1).f_lasti)

    def _local_array(self, shape, dtype, alignment=None):
        return self._simulation.local_array(shape, dtype, sys._getframe(1).f_lasti)

    def _constant(self, array):
        return self._simulation.constant(array, sys._getframe(1).f_lasti)

    def __getattr__(self, name):
        raise NotImplementedError(f"the lane simulator has no stand-in for cuda.{name}")


def _operation(change, doc):
    def operation(self, array, index, value):
        return self._replace(array, index, lambda old: change(old, value), sys._getframe(1).f_lasti)

    operation.__doc__ = f"Let array[index] be {doc}; return what it was."
    return operation


class Atomics:
    """What a kernel sees as `cuda.atomic`: read, change, write back, while no other thread comes between."""

    def __init__(self, simulation):
        self._simulation = simulation

    add = _operation(lambda old, value: old + value, "itself + value")
    sub = _operation(lambda old, value: old - value, "itself - value")
    max = _operation(max, "the larger of itself and value")
    min = _operation(min, "the smaller of itself and value")
    exch = _operation(lambda old, value: value, "value")
    and_ = _operation(lambda old, value: old & value, "itself & value")
    or_ = _operation(lambda old, value: old | value, "itself | value")
    xor = _operation(lambda old, value: old ^ value, "itself ^ value")
    inc = _operation(lambda old, value: old + 1 if old < value else 0, "itself + 1, 0 after value")
    dec = _operation(lambda old, value: old - 1 if 0 < old <= value else value, "itself - 1, value after 0")

    def cas(self, array, index, expected, value):
        """Let array[index] be `value` if it is `expected`; return what it was."""
        change = lambda old: value if old == expected else old  # noqa: E731
        return self._replace(array, index, change, sys._getframe(1).f_lasti)

    def compare_and_swap(self, array, expected, value):
        """Let array[0] be `value` if it is `expected`; return what it was."""
        change = lambda old: value if old == expected else old  # noqa: E731
        return self._replace(array, 0, change, sys._getframe(1).f_lasti)

    def _replace(self, array, index, change, instruction):
        [old] = array.load(index, 1, instruction, "atomic")
        k = array.locate(index)
        array.put(k, change(old))
        looked_at = not dropped(self._simulation.path.code, instruction)
        self._simulation.order.atomic(array.base + k * array.itemsize, looked_at)
        return old
