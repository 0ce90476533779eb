"""One layer, everyone who can compute it: each output is checked, then they take turns.

    comparison = Comparison(workload, Effort())
    comparison.enter_ours()
    comparison.enter_baselines(here)
    rows = comparison.rows("layers")

Where they run, and how a call is timed, is a clock's business: `WallClock` on the processor, `EventClock` on
a GPU (`convlab.benchmark.gpu.clock`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from math import nan

import numpy as np

from convlab.algorithms import ALGORITHMS, Algorithm
from convlab.api import plan
from convlab.auto.timing import Timer, Timing, check_output, material, repeated, take_turns, timer
from convlab.benchmark.baselines import Baseline, Call
from convlab.benchmark.layers import Workload
from convlab.benchmark.saved import Row
from convlab.errors import ConvError
from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty
from convlab.support.checked import Count, Limit, NotNegative, checked

UNTIMED = Timing(nan, nan, nan)  # by a clock that takes no time


@checked
@dataclass(frozen=True)
class Effort:
    """How long to measure.

    Attributes
    ----------
    rounds, most : int
        Timed calls of each candidate, at least and at most.
    budget : float
        Seconds for all candidates of a layer together; beyond the fewest rounds.
    slow : float
        Who is so many times as slow as the fastest has only the fewest rounds, and those apart.
    patience : float
        Seconds that the fewest rounds of a slow one may take; who needs more is left out, and named.
    """

    rounds: Count = 9
    most: Count = 101
    budget: NotNegative = 2.0
    slow: Limit = 6.0
    patience: Limit = 1.0


class WallClock:
    """Calls on the processor, timed by the wall clock.

    Ours are bound to their arrays, as in a network, and so is every library that is given a graph: nobody
    looks at x again, or makes room for y. PyTorch and NumPy do both in the call, which a short layer feels.

    Parameters
    ----------
    threads : int
        That each candidate may use.

    Attributes
    ----------
    cache : str
        What is in the cache when a timed call begins, as a `Row` tells it.
    simulated : bool
        True for a clock that takes no time at all.
    """

    cache, simulated = "warm", False

    def __init__(self, threads: int = 1):
        self.threads = threads

    def algorithms(self) -> dict[str, Algorithm]:
        """Return all of ours that run here."""
        return {name: one for name, one in ALGORITHMS.items() if "cpu" in one.forms}

    def sample(self, problem: ConvProblem):
        """Return x and w, the outputs expected and how far they may be off; and which outputs these are."""
        return *material(problem), ...

    def put(self, x: np.ndarray):
        """Return x where our algorithms read it."""
        return x

    def room(self, problem: ConvProblem):
        """Return the array that our algorithms write to; None if they make one."""
        return aligned_empty(problem.y_shape, problem.dtype)

    def spoil(self, y) -> None:
        """Write over what the last candidate has left in that array."""
        if y is not None:
            y.fill(nan)

    def get(self, y) -> np.ndarray:
        """Return what our algorithms have written."""
        return y

    def plan(self, problem: ConvProblem, w: np.ndarray, algorithm: Algorithm):
        """Return a plan of one of ours."""
        return plan(problem, w, algorithm=algorithm, backend="cpu", threads=self.threads)

    def bind(self, prepared, x, y) -> Callable[[], object]:
        """Return the call of a plan with these arrays."""
        run = prepared.bound(x, y)

        def call():
            run()
            return y

        return call

    def timer(self, run: Callable[[], object], warm: int = 2) -> Timer:
        """Return a function that takes the time of one call, after untimed ones."""
        return timer(run, warm, self.threads)


class Comparison:
    """Candidates for one layer.

    Parameters
    ----------
    workload : Workload
    effort : Effort
    clock : WallClock or EventClock, optional
        By default one thread of the processor.
    on_attempt : callable
        ``on_attempt(name)`` is asked before a candidate first runs; it is left out on False.
    on_failure : callable
        ``on_failure(name, error)`` is told why a candidate is not taken in. By default the error is raised.

    Attributes
    ----------
    pass_ : str
        What the candidates compute; another one in `pass_comparison`.
    left_out : list of str
        Who took too long to be timed; known after `rows`.
    """

    pass_ = "fprop"

    def __init__(
        self,
        workload: Workload,
        effort: Effort,
        clock: WallClock | None = None,
        *,
        on_attempt: Callable[[str], bool] = lambda name: True,
        on_failure: Callable[[str, Exception], None] | None = None,
    ):
        self.workload, self.effort, self.clock = workload, effort, clock or WallClock()
        self.on_attempt, self.on_failure = on_attempt, on_failure
        self.prepare()
        self.left_out: list[str] = []
        self._timers: dict[str, Timer] = {}
        self._ours: set[str] = set()
        self._once: dict[str, float] = {}  # seconds of one call

    def prepare(self) -> None:
        """Make the arrays that all candidates get, and what they are held against."""
        problem = self.workload.problem
        self.x, self.w, self.expected, self.limit, self.pixels = self.clock.sample(problem)
        self.operands = self.x, self.w
        self.x_there, self.y_there = self.clock.put(self.x), self.clock.room(problem)

    def check(self, name: str, call: Call, rounding: float = 1.0) -> None:
        """Run a candidate once, and refuse it if its output is wrong.

        Raises
        ------
        ConvError
            If it is.
        """
        name = f"{name} on {self.workload.name}"
        self.clock.spoil(self.y_there)
        output = call.array(call.run())  # compiles, too
        if self.pixels is not ... and output.shape == self.workload.problem.y_shape:
            if unwritten := int(np.isnan(output).sum()):
                raise ConvError(f"{name} is wrong: {unwritten} outputs are not written")
            output = output[self.pixels]
        check_output(name, output, self.expected, self.limit * rounding)

    def enter(self, name: str, call: Call, *, ours: bool = False, rounding: float = 1.0) -> None:
        """Check a candidate and take it in."""
        self.check(name, call, rounding)
        timed = call.timer or partial(self.clock.timer, call.run)
        self.enter_timer(name, timed(), timed(warm=0), ours=ours)

    def enter_timer(self, name: str, seconds: Timer, once: Timer, *, ours: bool = False) -> None:
        """Take in a candidate that has been checked, or has no output; `once` times a single call."""
        self._timers[name], self._once[name] = seconds, once()
        if self._once[name] < self.effort.patience / 100:  # a first call may be slow for many reasons
            self._once[name] = min(self._once[name], once(), once())
        if ours:
            self._ours.add(name)

    def attempt(self, name: str, make: Callable[[], Call], *, ours=False, rounding: float = 1.0) -> None:
        """Make a candidate's call and take it in; what then happens if that fails is `on_failure`'s."""
        if not self.on_attempt(name):
            return
        try:
            self.enter(name, make(), ours=ours, rounding=rounding)
        except Exception as error:  # a kernel can fail in every way a compiler or a driver knows
            if self.on_failure is None:
                raise
            self.on_failure(name, error)

    def enter_ours(self, algorithms: Mapping[str, Algorithm] | None = None) -> None:
        """Take in algorithms of ours (by default all that run here), where they serve this layer."""
        for name, algorithm in (self.clock.algorithms() if algorithms is None else algorithms).items():
            if not algorithm.supports(self.workload.problem):
                make = partial(self._our_call, algorithm)
                self.attempt(name, make, ours=True, rounding=algorithm.rounding)

    def _our_call(self, algorithm: Algorithm) -> Call:
        prepared = self.clock.plan(self.workload.problem, self.w, algorithm)
        return Call(self.clock.bind(prepared, self.x_there, self.y_there), self.clock.get)

    def enter_baselines(self, baselines: Iterable[Baseline]) -> None:
        """Take in the baselines that compute this pass and serve this layer."""
        problem = self.workload.problem
        for baseline in baselines:
            if baseline.pass_ == self.pass_ and not baseline.refuses(problem):
                make = partial(baseline.prepare, problem, *self.operands, self.clock.threads)
                self.attempt(baseline.name, make, rounding=baseline.rounding)

    def rows(self, part: str, cache: str | None = None) -> list[Row]:
        """Let them take turns, and return what came of it; without times where the clock takes none.

        The very slow have their turns among themselves, and fewer: the fast ones could hardly take theirs.
        Where ratios are still open by more than a fifth, all have as many turns again.
        """
        effort, fastest = self.effort, min(self._once.values(), default=0.0)
        rest = self.clock.threads > 1
        fast = {name: t for name, t in self._timers.items() if self._once[name] <= effort.slow * fastest}
        slow = {}
        for name in self._timers.keys() - fast.keys():
            if 3 * effort.rounds * self._once[name] > effort.patience:
                self.left_out.append(name)
            else:
                slow[name] = self._timers[name]
        timings, one = {}, self.workload
        for timers, budget in ((slow, 0.0), (fast, effort.budget)):
            how = {"rounds": effort.rounds, "most": effort.most, "budget": budget, "rest": rest}
            timings |= take_turns(timers, **how) if self.clock.simulated else repeated(timers, **how)
        return [
            Row(
                *(part, one.network, one.layer, one.count, one.problem, name),
                ours=name in self._ours,
                threads=self.clock.threads,
                rounds=effort.rounds if self.clock.simulated else timings[name].median.count,
                timing=UNTIMED if self.clock.simulated else timings[name],
                cache=cache or self.clock.cache,
                pass_=self.pass_,
            )
            for name in self._timers
            if name in timings
        ]
