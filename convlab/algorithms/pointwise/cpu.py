"""Pointwise convolution, the fast form: x as it lies is im2row's matrix."""

from __future__ import annotations

from functools import partial

from convlab.algorithms.im2row.cpu import bound, multiply
from convlab.cpu.gemm import pack_filters as pack

__all__ = ["bind", "pack", "run"]


def run(problem, x, panels, workspace, out, threads):
    """Fill out.y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    multiply(problem, x, panels, out, threads)


def bind(problem, x, panels, workspace, out, threads):
    """Return `run` with these arguments, as a function of nothing: only kernels are left to call."""
    first, *others = bound(problem, x, panels, out, threads)
    return partial(_all_of, (first, *others)) if others else first


def _all_of(calls):
    for call in calls:
        call()
