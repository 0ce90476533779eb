"""Two ways to a gradient that are slow: our own forward convolution, asked for what it is not made for.

    zeros inserted   dgrad at a stride as one convolution, with zeros between the lines of dy
    whole picture    wgrad as a convolution whose filters are the pictures of dy

They are to be timed beside `subfilters` and `parts`; neither is in the tables that `dgrad` and `wgrad` choose
from. A framework that had the second one measured 14 times what it took without (burn, pull request 5428).

Dumoulin & Visin 2016, arXiv:1603.07285, chapter 4, has the first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from convlab.api import plan
from convlab.auto.select import fastest
from convlab.benchmark.baselines import Call, no_groups
from convlab.benchmark.passes import PASSES, shape_of
from convlab.errors import UnsupportedError, WorkspaceError
from convlab.gradients.dgrad_subfilters import turned
from convlab.machine.memory import Memory
from convlab.plans.plan import Plan
from convlab.problem import ConvProblem, check_computed
from convlab.support.aligned import aligned_empty
from convlab.support.checked import Threads, checked
from convlab.support.checks import check_array

# -- dgrad with zeros inserted -----------------------------------------------------------------------------


@checked
def with_zeros(problem: ConvProblem) -> ConvProblem:
    """Return the convolution of stride 1 that makes dx of dy with zeros between its lines and columns.

    Its `macs` are what that costs: all but one in stride times stride of them multiply a zero.

    Raises
    ------
    UnsupportedError
        If the padding reaches beyond the filter.
    """
    if reason := _beyond(problem):
        raise UnsupportedError(f"dy with zeros does not serve {problem}: {reason}")
    sizes, padding = [], []
    for axis, (size, out) in enumerate(((problem.H, problem.P), (problem.W, problem.Q))):
        apart, reach = (out - 1) * problem.stride[axis] + 1, problem.extent[axis] - 1
        before = reach - problem.padding[axis][0]
        sizes.append(apart)
        padding.append((before, size + reach - apart - before))
    H, W = sizes
    back = {"C": problem.K, "K": problem.C, "stride": (1, 1), "padding": tuple(padding)}
    return replace(problem, H=H, W=W, **back)


@checked
def zeros_inserted(
    problem: ConvProblem, dy: np.ndarray, w: np.ndarray, threads: Threads = 1, *, algorithm: str = "auto"
) -> Call:
    """Prepare dgrad by one convolution of dy with zeros inserted.

    Parameters
    ----------
    problem : ConvProblem
        The forward convolution.
    dy : ndarray, (N, P, Q, K)
    w : ndarray, (K, R, S, C/groups)
    threads : int
    algorithm : str
        Of that convolution, as for `conv2d`.

    Returns
    -------
    Call
        `run` returns dx (N, H, W, C). The zeros stay where they are; every run puts dy between them, and
        turns and packs the filters.

    Raises
    ------
    ConvError
        If an argument is wrong, if the padding reaches beyond the filter, or if the memory does not suffice.
    """
    _check(problem, "dgrad", dy, w)
    whole = with_zeros(problem)
    _check_room("zeros inserted", {"dy with zeros": whole.x_bytes, "filters": whole.w_bytes})
    ready = _ready(whole, turned(problem, w), threads, algorithm)
    apart = np.zeros(whole.x_shape, whole.dtype)
    lines = apart[:, :: problem.stride[0], :: problem.stride[1]]  # (N, P, Q, K)

    def run():
        lines[...] = dy
        filters = turned(problem, w)  # w itself in another order: to pack them goes over them once
        return ready.with_weights(np.ascontiguousarray(filters) if ready.algorithm.mixing else filters)(apart)

    return Call(run)


def _beyond(problem: ConvProblem) -> str | None:
    """Say why lines of dy would have to be cut off."""
    reaches = zip(problem.padding, problem.extent, strict=True)
    if any(side >= extent for sides, extent in reaches for side in sides):
        return f"the padding is {problem.padding}; expected less than the filter's {problem.extent}"
    return None


def zeros_refuse(problem: ConvProblem) -> str | None:
    """Say why there is no zero to insert, or why dy would have to be cut."""
    return "at stride 1 there is no zero between" if problem.stride == (1, 1) else _beyond(problem)


# -- wgrad with filters as large as the picture ------------------------------------------------------------


@checked
def whole_picture(
    problem: ConvProblem, x: np.ndarray, dy: np.ndarray, threads: Threads = 1, *, algorithm: str = "auto"
) -> Call:
    """Prepare wgrad by one convolution: each channel of x a picture, each channel of dy a filter.

    Pictures and channels change places, stride and dilation too: R x S outputs, each a sum over N*P*Q taps.

    Parameters
    ----------
    problem : ConvProblem
        The forward convolution, of one group.
    x : ndarray, (N, H, W, C)
    dy : ndarray, (N, P, Q, K)
    threads : int
    algorithm : str
        Of that convolution, as for `conv2d`.

    Returns
    -------
    Call
        `run` returns dw (K, R, S, C). Every run puts both arrays into their new order.

    Raises
    ------
    ConvError
        If an argument is wrong, if there are groups, if all windows lie on padding, or if the memory does
        not suffice.
    """
    _check(problem, "wgrad", x, dy)
    if reason := picture_refuses(problem):
        raise UnsupportedError(f"whole picture does not serve {problem}: {reason}")
    (H, bottom), (W, right) = _used(problem, 0), _used(problem, 1)
    (top, _), (left, _) = problem.padding
    sizes = {"N": problem.C, "H": H, "W": W, "C": problem.N, "R": problem.P, "S": problem.Q}
    padding = (top, bottom), (left, right)
    whole = replace(problem, **sizes, stride=problem.dilation, dilation=problem.stride, padding=padding)
    _check_room("whole picture", {"x": whole.x_bytes, "dy": whole.w_bytes, "dw": whole.y_bytes})
    ready = _ready(whole, dy.transpose(3, 1, 2, 0), threads, algorithm)
    pictures = aligned_empty(whole.x_shape, whole.dtype)

    def run():
        pictures[...] = x[:, :H, :W].transpose(3, 1, 2, 0)  # (C, H, W, N)
        filters = np.ascontiguousarray(dy.transpose(3, 1, 2, 0))  # (K, P, Q, N)
        y = ready.with_weights(filters)(pictures)  # (C, R, S, K)
        return np.ascontiguousarray(y.transpose(3, 1, 2, 0))

    return Call(run)


def picture_refuses(problem: ConvProblem) -> str | None:
    """Say why one convolution is not enough, or why there is none."""
    if min(_used(problem, 0)[0], _used(problem, 1)[0]) < 1:
        return "no window reads a pixel"
    return no_groups(problem)


def _used(problem: ConvProblem, axis: int) -> tuple[int, int]:
    """Return the lines of x along an axis that some window reads, and those of padding behind them."""
    size, (before, _) = problem.x_shape[1 + axis], problem.padding[axis]
    read = (problem.y_shape[1 + axis] - 1) * problem.stride[axis] + problem.extent[axis] - before
    return min(size, read), max(0, read - size)


# -- what both have in common ------------------------------------------------------------------------------


def _check(problem: ConvProblem, pass_: str, *operands: np.ndarray) -> None:
    check_computed(problem)
    axes = {"x": "(N, H, W, C)", "w": "(K, R, S, C/groups)", "dy": "(N, P, Q, K)"}
    for name, array in zip(PASSES[pass_].reads, operands, strict=True):
        check_array(name, array, shape_of(problem, name), axes[name], (problem.dtype,))


def _check_room(name: str, sizes: dict[str, int]) -> None:
    if lacking := Memory().lacking(sizes):
        raise WorkspaceError(f"{name} {lacking}; make the batch N, or the pictures, smaller")


def _ready(whole: ConvProblem, w: np.ndarray, threads: int, algorithm: str) -> Plan:
    """Return a plan; "auto" counts the packing, for the filters are new in every run."""
    how: dict[str, Any] = {"algorithm": algorithm, "backend": "cpu", "threads": threads}
    if isinstance(algorithm, str) and algorithm == "auto":
        how["algorithm"], _ = fastest(whole, "cpu", threads, Memory(), include_packing=True)
    return plan(whole, np.ascontiguousarray(w), **how)
