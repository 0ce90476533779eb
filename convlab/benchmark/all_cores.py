"""What all cores are worth: how many times as fast they are together as one of them alone.

`best_times` looks into a saved run, `layer_gain` and `memory_gain` measure here and now. Cores bring
multiply-adds and the nearest caches of their own. The memory they share, and at the end of a layer all wait
for the last.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from convlab.api import plan
from convlab.auto import timing
from convlab.auto.roofs import copies, copy_sizes
from convlab.auto.timing import check_output, limited_to, material, timer
from convlab.benchmark.saved import Measurement
from convlab.benchmark.summary import by_layer
from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty
from convlab.support.checked import Count, Threads, checked
from convlab.support.measured import Measured


def best_times(run: Measurement, network: str) -> dict[str, tuple[float, float]]:
    """Return the seconds of a network's layers on one thread and on all, the best of our algorithms each.

    Parameters
    ----------
    run : Measurement
        Of a processor. A layer that it did not time on all of its cores is left out.
    network : str
    """
    rows = [row for part in ("layers", "threads") for row in run.part(part, network=network, ours=True)]
    alone, together = (
        {layer: min(row.seconds for row in group) for (_, layer), group in by_layer(chosen).items()}
        for chosen in ([r for r in rows if r.threads == 1], [r for r in rows if r.threads > 1])
    )
    return {layer: (alone[layer], seconds) for layer, seconds in together.items() if layer in alone}


@checked
def layer_gain(problem: ConvProblem, algorithm: str, threads: Threads, rounds: Count = 15) -> Measured:
    """Measure how many times as fast a layer is on so many threads as on one, by the same algorithm.

    The shortest rounds count: who waits at a barrier for a thread whose core another program has, waits long.
    Between two timed calls all threads fall asleep: those of a pool that wait for more work take a core from
    whoever runs alone.

    Raises
    ------
    ConvError
        If an output is wrong: then nothing is timed.
    """
    x, w, expected, limit = material(problem)
    y, timers = aligned_empty(problem.y_shape, problem.dtype), {}  # (N, P, Q, K)
    with limited_to(threads):
        for count in (1, threads):
            prepared = plan(problem, w, algorithm=algorithm, backend="cpu", threads=count)
            run = prepared.bound(x, y)
            run()
            check_output(algorithm, y, expected, limit * prepared.algorithm.rounding)
            timers[f"{count} threads"] = timer(run, 1, count)
        return _gain(timing.take_turns(timers, rounds, rest=True), threads)


@checked
def memory_gain(threads: Threads, rounds: Count = 5) -> Measured:
    """Measure how many times as many bytes a second so many threads copy as one, in the memory itself."""
    source = np.ones(copy_sizes()["memory"] // 4, np.float32)
    target, timers = np.zeros_like(source), {}
    with ThreadPoolExecutor(threads) as pool:
        for count in (1, threads):
            for way, copy in enumerate(copies(target, source, 1, pool=pool, threads=count)):
                timers[f"{count} threads, way {way}"] = timer(copy, 0, count)
        return _gain(timing.take_turns(timers, rounds), threads)


def _gain(times: dict[str, list[float]], threads: int) -> Measured:
    """Return the shortest seconds of one thread over those of all."""
    if threads == 1:
        return Measured(1.0)
    alone, together = (
        min(Measured.shortest(seconds) for name, seconds in times.items() if name.startswith(f"{count} "))
        for count in (1, threads)
    )
    return alone / together
