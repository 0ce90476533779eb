"""A pass of one layer, by everyone who can compute it: checked, then timed in turns.

The weights are new in every step of training. So who keeps them in another order puts them into it within
each timed call, ours and theirs alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from convlab.api import plan
from convlab.auto.timing import alone, check_output, repeated, timer
from convlab.benchmark.baselines import Call
from convlab.benchmark.comparison import Comparison, Effort
from convlab.benchmark.layers import Workload
from convlab.benchmark.passes import AUTO, PASSES, by_auto, pass_material, rounding
from convlab.benchmark.roofline_points import Point, point
from convlab.gradients.api import plan_dgrad, plan_wgrad
from convlab.problem import ConvProblem
from convlab.support.checked import Count, checked
from convlab.support.checks import check_choice


class PassComparison(Comparison):
    """Candidates for one pass of a layer.

    Parameters
    ----------
    workload : Workload
    pass_ : str
        "fprop", "dgrad" or "wgrad".
    effort : Effort
    """

    def __init__(self, workload: Workload, pass_: str, effort: Effort):
        self.pass_ = pass_
        super().__init__(workload, effort)

    def prepare(self) -> None:
        """Make the two operands, and what all candidates are held against."""
        self.operands, self.expected, self.limit = pass_material(self.workload.problem, self.pass_)
        self.pixels, self.y_there = ..., None

    def enter_ours(self) -> None:
        """Take in our algorithms for this pass that serve this layer, and, as such, what "auto" takes."""
        problem, table = self.workload.problem, PASSES[self.pass_].algorithms
        for label in (*table, AUTO):
            name = by_auto(problem, self.pass_) if label == AUTO else label
            one = table[name]
            if "cpu" in one.forms and not one.supports(problem):
                make = partial(our_call, self.pass_, name, problem, *self.operands, self.clock.threads)
                self.attempt(label, make, ours=True, rounding=rounding(one))


def our_call(
    pass_: str, name: str, problem: ConvProblem, one: np.ndarray, other: np.ndarray, threads: int = 1
) -> Call:
    """Return a call of ours, by the algorithm's name; where weights are to be packed, each run packs them."""
    how: dict[str, Any] = {"algorithm": name, "backend": "cpu", "threads": threads}
    if pass_ == "wgrad":
        return Call(partial(plan_wgrad(problem, **how), one, other))
    if pass_ == "fprop":
        forward = plan(problem, other, **how)
        return Call(lambda: forward.with_weights(other)(one))
    backward = plan_dgrad(problem, other, **how)

    def run():
        backward.update(other)
        return backward(one)

    return Call(run)


@checked
def measure_passes(
    problem: ConvProblem, passes: Sequence[str] = tuple(PASSES), *, layer: str = "", rounds: Count = 5
) -> list[Point]:
    """Time the passes of a layer by the algorithms that "auto" takes, with one thread, all in turns.

    Parameters
    ----------
    problem : ConvProblem
        The forward convolution.
    passes : sequence of str
        Of "fprop", "dgrad" and "wgrad".
    layer : str
        Its name in the picture.
    rounds : int
        Timed calls of each, and as many again if their ratios are still open; the median counts.

    Returns
    -------
    list of Point
        In the order of `passes`; `roofline` draws them.

    Raises
    ------
    ConvError
        If an output is wrong: then nothing is timed.
    """
    passes = [check_choice("passes", one, PASSES) for one in passes]
    timers, names = {}, {pass_: by_auto(problem, pass_) for pass_ in passes}
    with alone(1):
        for pass_, name in names.items():
            operands, expected, limit = pass_material(problem, pass_)
            call, slack = our_call(pass_, name, problem, *operands), rounding(PASSES[pass_].algorithms[name])
            check_output(f"{pass_} by {name}", call.run(), expected, limit * slack)  # compiles, too
            timers[pass_] = timer(call.run, warm=1)
        timings = repeated(timers, rounds)
    return [
        point(problem, names[pass_], timing.median, layer=layer, pass_=pass_)
        for pass_, timing in timings.items()
    ]
