"""A step's kernels compiled ahead: every candidate is run once on a device that only compiles.

To compile takes most of a run's minutes, and one core. So the processes of all steps are started together,
rehearse side by side, and measure one after the other (`turns.py`). What cannot be rehearsed is left to the
measurement itself, which compiles what it still needs and says what is wrong.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from convlab.benchmark.baselines import Call, at_hand
from convlab.benchmark.comparison import Comparison
from convlab.benchmark.gpu.clock import DeviceClock
from convlab.benchmark.gpu.kernels import THREADS, sweep, wait
from convlab.benchmark.passes import shape_of
from convlab.gpu.device import Gpu
from convlab.gpu.numba_cuda import type_of
from tools.bench_gpu.cudnn import CUDNN
from tools.bench_gpu.journal import Journal
from tools.bench_gpu.passes import DevicePass
from tools.bench_gpu.steps import DeviceSuite
from tools.bench_gpu.turns import Turn

FOREIGN = "fourier"  # a family whose work is another library's: it would run, not compile


class Compiler(Gpu):
    """The GPU of this machine, of which only the compiler is used: arrays are the host's, nothing runs."""

    def put(self, array: np.ndarray) -> Any:
        """Return an array of that shape; pages that nobody writes to cost no memory."""
        return np.zeros(array.shape, array.dtype)

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        """Return an array of that shape."""
        return np.zeros(shape, dtype)

    def get(self, array: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Return the array."""
        return array

    def launch(self, kernel: Any, grid: Any, block: Any, *arguments: Any) -> None:
        """Compile a kernel for these arguments."""
        kernel.compile(tuple(map(type_of, self.passed(arguments))))


class Compiling(DeviceClock):
    """A clock for a device that only compiles: nothing is timed."""

    simulated = True

    def __init__(self):
        self.device = Compiler()

    def algorithms(self) -> dict:
        """Return those that have kernels of ours alone."""
        return {name: one for name, one in super().algorithms().items() if one.family != FOREIGN}


class _Unchecked:
    """A comparison whose candidates run once, on zeros, and are not taken in."""

    def enter(self, name: str, call: Call, **how) -> None:
        call.run()


class _Layer(_Unchecked, Comparison):
    def prepare(self) -> None:
        problem = self.workload.problem
        self.x, self.w = np.zeros(problem.x_shape, problem.dtype), self.clock.weights(problem)
        self.expected, self.pixels = None, ...
        self.x_there, self.y_there = self.clock.put(self.x), self.clock.room(problem)


class _Pass(_Unchecked, DevicePass):
    def prepare(self) -> None:
        problem = self.workload.problem
        self.lay_out(tuple(np.zeros(shape_of(problem, name), problem.dtype) for name in self.reads))


class Rehearsal(DeviceSuite):
    """The tasks of a run, on a device that only compiles; nothing is written down.

    Parameters
    ----------
    journal : Journal
    turn : Turn
        When it has come, the rest is left out.
    """

    of_layer, of_pass = _Layer, _Pass

    def __init__(self, journal: Journal, turn: Turn):
        super().__init__(journal, Compiling())
        self.turn = turn

    def take(self, step: str) -> None:
        """Rehearse the tasks of one step that are not done yet, as far as there is time."""
        if self.journal.header["options"]["baselines"]:
            at_hand(CUDNN.values())  # PyTorch takes seconds to be loaded
        device, cell = self.clock.device, np.zeros(1, np.float32)
        with suppress(Exception):  # the clock's own
            self.clock.spoil(cell)
            device.launch(sweep(), 1, THREADS, cell, cell, 1)
            device.launch(wait(), 1, 1, cell, np.float32(0.5), 1)
        for task in self.tasks():
            if task.part == step and task.label not in self.journal.done and not self.turn.has_come():
                with suppress(Exception):  # who fails does so again, and then it is told
                    task.run()

    def _roofs(self) -> None:
        """Leave it out: there are three kernels, and no step before this one."""

    def _begin(self, label: str, name: str) -> bool:
        return not self.turn.has_come()

    def _note_failure(self, label: str, name: str, error: Exception) -> None:
        """Say nothing: who fails does so again, and then it is told."""

    def _keep(self, label: str, comparison: Comparison, part: str) -> None:
        """Keep nothing: nothing was measured."""
