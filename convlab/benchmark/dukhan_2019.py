"""The comparison of Dukhan 2019 (arXiv:1907.02129): does it pay to leave the pixels where they are?

    im2row + GEMM   copy the windows, then multiply; a 1x1 filter with stride 1 needs no copy
    indirect        multiply through the indirection buffer, no copy
    GEMM alone      multiply a matrix that is there already: no copy, but all of the matrix is to be read

All three run the same register tile, so the difference is the copy, or the pointers. It is a few per cent:
hence more rounds, and outputs that are allocated beforehand.

Two states of the cache. *Warm*: two calls before each timed one. *Cold*, as in the benchmark of XNNPACK's
first release (2019, `bench/f32-gemm.cc`): the input has just been read, but weights, output and indirection
buffer have not: each is one of so many copies, used in turn, that together they exceed the last cache.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from convlab.algorithms.im2row import im2row
from convlab.api import plan
from convlab.auto.timing import timer
from convlab.benchmark.baselines import Call
from convlab.benchmark.comparison import Comparison, Effort
from convlab.benchmark.layers import Workload
from convlab.benchmark.saved import Row
from convlab.errors import ParameterError
from convlab.machine import system
from convlab.plans.plan import Plan
from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty
from convlab.support.checked import checked
from convlab.support.checks import check_array, check_choice

COPYING, INDIRECT, PRODUCT = "im2row + GEMM", "indirect", "GEMM alone"


@checked
def compare_three(workload: Workload, effort: Effort, cache: str = "warm") -> list[Row]:
    """Time the three ways on one layer, in a "warm" or a "cold" cache; each output is checked first."""
    check_choice("cache", cache, ("warm", "cold"))
    comparison = Comparison(workload, replace(effort, patience=np.inf))  # one of the three alone says nothing
    for name, (problem, x, w, algorithm) in three_ways(workload.problem, comparison.x, comparison.w).items():
        first = plan(problem, w, algorithm=algorithm, backend="cpu")
        out = aligned_empty(problem.y_shape, problem.dtype)
        if cache == "warm":
            comparison.enter(name, Call(partial(first, x, out), _shaped(workload.problem)), ours=True)
        else:
            rotation = Rotation(first, x, w)
            comparison.check(name, Call(rotation.run_all, _shaped(workload.problem)))
            comparison.enter_timer(name, rotation.seconds, rotation.seconds, ours=True)
    return comparison.rows("paper", cache)


@checked
def three_ways(problem: ConvProblem, x: np.ndarray, w: np.ndarray) -> dict[str, tuple]:
    """Return for each of the three (the problem it solves, its x, its w, our algorithm for it)."""
    check_array("w", w, problem.w_shape, "(K, R, S, C/groups)")
    M, K, taps = problem.gemm
    matrix = im2row(x, problem).reshape(1, M, 1, taps)
    product = replace(_plain(problem), N=1, H=M, W=1, C=taps)
    alone = (product, matrix, w.reshape(K, 1, 1, taps), "pointwise")
    if problem == _plain(problem):  # the picture is the matrix
        return {COPYING: (problem, x, w, "pointwise"), INDIRECT: (problem, x, w, "indirect")}
    return {COPYING: (problem, x, w, "im2row"), INDIRECT: (problem, x, w, "indirect"), PRODUCT: alone}


def _plain(problem: ConvProblem) -> ConvProblem:
    return replace(problem, R=1, S=1, stride=1, padding=0, dilation=1)


def _shaped(problem: ConvProblem):
    return lambda y: y.reshape(problem.y_shape)


class Rotation:
    """Copies of one plan and its output, used in turn: when a copy's turn comes, no cache holds it.

    Parameters
    ----------
    first : Plan
    x, w : ndarray
        Its input, which stays warm, and its weights.
    beyond : int, optional
        Bytes that all copies together exceed; by default the last cache of this machine.
    """

    def __init__(self, first: Plan, x: np.ndarray, w: np.ndarray, beyond: int | None = None):
        beyond = beyond or max(system.caches().values(), default=0)
        if not beyond:
            raise ParameterError("beyond=None; expected bytes, for this machine tells the size of no cache")
        table = first.workspace.get("offsets")
        each = first.packed.nbytes + first.problem.y_bytes + (0 if table is None else table.nbytes)
        self.count = 1 + -(-beyond // each)
        self._x, self._at = x, 0
        self._copies = [(first, aligned_empty(first.problem.y_shape, first.problem.dtype))]
        while len(self._copies) < self.count:
            other = plan(first.problem, w, algorithm=first.algorithm.name, backend=first.backend)
            if table is None:  # an im2row matrix is not rotated: it is written anew each time, and stays warm
                other.workspace = first.workspace
            self._copies.append((other, aligned_empty(first.problem.y_shape, first.problem.dtype)))

    def seconds(self) -> float:
        """Return the seconds of one call, the input warm, all else cold."""
        self._at = (self._at + 1) % self.count
        prepared, out = self._copies[self._at]
        self._x.max()  # reads all of it
        return timer(partial(prepared, self._x, out), warm=0)()

    def run_all(self) -> np.ndarray:
        """Run every copy; return the output of the first if all are equal, else one that is different."""
        outputs = [prepared(self._x, out) for prepared, out in self._copies]
        wrong = [out for out in outputs if not np.array_equal(out, outputs[0])]
        return wrong[0] if wrong else outputs[0]
