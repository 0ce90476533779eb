"""The phases of the stride: which pixels of dx meet which taps, and the small convolutions that make them.

    dx[h] = sum of dy[p] * w[r]  over all p, r with  p*stride + r*dilation - top = h        (along one axis)

Which taps reach a pixel from a line of dy depends on (h + top) mod stride alone. The pixels of such a phase
meet every (stride/g)-th tap, g = gcd(stride, dilation), and those taps step through dy in lines dilation/g
apart. So for them it is a convolution of dy of stride 1, with a part of the filter turned by 180 degrees; a
phase along both axes is a `Part`. A phase that no tap reaches is zero.

    multiply-adds of all parts   N*C*K/G * (sum over phases of rows*taps) * (the same for columns)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from math import gcd
from typing import NamedTuple

import numpy as np

from convlab.algorithms import ALGORITHMS
from convlab.auto.predict import phases_of
from convlab.cost.phases import packing
from convlab.gradients.spec import Work
from convlab.problem import ConvProblem

Cost = Callable[[ConvProblem, int], int]  # a `Formula` is one
TOGETHER = 16  # numbers of a filter that are copied at a time


class Phase(NamedTuple):
    """Along one axis: the pixels of dx of one phase, the taps that reach them, and the lines of dy they meet.

    Attributes
    ----------
    padding : (int, int)
        Of those lines, before and after.
    dilation : int
        Lines between two of the taps.
    """

    pixels: range
    taps: range
    lines: range
    padding: tuple[int, int]
    dilation: int

    @property
    def corner(self) -> int:
        """Lines from the first window up to the first line of all dy; below 0 if it begins further down."""
        return self.padding[0] - self.lines.start


class Part(NamedTuple):
    """A convolution of dy (or some of it) with some taps, whose output is some pixels of dx."""

    problem: ConvProblem
    rows: Phase
    cols: Phase


def phases(problem: ConvProblem, axis: int) -> list[Phase]:
    """Return the phases along an axis that some tap reaches from some line of dy."""
    size, outputs = problem.x_shape[1 + axis], problem.y_shape[1 + axis]
    taps, stride, dilation = (problem.R, problem.S)[axis], problem.stride[axis], problem.dilation[axis]
    top, _ = problem.padding[axis]
    common = gcd(stride, dilation)  # a phase has one of every stride/common taps
    apart = dilation // common  # and the lines of dy that two neighbours of them meet lie so far apart
    found = []
    for h in range(min(stride, size)):
        reach = [r for r in range(taps) if (h + top - r * dilation) % stride == 0]
        if not reach:
            continue
        pixels = range(h, size, stride)
        last = (len(reach) - 1) * apart  # from the first of the lines that a pixel meets
        before = last - (h + top - reach[0] * dilation) // stride  # so far the first window reaches out
        after = len(pixels) - 1 - before + last - (outputs - 1)
        lines = range(max(0, -before), outputs - max(0, -after))  # the others reach no pixel of this phase
        if lines:
            every = range(reach[0], taps, stride // common)
            found.append(Phase(pixels, every, lines, (max(0, before), max(0, after)), apart))
    return found


@lru_cache(256)
def parts(problem: ConvProblem) -> list[Part]:
    """Return the convolutions that together make the gradient of the input."""
    found = []
    for rows in phases(problem, 0):
        for cols in phases(problem, 1):
            small = replace(
                problem,
                H=len(rows.lines),
                W=len(cols.lines),
                C=problem.K,
                K=problem.C,
                R=len(rows.taps),
                S=len(cols.taps),
                stride=(1, 1),
                padding=(rows.padding, cols.padding),
                dilation=(rows.dilation, cols.dilation),
            )
            found.append(Part(small, rows, cols))
    return found


def macs(problem: ConvProblem) -> int:
    """Return the multiply-adds of all parts; none of them is by an inserted zero."""
    return sum(part.problem.macs for part in parts(problem))


def turned(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return filters w (K, R, S, C/G) as those of the way back, (C, R, S, K/G): turned by 180 degrees.

    With one group it is w itself, seen in another order.
    """
    G, (K, R, S, C) = problem.groups, w.shape
    groups = w[:, ::-1, ::-1].reshape(G, K // G, R, S, C)
    return groups.transpose(0, 4, 2, 3, 1).reshape(G * C, R, S, K // G)


def in_order(filters: np.ndarray) -> np.ndarray:
    """Return turned filters (C, R, S, K/G) as an array of their own."""
    out = np.empty(filters.shape, filters.dtype)
    for tap in np.ndindex(filters.shape[1:3]):
        for k in range(0, filters.shape[3], TOGETHER):  # what is read of them stays in the cache
            some = (slice(None), *tap, slice(k, k + TOGETHER))
            out[some] = filters[some]
    return out


def over_parts(cost: Cost) -> Cost:
    """Return the cost that is the sum of another one over all parts, each in its own letters."""
    return lambda problem, threads: sum(cost(part.problem, threads) for part in parts(problem))


def work_of_parts(name: str) -> Callable[[ConvProblem, int], list[Work]]:
    """Return what packing and running all parts consists of, by the kernel of a forward algorithm."""

    def work(problem: ConvProblem, threads: int) -> list[Work]:
        phases = packing(), *phases_of(ALGORITHMS[name].forms["cpu"], include_packing=False)
        return [(phases, part.problem) for part in parts(problem)]

    return work


def reach_all(problem: ConvProblem) -> bool:
    """Say if the parts write every pixel of dx."""
    reached = sum(len(rows.pixels) * len(cols.pixels) for _, rows, cols in parts(problem))
    return reached == problem.H * problem.W


def clear_unreached(problem: ConvProblem, dx: np.ndarray) -> None:
    """Set dx to 0 if there are pixels that no part writes."""
    if not reach_all(problem):
        dx[...] = 0


def strided(some: range) -> slice:
    """Return the slice that takes these."""
    return slice(some.start, some.stop, some.step)
