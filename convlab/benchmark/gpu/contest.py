"""One layer on the GPU, everyone who can compute it: each output is checked, then they take turns.

All read the same random x where it lies on the device. Ours write into an output that is there already;
PyTorch takes its own from a pool, which costs the device nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import numpy as np

from convlab.algorithms import ALGORITHMS
from convlab.algorithms.spec import Algorithm
from convlab.algorithms.tensor_core import KINDS, tensor_core
from convlab.api import plan
from convlab.auto.timing import check_output
from convlab.benchmark.baselines import Call
from convlab.benchmark.comparison import Contest, Effort
from convlab.benchmark.gpu.clock import UNTIMED, fill
from convlab.benchmark.gpu.rivals import DeviceRival
from convlab.benchmark.gpu.roofs import copier
from convlab.benchmark.layers import Case
from convlab.benchmark.saved import Row
from convlab.errors import ConvError, UnsupportedError, WorkspaceError
from convlab.gpu.device import using
from convlab.oracle import reference_at, tolerance

PIXELS = 2048  # of an output are held against the reference, and all of it against "was not written"
COPY = "copy"


class DeviceLost(Exception):
    """The device does not answer any more; a new process may reach it."""


class Attempts:
    """Who is tried, and what became of it; the bench keeps this on disk.

    Parameters
    ----------
    on_attempt : callable
        Told the name of each candidate before it first runs.
    avoid : collection of str
        Candidates that are not tried again: they took the process with them.
    """

    def __init__(self, on_attempt: Callable[[str], None] = lambda name: None, avoid: Iterable[str] = ()):
        self.on_attempt, self.avoid = on_attempt, set(avoid)
        self.wrong: dict[str, str] = {}
        self.refused: dict[str, str] = {}


class DeviceContest(Contest):
    """Candidates for one layer, on a device.

    Parameters
    ----------
    case : Case
    effort : Effort
    clock : EventClock or StandIn
    attempts : Attempts
    """

    def __init__(self, case: Case, effort: Effort, clock, attempts: Attempts):
        self.clock, self.device, self.attempts = clock, clock.device, attempts
        super().__init__(case, effort)

    def prepare(self) -> None:
        """Put random x and a spoilt output on the device, and compute what is expected at some pixels."""
        problem, rng = self.case.problem, np.random.default_rng(0)
        self.x, self.w = (
            rng.standard_normal(shape, np.float32) for shape in (problem.x_shape, problem.w_shape)
        )
        self.pixels = some_pixels(problem.y_shape[:3], rng)
        self.expected = reference_at(self.x, self.w, problem, self.pixels)
        self.limit = tolerance(self.x, self.w, problem)
        self.x_there = self.device.put(self.x)
        self.y_there = self.device.empty(problem.y_shape, problem.dtype)

    def check(self, name: str, call: Call, rounding: float = 1.0) -> None:
        """Run a candidate once, and refuse it if its output is wrong; see `Contest.check`."""
        fill(self.device, self.y_there, np.nan)
        y = call.array(call.run())  # compiles, too
        if y.shape == self.case.problem.y_shape:
            if unwritten := int(np.isnan(y).sum()):
                raise ConvError(f"{name} on {self.case.name} is wrong: {unwritten} outputs are not written")
            y = y[self.pixels]
        check_output(f"{name} on {self.case.name}", y, self.expected, self.limit * rounding)

    def enter(self, name: str, call: Call, *, ours: bool = False, rounding: float = 1.0) -> None:
        """Check a candidate and take it in."""
        self.check(name, call, rounding)
        seconds = self.clock.timer(call.run)
        self.enter_timer(name, seconds, seconds, ours=ours)

    def attempt(self, name: str, make: Callable[[], Call], *, ours: bool = False, rounding: float = 1.0):
        """Let a candidate try: if it fails it is named with the reason, and the contest goes on.

        Raises
        ------
        DeviceLost
            If nothing can go on.
        """
        if name in self.attempts.avoid:
            return
        self.attempts.on_attempt(name)
        refusals: tuple = (WorkspaceError, UnsupportedError)  # for want of memory, or of a library
        try:
            call = make()
            refusals = (WorkspaceError,)  # what has been made must run
            self.enter(name, call, ours=ours, rounding=rounding)
        except refusals as reason:
            self.attempts.refused[name] = str(reason)
        except Exception as error:  # a kernel can fail in every way a compiler or a driver knows
            said = str(error) if isinstance(error, ConvError) else f"{type(error).__name__}: {error}"
            self.attempts.wrong[name] = said.partition("\n")[0]
        else:
            return
        if not self.clock.is_alive():
            raise DeviceLost(name)

    def enter_ours(self, algorithms: dict[str, Algorithm] | None = None) -> None:
        """Take in algorithms of ours (all that run on a GPU by default), where they serve this layer."""
        for name, algorithm in (all_of_ours() if algorithms is None else algorithms).items():
            if not algorithm.supports(self.case.problem):
                prepare = partial(self._prepared, algorithm)
                self.attempt(name, prepare, ours=True, rounding=algorithm.rounding)

    def _prepared(self, algorithm: Algorithm) -> Call:
        with using(self.device):
            prepared = plan(self.case.problem, self.w, algorithm=algorithm, backend="gpu")
        return Call(lambda: prepared(self.x_there, self.y_there), self.device.get)

    def enter_rivals(self, rivals: Iterable[DeviceRival]) -> None:
        """Take in the rivals that serve this layer."""
        for rival in rivals:
            if not rival.refuses(self.case.problem):
                prepare = partial(rival.prepare, self.case.problem, self.x, self.w)
                self.attempt(rival.name, prepare, rounding=rival.rounding)

    def enter_copy(self) -> None:
        """Take in a copy of x to y, which are of one size: as much traffic as a perfect filter has."""
        run = copier(self.device, self.x_there, self.y_there)
        run()
        if not (self.device.get(self.y_there).reshape(-1) == self.x.reshape(-1)).all():
            raise ConvError("the copy is none")
        seconds = self.clock.timer(run)
        self.enter_timer(COPY, seconds, seconds)

    def rows(self, part: str, cache: str = "flushed") -> list[Row]:
        """Let them take turns, and return what came of it; without times where there is no clock."""
        rows = super().rows(part, cache)
        return [replace(row, timing=UNTIMED) for row in rows] if self.clock.simulated else rows


def all_of_ours() -> dict[str, Algorithm]:
    """Return every algorithm that has a form for the GPU, those on tensor cores included."""
    ours = {name: one for name, one in ALGORITHMS.items() if "gpu" in one.forms}
    return ours | {one.name: one for one in map(tensor_core, KINDS)}


def some_pixels(shape: tuple[int, int, int], rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return n, p, q of output pixels: all of a small output; of a large one corners and random others."""
    N, P, Q = shape
    if N * P * Q <= PIXELS:
        flat = np.arange(N * P * Q)
    else:
        corners = [(n * P + p) * Q + q for n in (0, N - 1) for p in (0, P - 1) for q in (0, Q - 1)]
        flat = np.concatenate([corners, rng.choice(N * P * Q, PIXELS - len(corners), replace=False)])
    return np.unravel_index(flat, shape)
