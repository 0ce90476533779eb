"""Time on the device: events in its queue, the cache emptied, and the host far ahead.

    flush     a kernel writes more than L2 holds, so that nothing of before is in it
    wait      a kernel counts while the host puts all that follows into the queue: gaps between the kernels
              of one algorithm are then the device's own, not the time Python takes
    event     run     event

`StandIn` has the same words where there is no GPU: every step can be tried, and no time is known.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import nan

import numpy as np

from convlab.auto.timing import Timer, Timing
from convlab.benchmark.gpu import roof_kernels
from convlab.gpu.device import Gpu
from convlab.gpu.simulated_gpu import Simulator

UNTIMED = Timing(nan, nan, nan)
_LEAST_LEAD = 30e-6  # seconds that the host gets to fill the queue


class EventClock:
    """Times runs on the GPU of this machine.

    Attributes
    ----------
    device : Gpu
    simulated : bool
        False.
    """

    simulated = False

    def __init__(self):
        from convlab.gpu.numba_cuda import cuda

        self.device = Gpu()
        self._cuda = cuda
        cache = getattr(cuda.get_current_device(), "L2_CACHE_SIZE", 0) or (64 << 20)
        self._waste = self.device.empty(max(2 * cache, 64 << 20) // 4, np.float32)
        self._cell = self.device.put(np.ones(1, np.float32))
        self._events = cuda.event(timing=True), cuda.event(timing=True)
        self._wait(1000)  # compiles
        counts = 1_000_000
        self._counts_a_second = counts / min(self._between(lambda: self._wait(counts)) for _ in range(3))

    def timer(self, run: Callable[[], object]) -> Timer:
        """Return a function that calls `run` once untimed, once timed, and returns the device's seconds."""

        def seconds() -> float:
            self.finish()
            start = time.perf_counter()
            run()
            lead = max(2 * (time.perf_counter() - start), _LEAST_LEAD)
            fill(self.device, self._waste, 0.0)
            self._wait(int(lead * self._counts_a_second))
            return self._between(run)

        return seconds

    def finish(self) -> None:
        """Wait until the device has done all it was asked for."""
        self._cuda.synchronize()

    def is_alive(self) -> bool:
        """Say if the device still answers: after some errors of a kernel it does so in a new process only."""
        try:
            self._wait(1)
            self.finish()
        except Exception:  # whatever the driver says, it is lost
            return False
        return True

    def _wait(self, counts: int) -> None:
        self.device.launch(roof_kernels.wait(), 1, 1, self._cell, np.float32(0.5), counts)

    def _between(self, run) -> float:
        before, after = self._events
        before.record()
        run()
        after.record()
        after.synchronize()
        return self._cuda.event_elapsed_time(before, after) / 1000  # it gives milliseconds


class StandIn:
    """No clock at all, for trying a benchmark in the lane simulator: its times are never recorded."""

    simulated = True

    def __init__(self):
        self.device = Simulator(traced=False)

    def timer(self, run: Callable[[], object]) -> Timer:
        """Return a function that does nothing: what there is to see, the check of the output has seen."""
        return lambda: 1.0

    def finish(self) -> None:
        """Do nothing: the simulator is never behind."""

    def is_alive(self) -> bool:
        """Say yes."""
        return True


def fill(device, array, value: float) -> None:
    """Write one number to the whole of a device array."""
    flat = array.reshape(-1)
    blocks = -(-flat.size // roof_kernels.THREADS)
    device.launch(roof_kernels.fill(), blocks, roof_kernels.THREADS, flat, flat.dtype.type(value), flat.size)
