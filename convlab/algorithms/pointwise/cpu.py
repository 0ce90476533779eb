"""Pointwise convolution, the fast form: x as it lies is im2row's matrix."""

from __future__ import annotations

from convlab.algorithms.im2row.cpu import multiply
from convlab.cpu.gemm import pack_filters as pack
from convlab.cpu.threads import bound_for, in_turn

__all__ = ["bind", "pack", "run"]


def run(problem, x, panels, workspace, out, threads):
    """Fill out.y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    multiply(problem, x, panels, out, threads)


def bind(problem, x, panels, workspace, out, threads):
    """Return `run` with these arguments, as a function of nothing: only kernels are left to call."""
    return in_turn(multiply(problem, x, panels, out, threads, bound_for))
