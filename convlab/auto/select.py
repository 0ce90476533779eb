"""Which algorithm: the one that was asked for, if it serves and fits, or the best one for "auto".

On backend "cpu" the best is the one that was measured to be (`convlab.autotune`), else the one that the model
predicts to be (`convlab.auto.predict`), from the speeds that are known (`convlab.auto.speeds`). The other
backends have no such model, and follow a rule. Nothing is measured here.

A plan runs often: a run alone counts. `conv2d` runs once, and packs the weights before that: both count.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from convlab.algorithms import ALGORITHMS
from convlab.algorithms.spec import Algorithm
from convlab.auto import machine_file, magnitudes, speeds
from convlab.auto.machine_file import kept_until_changed
from convlab.auto.predict import predict, predictable
from convlab.errors import ConvError, ParameterError
from convlab.plans.feasible import Memory, check_feasible, serves
from convlab.problem import ConvProblem
from convlab.support.checks import said
from convlab.support.units import time_text

ALIKE = 1.03  # predictions that lie so near each other say nothing about who is the faster


class Chosen(NamedTuple):
    """An algorithm, why it is this one, and what to tell the first x, if that was not known yet."""

    algorithm: Algorithm
    why: str
    on_first_x: Callable[[ConvProblem, np.ndarray], None] | None = None


def choose(
    problem: ConvProblem,
    wanted: str | Algorithm,
    backend: str,
    memory: Memory,
    w: np.ndarray,
    x: np.ndarray | None = None,
    *,
    include_packing: bool = False,
) -> Chosen:
    """Return the algorithm that is wanted, or the best one for "auto", and why it is this one.

    Parameters
    ----------
    problem : ConvProblem
    wanted : str or Algorithm
    backend : str
    memory : Memory
    w : ndarray, (K, R, S, C/groups)
    x : ndarray, (N, H, W, C), optional
        If it is known: "auto" gives no numbers to a transform that would be lost in it.
    include_packing : bool
        It will run once: the best is the one that packs the weights and runs in the least time.

    Raises
    ------
    ConvError
        If there is none of that name, if it does not serve the problem, or if the memory does not suffice.
    """
    if isinstance(wanted, Algorithm) or (isinstance(wanted, str) and wanted in ALGORITHMS):
        algorithm = wanted if isinstance(wanted, Algorithm) else ALGORITHMS[wanted]
        check_feasible(problem, algorithm, backend, memory)
        return Chosen(algorithm, "it was asked for")
    if not isinstance(wanted, str) or wanted != "auto":
        raise ParameterError(f"algorithm={said(wanted)}; expected 'auto' or one of {', '.join(ALGORITHMS)}")

    best, why = fastest(problem, backend, memory, include_packing)
    if not best.mixing:
        return Chosen(best, why)
    weight, found = magnitudes.of_weights(problem, best, w)
    if x is not None and not found:
        found = magnitudes.of_pixels(problem, best, x, weight)
    if found:
        plain, _ = fastest(problem, backend, memory, include_packing, transforms=False)
        why = f"it is the best that is no transform; {best.name} is passed over: {found}"
        return Chosen(plain, why)
    return Chosen(best, why, partial(_look_at, weight, best, backend, memory.threads) if x is None else None)


def _look_at(weight: float, chosen: Algorithm, backend: str, threads: int, problem: ConvProblem, x) -> None:
    """Warn if "auto" would have taken another algorithm, had it seen x; `weight` is the largest one."""
    if found := magnitudes.of_pixels(problem, chosen, x, weight):
        other, _ = fastest(problem, backend, Memory(threads), transforms=False)
        warnings.warn(
            f"this plan chose {chosen.name} by itself, and {found}; "
            f"a plan with algorithm={other.name!r} does not mix pixels",
            RuntimeWarning,
            stacklevel=3,
        )


def fastest(
    problem: ConvProblem,
    backend: str,
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
    names, why = rank(problem, backend, memory.threads, include_packing)
    serving = [ALGORITHMS[name] for name in names if serves(problem, ALGORITHMS[name], backend)]
    serving = [one for one in serving if transforms or not one.mixing]
    fitting = (one for one in serving if not memory.shortage(problem, one, backend))
    best = next(fitting, serving[0])
    if best is not serving[0]:
        why = f"it is the best that fits into the memory; {serving[0].name} does not, though {why}"
    check_feasible(problem, best, backend, memory)
    return best, why


# -- who comes first ---------------------------------------------------------------------------------------


def rank(
    problem: ConvProblem, backend: str, threads: int, include_packing: bool = False
) -> tuple[list[str], str]:
    """Return the names of algorithms, the best first, and why that is the best.

    Not all of them need serve the problem.
    """
    why = f"it is the rule on backend {backend!r}"
    if backend == "cpu":
        try:
            return rank_on_cpu(problem, threads, include_packing)
        except ConvError as error:  # the files of the course are not whole
            why = f"{why}, for {error}"
    return _by_rank(backend), why


def _by_rank(backend: str) -> list[str]:
    """Return the names of algorithms in the order of the rule, for where there is no model."""
    ranks = {name: one.forms[backend].rank for name, one in ALGORITHMS.items() if backend in one.forms}
    return sorted((name for name, rank in ranks.items() if rank is not None), key=ranks.get)


@kept_until_changed
def rank_on_cpu(problem: ConvProblem, threads: int, include_packing: bool = False) -> tuple[list[str], str]:
    """Return the same for backend "cpu"; kept, for every `conv2d` asks.

    What was measured are runs. With the packing included, the predicted one is added to them, and algorithms
    that were too slow to be measured are predicted: with little to pack, they may be the best of all.
    """
    measured = machine_file.tuned_seconds(problem, threads) or {}
    seconds = dict(predicted(problem, threads, include_packing))
    if measured and not include_packing:
        names, words = _fastest_first(measured)
        others = [name for name in order_of(seconds, problem, threads) if name not in names]
        why = f"it was the fastest of {len(names)} that were measured here, {words}"
        return names + others, why  # the others, if those do not fit
    for name in measured.keys() & seconds.keys():
        seconds[name] += measured[name] - predicted(problem, threads)[name]
    names, alike = order_of(seconds, problem, threads), len(_alike(seconds))
    return names, _why_predicted(seconds, alike, ", packed and run" if include_packing else "")


def _why_predicted(seconds: dict[str, float], alike: int, what: str) -> str:
    """Return in words why the first is the first; and whose speeds say so, if they are not this machine's."""
    (_, words), model = _fastest_first(seconds), speeds.speeds().model
    if alike > 1:
        said_by = f" by {model}" if model else ""
        why = f"of the {alike} predicted{said_by} to be about the fastest{what}, {words}, "
        why += "it rounds and allocates least"
    elif model:
        why = f"{model} predicts it to be the fastest of {len(seconds)}{what}, {words}"
    else:
        why = f"it is predicted to be the fastest of {len(seconds)}{what}, {words}"
    return f"{why}; `convlab bench speeds` measures this machine" if model else why


