"""Which algorithm: the one that was asked for, if it serves and fits, or the best one for "auto".

On backend "cpu" the best is the one that was measured to be, else the one that is predicted to be
(`convlab.auto.ranking`). The other backends have no such model, and follow a rule. Nothing is measured here.

A plan runs often: a run alone counts. `conv2d` runs once, and packs the weights before that: both count.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from convlab.algorithms import ALGORITHMS
from convlab.algorithms.spec import Algorithm
from convlab.auto import magnitudes
from convlab.auto.watch import Watch
from convlab.errors import ConvError, ParameterError
from convlab.machine.memory import Memory
from convlab.plans.feasible import check_feasible, serves, shortage
from convlab.problem import ConvProblem
from convlab.support.checks import said


class Chosen(NamedTuple):
    """An algorithm, why it is this one, and what is to look at x, if that was not known yet."""

    algorithm: Algorithm
    why: str
    watch: Watch | None = None


def choose(
    problem: ConvProblem,
    wanted: str | Algorithm,
    backend: str,
    threads: int,
    memory: Memory,
    w: np.ndarray,
    x: np.ndarray | None = None,
    *,
    include_packing: bool = False,
    watch: Callable[..., Watch] = Watch,
) -> Chosen:
    """Return the algorithm that is wanted, or the best one for "auto", and why it is this one.

    If x (N, H, W, C) is known, "auto" gives no numbers to a transform that would be lost in it. With
    `include_packing` it will run once: the best is the one that packs w and runs in the least time. `watch`
    makes what looks at the plan's first x, if x is not known.

    Raises
    ------
    ConvError
        If there is none of that name, if it does not serve the problem, or if the memory does not suffice.
    """
    if isinstance(wanted, Algorithm) or (isinstance(wanted, str) and wanted in ALGORITHMS):
        algorithm = wanted if isinstance(wanted, Algorithm) else ALGORITHMS[wanted]
        check_feasible(problem, algorithm, backend, threads, memory)
        return Chosen(algorithm, "it was asked for")
    if not isinstance(wanted, str) or wanted != "auto":
        raise ParameterError(f"algorithm={said(wanted)}; expected 'auto' or one of {', '.join(ALGORITHMS)}")

    best, why = fastest(problem, backend, threads, memory, include_packing)
    if not best.mixing:
        return Chosen(best, why)
    weight, found = magnitudes.of_weights(problem, best, w)
    if x is not None and not found:
        found = magnitudes.of_pixels(problem, best, x, weight)
    if found:
        why = f"it is the best that is no transform; {best.name} is passed over: {found}"
        best, _ = fastest(problem, backend, threads, memory, include_packing, transforms=False)
        return Chosen(best, why)
    return Chosen(best, why, watch(best, weight, partial(plain, backend, threads)) if x is None else None)


def plain(backend: str, threads: int, problem: ConvProblem) -> str:
    """Return the name of the best algorithm that is no transform."""
    return fastest(problem, backend, threads, Memory(), transforms=False)[0].name


def fastest(
    problem: ConvProblem,
    backend: str,
    threads: int,
    memory: Memory,
    include_packing: bool = False,
    *,
    transforms: bool = True,
) -> tuple[Algorithm, str]:
    """Return the best algorithm that serves a problem and fits into the memory, and why it is the best.

    Raises
    ------
    WorkspaceError
        If none fits.
    """
    names, why = rank(problem, backend, threads, include_packing)
    serving = [ALGORITHMS[name] for name in names if serves(problem, ALGORITHMS[name], backend)]
    serving = [one for one in serving if transforms or not one.mixing]
    fitting = (one for one in serving if not shortage(problem, one, backend, threads, memory))
    best = next(fitting, serving[0])
    if best is not serving[0]:
        why = f"it is the best that fits into the memory; {serving[0].name} does not, though {why}"
    check_feasible(problem, best, backend, threads, memory)
    return best, why


def rank(
    problem: ConvProblem, backend: str, threads: int, include_packing: bool = False
) -> tuple[list[str], str]:
    """Return the names of algorithms, the best first, and why that is the best.

    Not all of them need serve the problem.
    """
    why = f"it is the rule on backend {backend!r}"
    if backend == "gpu":
        from convlab.auto.predict_gpu import rank_on_gpu  # asks the driver, when it is asked

        if found := rank_on_gpu(problem):
            return found
    if backend == "cpu":
        from convlab.auto.ranking import rank_on_cpu  # reads what is known of the machine, when that is asked

        try:
            return rank_on_cpu(problem, threads, include_packing)
        except ConvError as error:  # the files of the course are not whole
            why = f"{why}, for {error}"
    ranks = {name: one.forms[backend].rank for name, one in ALGORITHMS.items() if backend in one.forms}
    return sorted((name for name, rank in ranks.items() if rank is not None), key=ranks.get), why
