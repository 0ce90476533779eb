"""The protocol every timing in the course follows.

First the output is checked: an unchecked benchmark measures something else. Then the candidates take turns
in random order, so that a drifting clock hits them all alike; each timed call comes after two untimed ones.
What is told is the median and the quartiles of the rounds.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median, quantiles

import numpy as np

from convlab.errors import ConvError
from convlab.units import time_text


@dataclass(frozen=True)
class Timing:
    """Times of one candidate, in seconds: the median of the rounds, and their quartiles."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{time_text(self.median)} ({time_text(self.low)} to {time_text(self.high)})"


def compare(
    candidates: dict[str, Callable[[], np.ndarray]],
    *,
    expected: np.ndarray | None = None,
    limit: float = 0.0,
    rounds: int = 11,
    warm: int = 2,
    threads: int = 1,
) -> dict[str, Timing]:
    """Time several ways to do one thing, interleaved in random order.

    Parameters
    ----------
    candidates : dict of str to callable
        Each takes nothing and returns its output.
    expected, limit
        Every output must be within `limit` of `expected`, else nothing is timed.
    rounds, warm : int
        Timed calls of each candidate, and untimed calls before each of them.
    threads : int
        Threads that BLAS and Numba may use.

    Returns
    -------
    dict of str to Timing

    Raises
    ------
    ConvError
        If an output is wrong; the message names the candidate and its error.
    """
    times: dict[str, list[float]] = {name: [] for name in candidates}
    with limited_to(threads):
        for name, run in candidates.items():
            output = run()  # compiles, too
            if expected is not None:
                _check(name, output, expected, limit)
        for _ in range(rounds):
            for name in random.sample(list(candidates), len(candidates)):
                for _ in range(warm):
                    candidates[name]()
                start = time.perf_counter()
                candidates[name]()
                times[name].append(time.perf_counter() - start)
    return {name: summary(seconds) for name, seconds in times.items()}


def _check(name: str, output: np.ndarray, expected: np.ndarray, limit: float) -> None:
    """Refuse a wrong output; then spoil it, so that the next candidate cannot pass with this one's answer."""
    if np.shape(output) != expected.shape:
        raise ConvError(f"{name} is wrong: its shape is {np.shape(output)}, expected {expected.shape}")
    error = np.abs(output - expected).max()
    if not error <= limit:
        raise ConvError(f"{name} is wrong: its error is {error:.2e}, the limit {limit:.2e}")
    if isinstance(output, np.ndarray) and output.flags.writeable:
        output[...] = np.nan


def summary(seconds: list[float]) -> Timing:
    """Return the median and the quartiles of some times."""
    if len(seconds) < 2:
        return Timing(seconds[0], seconds[0], seconds[0])
    low, _, high = quantiles(seconds, n=4, method="inclusive")
    return Timing(median(seconds), low, high)


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
