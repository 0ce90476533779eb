"""Pointwise convolution, the fast form: one product on the register tile for each group."""

from __future__ import annotations

from convlab.cpu.gemm import gemm
from convlab.cpu.gemm import pack_filters as pack

__all__ = ["pack", "run"]


def run(problem, x, panels, workspace, y, threads):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    M, filters, channels = problem.gemm
    for g in range(problem.groups):
        a, out = x.reshape(-1)[g * channels :], y.reshape(-1)[g * filters :]
        gemm(a, problem.C, 1, panels[g], out, problem.K, M, filters, channels, threads)
