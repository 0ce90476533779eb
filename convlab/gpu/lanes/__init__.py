"""The lane simulator: runs the source of a real kernel, every thread of it, and watches its memory."""

from __future__ import annotations

import numpy as np

from convlab.errors import ConvError


class KernelError(ConvError):
    """A kernel did what no kernel may: a race, an access out of bounds, a barrier not all threads reach."""


def poisoned(shape, dtype):
    """Return an array of NaN, or of zeros where the type has none."""
    dtype = np.dtype(dtype)
    return np.full(shape, np.nan if dtype.kind == "f" else 0, dtype)


class Trace:
    """What a launch asked of the memory, and what it did wrong."""

    def __init__(self, simulator):
        self.simulator = simulator

    def sites(self) -> list[dict]:
        """Return one record for each place in the source that touches memory."""
        return self.simulator.sites()

    def check(self) -> None:
        """Raise if the kernel did anything wrong."""
        if self.simulator.races or self.simulator.warn:
            raise KernelError(f"{dict(self.simulator.races)} {dict(self.simulator.warn)}")


def run(kernel, grid, block, *arguments, blocks=None, traced: bool = True) -> Trace:
    """Run a kernel on NumPy arrays, one lane after the other.

    Parameters
    ----------
    kernel
        As `cuda.jit` made it.
    grid, block : int or tuple of int
    *arguments
        Arrays and numbers.
    blocks : set of (int, int, int), optional
        The blocks to trace; by default all.
    traced : bool
        False: only run it and look for mistakes, which is twice as quick.
    """
    from convlab.gpu.lanes.simulator import LaneSim

    simulator = LaneSim(kernel, grid, block, trace=traced, blocks=blocks)
    simulator(*arguments)
    return Trace(simulator)
