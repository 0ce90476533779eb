"""Who is the fastest on backend "cpu"? What was measured here decides, else what is predicted.

Measured are the runs of a problem that was tuned (`convlab.autotune`). Predictions are made from the speeds
that are known (`convlab.auto.speeds`): this machine's, or those of a processor like it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from convlab.algorithms import ALGORITHMS
from convlab.algorithms.spec import Algorithm
from convlab.auto.machine_file import kept_until_changed, tuned_seconds
from convlab.auto.predict import predict_served
from convlab.auto.speeds import speeds
from convlab.plans.feasible import serves
from convlab.problem import ConvProblem
from convlab.support.units import time_text

ALIKE = 1.03  # predictions that lie so near each other say nothing about who is the faster


@kept_until_changed
def rank_on_cpu(problem: ConvProblem, threads: int, include_packing: bool = False) -> tuple[list[str], str]:
    """Return the names of algorithms, the best first, and why that is the best; kept, for all `conv2d` ask.

    Not all of them need serve the problem. What was measured are runs. With the packing included, the
    predicted one is added to them, and algorithms that were too slow to be measured are predicted: with
    little to pack, they may be the best of all.
    """
    measured = tuned_seconds(problem, threads) or {}
    seconds = predicted(problem, threads, include_packing)
    if measured and not include_packing:
        names, words = _fastest_first(measured)
        why = f"it was the fastest of {len(names)} that were measured here, {words}"
        names += order_of(seconds, problem, threads)  # the others, if those do not fit
    else:
        if measured:
            seconds = _with_runs(measured, predicted(problem, threads), seconds)
        names = order_of(seconds, problem, threads)
        why = why_predicted(seconds, ", packed and run" if include_packing else "")
    return list(dict.fromkeys([*names, *ALGORITHMS])), why  # at the end who has no model


def _with_runs(
    measured: dict[str, float], runs: dict[str, float], seconds: dict[str, float]
) -> dict[str, float]:
    """Return predicted seconds, of packing and a run, with the measured runs in the place of predicted ones.

    If the prediction goes by another machine's speeds, it is brought to the scale of what was measured here.
    """
    both = [name for name in runs if name in measured]
    scale = 1.0
    if both and speeds().model:
        scale = prod(measured[name] / runs[name] for name in both) ** (1 / len(both))
    scaled = {name: scale * each for name, each in seconds.items()}
    return scaled | {name: scaled[name] + measured[name] - scale * runs[name] for name in both}


def why_predicted(seconds: dict[str, float], what: str, merit: str = "rounds and allocates least") -> str:
    """Return in words why the first is the first; and whose speeds say so, if they are not this machine's.

    `merit` is what the first does better where others are predicted to be about as fast.
    """
    (_, words), model, alike = _fastest_first(seconds), speeds().model, len(_alike(seconds))
    if alike > 1:
        said_by = f" by {model}" if model else ""
        why = f"of the {alike} predicted{said_by} to be about the fastest{what}, {words}, "
        why += f"it {merit}"
    elif model:
        why = f"{model} predicts it to be the fastest of {len(seconds)}{what}, {words}"
    else:
        why = f"it is predicted to be the fastest of {len(seconds)}{what}, {words}"
    return f"{why}; `convlab bench speeds` measures this machine" if model else why


def order_of(seconds: dict[str, float], problem: ConvProblem, threads: int = 1) -> list[str]:
    """Return the names of algorithms with predicted seconds, the one to choose first.

    Where predictions are alike, the least rounding decides, then the least workspace.
    """
    return in_order(seconds, lambda name: _burden(ALGORITHMS[name], problem, threads))


def in_order(seconds: dict[str, float], burden: Callable[[str], Any]) -> list[str]:
    """Return the names by their predicted seconds; where the first are alike, by their burden."""
    alike = sorted(_alike(seconds), key=burden)
    return list(dict.fromkeys(alike + sorted(seconds, key=seconds.get)))


def _alike(seconds: dict[str, float]) -> list[str]:
    best = min(seconds.values())
    return [name for name in seconds if seconds[name] <= ALIKE * best]


def _burden(algorithm: Algorithm, problem: ConvProblem, threads: int) -> tuple[float, int]:
    """Return what counts where the times are alike: rounding, then bytes."""
    return algorithm.rounding, algorithm.forms["cpu"].workspace_bytes(problem, threads)


def _fastest_first(seconds: dict[str, float]) -> tuple[list[str], str]:
    """Return the names in order, and the times of the first two in words."""
    names = sorted(seconds, key=seconds.get)
    first, *rest = (f"{time_text(seconds[name])} ({name})" for name in names[:2])
    return names, " before ".join((first, *rest))


@kept_until_changed
def predicted(problem: ConvProblem, threads: int = 1, include_packing: bool = False) -> dict[str, float]:
    """Return the predicted seconds of every algorithm that serves a problem on backend "cpu" and has a model.

    They are those of a run; with `include_packing` also of what a plan does before the first.
    """
    here = speeds()
    return {
        name: predict_served(problem, algorithm, here, threads, include_packing).seconds
        for name, algorithm in ALGORITHMS.items()
        if serves(problem, algorithm, "cpu") and algorithm.forms["cpu"].phases
    }
