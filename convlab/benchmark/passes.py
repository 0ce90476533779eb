"""The three passes of a layer in training, by the names of cuDNN and CUTLASS, each held against float64.

    fprop   reads x and w     writes y
    dgrad   reads dy and w    writes dx
    wgrad   reads x and dy    writes dw

All three sum the same products, one for each (n, p, q, k, r, s, c): so they are equally many multiply-adds.
They have the same three sizes of arrays, too; each reads two and writes the third.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any, NamedTuple

import numpy as np

from convlab.algorithms import ALGORITHMS, Algorithm
from convlab.auto.select import fastest
from convlab.errors import WorkspaceError
from convlab.gradients import DGRAD, WGRAD
from convlab.gradients.dgrad_subfilters import FLIPPED, SUBFILTERS, parts
from convlab.gradients.select import choose
from convlab.gradients.spec import Gradient
from convlab.machine.memory import Memory
from convlab.oracle import WORST, reference
from convlab.problem import ConvProblem, check_computed
from convlab.support.aligned import aligned_empty
from convlab.support.checked import checked
from convlab.support.checks import check_choice


class Pass(NamedTuple):
    """What a pass reads and writes, by name, and the table of our algorithms for it."""

    reads: tuple[str, str]
    writes: str
    algorithms: Mapping[str, Any]


PASSES = {
    "fprop": Pass(("x", "w"), "y", ALGORITHMS),
    "dgrad": Pass(("dy", "w"), "dx", DGRAD),
    "wgrad": Pass(("x", "dy"), "dw", WGRAD),
}
AUTO = "auto"  # a candidate: what that takes
CONVOLVE = FLIPPED, SUBFILTERS  # gradients that are forward convolutions, by whichever algorithm
ROUNDING = max(one.rounding for one in ALGORITHMS.values() if "cpu" in one.forms)  # of the worst of these


def shape_of(problem: ConvProblem, name: str) -> tuple[int, ...]:
    """Return the shape of an array by its name; that of a gradient is the same: "dx" as "x"."""
    return getattr(problem, f"{name.removeprefix('d')}_shape")


def by_auto(problem: ConvProblem, pass_: str) -> str:
    """Return which algorithm "auto" takes for a pass, on one thread of the processor."""
    if pass_ == "fprop":
        return fastest(problem, "cpu", 1, Memory(), include_packing=True)[0].name
    return choose(problem, pass_, "auto", "cpu", 1, Memory()).algorithm.name


def rounding(algorithm: Algorithm | Gradient) -> float:
    """Return how far an algorithm's output may be off, as `Algorithm.rounding`."""
    return getattr(algorithm, "rounding", ROUNDING if algorithm in CONVOLVE else 1.0)


def operations(problem: ConvProblem, algorithm: Algorithm | Gradient, backend: str, threads: int = 1) -> int:
    """Return the operations that an algorithm does; where it convolves inside, those done there."""
    if algorithm not in CONVOLVE:
        return algorithm.cost(problem, backend, threads).flops
    small = [part.problem for part in parts(problem)]
    inside = [fastest(one, backend, threads, Memory(), include_packing=True)[0] for one in small]
    return sum(how.cost(one, backend, threads).flops for how, one in zip(inside, small, strict=True))


@checked
def read_and_written(problem: ConvProblem, pass_: str) -> tuple[int, int]:
    """Return the bytes that a pass reads and those it writes, if each number is moved once.

    Parameters
    ----------
    problem : ConvProblem
        The forward convolution.
    pass_ : str
        "fprop", "dgrad" or "wgrad".
    """
    one = PASSES[check_choice("pass_", pass_, PASSES)]
    read, written = (
        sum(prod(shape_of(problem, name)) for name in names) for names in (one.reads, (one.writes,))
    )
    return read * problem.itemsize, written * problem.itemsize


class Material(NamedTuple):
    """Two random operands of a pass, what it makes of them in float64, and how far rounding may lead."""

    operands: tuple[np.ndarray, np.ndarray]
    expected: np.ndarray
    limit: float


@checked
def pass_material(problem: ConvProblem, pass_: str) -> Material:
    """Return what a candidate for a pass is given, and what it is held against.

    Raises
    ------
    ConvError
        If the memory does not suffice; nothing has been allocated then.
    """
    check_computed(problem)
    one = PASSES[check_choice("pass_", pass_, PASSES)]
    (M, filters, taps), groups = problem.gemm, problem.groups
    shapes = {name: shape_of(problem, name) for name in (*one.reads, one.writes)}
    sizes = {name: prod(shape) * (8 + problem.itemsize) for name, shape in shapes.items()}
    sizes["products in float64"] = 8 * M * groups * (taps if pass_ == "fprop" else filters)
    if lacking := Memory().lacking(sizes):
        raise WorkspaceError(
            f"the reference for {pass_} {lacking}; make the batch N, or the pictures, smaller"
        )
    rng, operands = np.random.default_rng(0), []
    for name in one.reads:
        operands.append(aligned_empty(shapes[name], problem.dtype))
        operands[-1][...] = rng.standard_normal(shapes[name])
    expected = IN_FLOAT64[pass_](*operands, problem)
    return Material((operands[0], operands[1]), expected, limit_of(problem, pass_, *operands))


def limit_of(problem: ConvProblem, pass_: str, one: np.ndarray, other: np.ndarray) -> float:
    """Return how far rounding may lead, for plain sums in the problem's type of number."""
    M, filters, taps = problem.gemm
    terms = {"fprop": taps, "dgrad": filters * problem.R * problem.S, "wgrad": M}[pass_]
    size = terms * prod(np.sqrt(np.mean(np.square(array, dtype=np.float64))) for array in (one, other))
    return float(WORST * np.finfo(problem.dtype).eps * size)


def _dgrad(dy: np.ndarray, w: np.ndarray, problem: ConvProblem) -> np.ndarray:
    """Return the gradient of the input in float64: each tap adds to the pixels it reads."""
    dy, w, dx = dy.astype(np.float64), w.astype(np.float64), np.zeros(problem.x_shape)
    for (r, s), (p, q), (h, v), c, k in _taps(problem):
        dx[:, h, v, c] += dy[:, p, q, k] @ w[k, r, s]
    return dx


def _wgrad(x: np.ndarray, dy: np.ndarray, problem: ConvProblem) -> np.ndarray:
    """Return the gradient of the weights in float64: each tap sums over the outputs it is read for."""
    x, dy, dw = x.astype(np.float64), dy.astype(np.float64), np.zeros(problem.w_shape)
    for (r, s), (p, q), (h, v), c, k in _taps(problem):
        dw[k, r, s] = np.tensordot(dy[:, p, q, k], x[:, h, v, c], ((0, 1, 2), (0, 1, 2)))
    return dw


def _taps(problem: ConvProblem) -> Iterator[tuple]:
    """Yield each tap of each group: its outputs, the pixels they read, the group's channels and filters."""
    C, K = problem.C // problem.groups, problem.K // problem.groups
    for r, s, g in np.ndindex(problem.R, problem.S, problem.groups):
        yield (r, s), *problem.inside(r, s), slice(g * C, (g + 1) * C), slice(g * K, (g + 1) * K)


# The definition of each pass in float64: (its two operands, the problem) to what it writes.
IN_FLOAT64 = {"fprop": reference, "dgrad": _dgrad, "wgrad": _wgrad}
