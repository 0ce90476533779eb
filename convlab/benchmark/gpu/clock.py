"""Clocks for a GPU: events in its queue, the cache emptied, and the host far ahead.

    sweep     a kernel reads more than L2 holds, so that nothing of before is in it
    wait      a kernel counts while the host puts all that follows into the queue: gaps between the kernels
              of one algorithm are then the device's own, not the time Python takes
    event     run     event

`StandIn` has the same words where there is no GPU: every step can be tried, and no time is known.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from convlab.algorithms import Algorithm
from convlab.api import plan
from convlab.auto.timing import Timer
from convlab.benchmark.gpu.kernels import THREADS, sweep, wait
from convlab.benchmark.gpu.ladders import on_a_gpu
from convlab.gpu.device import Gpu, using
from convlab.gpu.fill import fill
from convlab.gpu.numba_cuda import cuda
from convlab.gpu.simulated_gpu import Simulator
from convlab.oracle import reference_at, tolerance
from convlab.problem import ConvProblem

PIXELS = 2048  # of an output are held against the reference, and all of it against "was not written"
LEAST_WASTE = 64 << 20  # bytes that are read into the cache, however small it is
_LEAST_LEAD = 30e-6  # seconds that the host gets to fill the queue
_MOST_LEAD = 0.1  # a call that took the host longer did so for a reason of its own


class DeviceClock:
    """What every clock of a device offers a `Comparison`; for the words see `comparison.WallClock`.

    All candidates read the same random x where it lies on the device. Ours write into an output that is
    there already; PyTorch takes its own from a pool, which costs the device nothing.
    """

    cache, threads = "flushed", 1
    l2_bytes: int | None = None  # of the device's L2 cache, if that is told

    def algorithms(self) -> dict[str, Algorithm]:
        """Return every algorithm that has a form for the GPU, those on tensor cores included."""
        return on_a_gpu()

    def sample(self, problem: ConvProblem):
        """Return x, w, what is expected at some pixels, how far it may be off, and these pixels."""
        rng, w = np.random.default_rng(0), self.weights(problem)
        x = rng.standard_normal(problem.x_shape, np.float32)
        pixels = some_pixels(problem.y_shape[:3], rng)
        return x, w, reference_at(x, w, problem, pixels), tolerance(x, w, problem), pixels

    def weights(self, problem: ConvProblem) -> np.ndarray:
        """Return the w of `sample`, the same in every process: some kernels are compiled for its numbers."""
        return np.random.default_rng(1).standard_normal(problem.w_shape, np.float32)

    def put(self, x: np.ndarray):
        """Return a copy of x on the device."""
        return self.device.put(x)

    def room(self, problem: ConvProblem):
        """Return an output on the device."""
        return self.device.empty(problem.y_shape, problem.dtype)

    def spoil(self, y) -> None:
        """Write "not a number" all over an output."""
        fill(self.device, y, np.nan)

    def get(self, y) -> np.ndarray:
        """Return a copy of an output."""
        return self.device.get(y)

    def plan(self, problem: ConvProblem, w: np.ndarray, algorithm: Algorithm):
        """Return a plan of one of ours on the device."""
        with using(self.device):
            return plan(problem, w, algorithm=algorithm, backend="gpu")

    def bind(self, prepared, x, y) -> Callable[[], object]:
        """Return the call of a plan with these arrays."""
        return lambda: prepared(x, y)


class EventClock(DeviceClock):
    """Times runs on the GPU of this machine."""

    simulated = False

    def __init__(self):
        self.device = Gpu()
        self.l2_bytes = getattr(cuda.get_current_device(), "L2_CACHE_SIZE", 0) or None
        size = self.l2_bytes or (64 << 20)
        self._waste = self.device.empty(max(2 * size, LEAST_WASTE) // 4, np.float32)
        fill(self.device, self._waste, 0.0)
        self._cell = self.device.put(np.ones(1, np.float32))
        self._events = cuda.event(timing=True), cuda.event(timing=True)
        self._wait(1000)  # compiles
        counts = 1_000_000
        self._counts_a_second = counts / min(self._between(lambda: self._wait(counts)) for _ in range(3))

    def timer(self, run: Callable[[], object], warm: int = 1) -> Timer:
        """Return a function that calls `run` once untimed, once timed, and returns the device's seconds."""

        def seconds() -> float:
            cuda.synchronize()
            start = time.perf_counter()
            run()
            lead = min(max(2 * (time.perf_counter() - start), _LEAST_LEAD), _MOST_LEAD)
            self._sweep()
            self._wait(int(lead * self._counts_a_second))
            return self._between(run)

        return seconds

    def is_alive(self) -> bool:
        """Say if the device still answers: after some errors of a kernel it does so in a new process only."""
        try:
            self._wait(1)
            cuda.synchronize()
        except Exception:  # whatever the driver says, it is lost
            return False
        return True

    def _sweep(self) -> None:
        quads = self._waste.size // 4
        self.device.launch(sweep(), -(-quads // THREADS), THREADS, self._waste, self._cell, quads)

    def _wait(self, counts: int) -> None:
        self.device.launch(wait(), 1, 1, self._cell, np.float32(0.5), counts)

    def _between(self, run) -> float:
        before, after = self._events
        before.record()
        run()
        after.record()
        after.synchronize()
        return cuda.event_elapsed_time(before, after) / 1000  # it gives milliseconds


class StandIn(DeviceClock):
    """No clock at all, for trying a benchmark where there is no GPU: its times are never recorded.

    Parameters
    ----------
    device : Simulator, optional
        By default the lane simulator, which keeps no trace.
    """

    simulated = True

    def __init__(self, device: Simulator | None = None):
        self.device = device or Simulator(traced=False)

    def timer(self, run: Callable[[], object], warm: int = 1) -> Timer:
        """Return a function that does nothing: what there is to see, the check of the output has seen."""
        return lambda: 1.0

    def is_alive(self) -> bool:
        """Say yes."""
        return True


def some_pixels(shape: tuple[int, int, int], rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return n, p, q of output pixels: all of a small output; of a large one corners and random others."""
    N, P, Q = shape
    if N * P * Q <= PIXELS:
        flat = np.arange(N * P * Q)
    else:
        corners = [(n * P + p) * Q + q for n in (0, N - 1) for p in (0, P - 1) for q in (0, Q - 1)]
        flat = np.concatenate([corners, rng.choice(N * P * Q, PIXELS - len(corners), replace=False)])
    return np.unravel_index(flat, shape)
