"""One layer, our algorithms, here and now: checked, timed in turns, returned as points of a roofline."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from convlab.algorithms import ALGORITHMS
from convlab.api import plan
from convlab.auto.timing import alone, check_output, material, repeated, timer
from convlab.benchmark.roofline_points import Point, point
from convlab.problem import ConvProblem
from convlab.support.checked import Count, checked
from convlab.support.checks import check_choice


@checked
def measure_layer(
    problem: ConvProblem, names: Iterable[str] | None = None, *, layer: str = "", rounds: Count = 5
) -> list[Point]:
    """Time our algorithms on one layer, with one thread.

    The output is allocated beforehand: what the system takes to hand out memory is no roof of a kernel.

    Parameters
    ----------
    problem : ConvProblem
    names : iterable of str, optional
        Algorithms; by default all. Who refuses the layer is left out.
    layer : str
        Its name in the picture.
    rounds : int
        Timed calls of each, and as many again if their ratios are still open; the median counts.

    Returns
    -------
    list of Point
        In the order of the table.

    Raises
    ------
    ConvError
        If an output is wrong: then nothing is timed.
    """
    names = [check_choice("names", name, ALGORITHMS) for name in (ALGORITHMS if names is None else names)]
    x, w, expected, limit = material(problem)
    y = np.empty(problem.y_shape, problem.dtype)  # (N, P, Q, K)
    timers = {}
    with alone(1):
        for name in names:
            algorithm = ALGORITHMS[name]
            if algorithm.supports(problem):
                continue
            prepared = plan(problem, w, algorithm=name, backend="cpu", threads=1)
            check_output(name, prepared(x, out=y), expected, limit * algorithm.rounding)  # compiles, too
            timers[name] = timer(partial(prepared, x, out=y), warm=1)
        timings = repeated(timers, rounds)
    return [point(problem, name, timing.median, layer=layer) for name, timing in timings.items()]
