"""The protocol every timing in the course follows.

First the output is checked: an unchecked benchmark measures something else. Then the candidates take turns
in random order, so that a drifting clock hits them all alike; each timed call comes after two untimed ones.
What is told is the median and the quartiles of the rounds. A median knows how sure it is, and so does a ratio
of two (`convlab.support.measured`); where other programs disturb, there are up to twice as many rounds.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from statistics import quantiles

import numpy as np

from convlab.auto.disturbance import seconds_of, until_quiet
from convlab.errors import ConvError
from convlab.machine import cores
from convlab.oracle import reference, tolerance
from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty
from convlab.support.checked import Count, Filled, NotNegative, checked, kept
from convlab.support.measured import Measured
from convlab.support.units import time_text

WAKE = 0.005  # seconds until cores that slept are at full speed; on a virtual machine they may have been lent
OPEN = 1.2  # a ratio whose interval spans more than this factor is worth as many rounds again
BUDGET, MOST = 0.25, 25  # seconds for more rounds than were asked for, and how many at most

Timer = Callable[[], float]  # makes some untimed calls, then a timed one; returns its seconds


@dataclass(frozen=True)
class Timing:
    """Times of one candidate, in seconds: the median of the rounds, and their quartiles.

    The median of a measurement is a `Measured`: divided by another it is a ratio with its interval.
    """

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{time_text(self.median)} ({time_text(self.low)} to {time_text(self.high)})"


@checked
def compare(
    candidates: Filled[dict[str, Callable[[], np.ndarray]]],
    *,
    expected: np.ndarray | None = None,
    limit: NotNegative = 0.0,
    rounds: Count = 11,
    warm: int = 2,
) -> dict[str, Timing]:
    """Time several ways to do one thing, on one thread, interleaved in random order.

    Parameters
    ----------
    candidates : dict of str to callable
        Each takes nothing and returns its output.
    expected, limit
        Every output must be within `limit` of `expected`, else nothing is timed.
    rounds, warm : int
        Timed calls of each candidate, at least, and untimed calls before each of them. What is quick has
        more rounds, for a quarter of a second. If a ratio is still open by more than a fifth then, there are
        as many again: at most twice as many, of at most twice as many calls (`disturbance.seconds_of`).

    Returns
    -------
    dict of str to Timing

    Raises
    ------
    ConvError
        If an output is wrong; the message names the candidate and its error.
    """
    with limited_to(1):
        for name, run in candidates.items():
            output = run()  # compiles, too
            if expected is not None:
                check_output(name, output, expected, limit)
        timers = {name: timer(run, warm) for name, run in candidates.items()}
        return repeated(timers, rounds, budget=BUDGET, most=MOST)


@partial(kept, most=2)  # of more layers, in batches, the memory would be full
def material(problem: ConvProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return random x and w for a problem, the expected output, and how far rounding may lead from it."""
    rng = np.random.default_rng(0)
    arrays = []
    for shape in (problem.x_shape, problem.w_shape):
        arrays.append(aligned_empty(shape, problem.dtype))
        arrays[-1][...] = rng.standard_normal(shape)
    x, w = arrays
    return x, w, reference(x, w, problem), tolerance(x, w, problem)


def timer(run: Callable[[], object], warm: int = 2, threads: int = 1) -> Timer:
    """Return a function that calls `run` a few times untimed and once timed, and returns the seconds."""
    return partial(seconds_of, run, warm, threads)


def take_turns(
    timers: dict[str, Timer],
    rounds: int = 11,
    *,
    budget: float = 0.0,
    most: int = 101,
    rest: bool = False,
) -> dict[str, list[float]]:
    """Call every timer once a round, each round in a new random order.

    Parameters
    ----------
    timers : dict of str to callable
        See `timer`.
    rounds, most : int
        At least so many rounds, then more while `budget` seconds are not spent, but at most so many.
    budget : float
        Seconds, for all timers together.
    rest : bool
        Wait before each timer until the threads of the one before have fallen asleep, and then let the next
        warm up for some ms. Where candidates have threads of their own, they take a core from whoever is
        next.

    Returns
    -------
    dict of str to list of float
        The seconds of each, one for each round.
    """
    times: dict[str, list[float]] = {name: [] for name in timers}
    start, done = time.perf_counter(), 0
    while done < rounds or (done < most and time.perf_counter() - start < budget):
        for name in random.sample(list(timers), len(timers)):
            if rest:
                _rested(timers[name])
            times[name].append(timers[name]())
        done += 1
    return times