def order_of(seconds: dict[str, float], problem: ConvProblem, threads: int = 1) -> list[str]:
    """Return the names of algorithms with predicted seconds, the one to choose first.

    Where predictions are alike, the least rounding decides, then the least workspace.
    """
    alike = sorted(_alike(seconds), key=lambda name: _burden(ALGORITHMS[name], problem, threads))
    return list(dict.fromkeys(alike + sorted(seconds, key=seconds.get)))


def _alike(seconds: dict[str, float]) -> list[str]:
    best = min(seconds.values())
    return [name for name in seconds if seconds[name] <= ALIKE * best]


def _burden(algorithm: Algorithm, problem: ConvProblem, threads: int) -> tuple[float, int]:
    """Return what counts where the times are alike: rounding, then bytes."""
    return algorithm.rounding, algorithm.workspace_bytes(problem, "cpu", threads)


def _fastest_first(seconds: dict[str, float]) -> tuple[list[str], str]:
    """Return the names in order, and the times of the first two in words."""
    names = sorted(seconds, key=seconds.get)
    first, *rest = (f"{time_text(seconds[name])} ({name})" for name in names[:2])
    return names, " before ".join((first, *rest))


@kept_until_changed
def predicted(problem: ConvProblem, threads: int = 1, include_packing: bool = False) -> dict[str, float]:
    """Return the predicted seconds of every algorithm that serves a problem on backend "cpu".

    They are those of a run; with `include_packing` also of what a plan does before the first.
    """
    return {
        name: predict(problem, name, speeds.speeds(), threads, include_packing=include_packing).seconds
        for name, algorithm in ALGORITHMS.items()
        if predictable(algorithm) and not algorithm.supports(problem)
    }