def _rested(timed: Timer) -> None:
    """Wait until the threads of the one before are asleep, then wake those of the next, on all cores."""
    until_quiet()
    end = time.perf_counter() + WAKE
    while time.perf_counter() < end:
        timed()


def repeated(timers: dict[str, Timer], rounds: int, **options) -> dict[str, Timing]:
    """Let timers take turns, and as often again if their ratios are still open; return what came of it."""
    times = take_turns(timers, rounds, **options)
    if is_open(times):
        again = take_turns(timers, rounds, **options)
        times = {name: times[name] + again[name] for name in times}
    return summaries(times)


def is_open(times: dict[str, list[float]]) -> bool:
    """Say if the rounds leave a ratio to the fastest open by more than a fifth."""
    medians = [timing.median for timing in summaries(times).values()]
    ratios = [one / min(medians) for one in medians] if all(medians) else []
    return any(ratio.high > OPEN * ratio.low for ratio in ratios)


def check_output(name: str, output: np.ndarray, expected: np.ndarray, limit: float) -> None:
    """Refuse a wrong output; then spoil it, so that the next candidate cannot pass with this one's answer."""
    if np.shape(output) != expected.shape:
        raise ConvError(f"{name} is wrong: its shape is {np.shape(output)}, expected {expected.shape}")
    error = np.abs(output - expected).max()
    if not error <= limit:
        raise ConvError(f"{name} is wrong: its error is {error:.2e}, the limit {limit:.2e}")
    if isinstance(output, np.ndarray) and output.flags.writeable:
        output[...] = np.nan if output.dtype.kind in "fc" else ~output


def summary(seconds: list[float], comparison: object = None) -> Timing:
    """Return the median and the quartiles of times; all of the same turns get the same `comparison`."""
    if len(seconds) < 2:
        return Timing(Measured.of(seconds), seconds[0], seconds[0])
    low, _, high = quantiles(seconds, n=4, method="inclusive")
    return Timing(Measured.of(seconds, comparison), low, high)


def summaries(times: dict[str, list[float]]) -> dict[str, Timing]:
    """Return the summary of each who took turns with the others."""
    comparison = object()
    return {name: summary(seconds, comparison) for name, seconds in times.items()}


@contextmanager
def limited_to(threads: int) -> Iterator[None]:
    """Limit BLAS and Numba to this many threads, inside a ``with``."""
    import numba
    from threadpoolctl import threadpool_limits

    before = numba.get_num_threads()
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    try:
        with threadpool_limits(threads):
            yield
    finally:
        numba.set_num_threads(before)


@contextmanager
def alone(threads: int) -> Iterator[None]:
    """Give a benchmark so many threads inside a ``with``; a single one stays on its core."""
    one = on_one_core() if threads == 1 else nullcontext()
    with limited_to(threads), one:  # in this order: it starts the threads, which may run on all cores
        yield


@contextmanager
def on_one_core() -> Iterator[None]:
    """Keep this thread on one core inside a ``with``: a call that moves to another finds its caches empty.

    It is one that no other benchmark keeps to, if there is one. Where the system does not offer that,
    nothing happens. Programs started inside inherit it.
    """
    here = cores.now()
    if not here:
        yield
        return
    with cores.claimed(here) as core, cores.kept_on({core}):
        yield


def on_all_cores() -> AbstractContextManager[None]:
    """Let go of the core inside a ``with``: what all cores do together is not measured on one."""
    return cores.kept_on(cores.allowed())
