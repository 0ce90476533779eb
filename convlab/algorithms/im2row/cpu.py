"""im2row, the fast form: the matrix is filled from top to bottom, then multiplied on the register tile."""

from __future__ import annotations

import numpy as np

from convlab.algorithms.im2row.reference import allocate
from convlab.cpu.copy_run import copy_run
from convlab.cpu.epilogue import Output
from convlab.cpu.gemm import gemm, pack_filters
from convlab.cpu.jit import njit
from convlab.cpu.product_tile import tile_of
from convlab.cpu.threads import parallel_for
from convlab.problem import ConvProblem

__all__ = ["allocate", "pack", "run"]

pack = pack_filters


def run(problem, x, panels, workspace, out, threads):
    """Fill out.y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    rows, taps = workspace["rows"], (problem.P, problem.Q, problem.R, problem.S)
    _fill(x.reshape(-1), rows.reshape(-1), x.shape, taps, *problem.geometry, problem.groups)
    multiply(problem, rows, panels, out, threads)


def multiply(
    problem: ConvProblem, rows: np.ndarray, panels: np.ndarray, out: Output, threads: int, launch=parallel_for
) -> list:
    """Fill out.y with the product of a matrix (N*P*Q, R*S*C), of any shape, and the packed filters.

    Returned is what `launch` returns for the product of each group.
    """
    M, filters, taps = problem.gemm
    a, steps = rows.reshape(-1), (problem.groups * taps, 1)  # from row to row, and along a row
    how = threads, launch, tile_of(problem)
    return [
        gemm(a[g * taps :], *steps, panels[g], out, g * filters, M, filters, taps, *how)
        for g in range(problem.groups)
    ]


@njit
def _fill(x, rows, shape, taps, stride, corner, dilation, groups):
    """Write the matrix from top to bottom; x and rows are flat, `shape` is x's."""
    N, H, W, C = shape
    P, Q, R, S = taps
    channels = C // groups
    # Taps that lie side by side in x are copied as one run; dilation and groups tear them apart.
    together = S if dilation[1] == 1 and groups == 1 else 1
    at = 0
    for n in range(N):
        for p in range(P):
            for q in range(Q):
                for g in range(groups):
                    for r in range(R):
                        row = p * stride[0] + r * dilation[0] - corner[0]
                        s = 0
                        while s < S:
                            col = q * stride[1] + s * dilation[1] - corner[1]
                            first, last = 0, 0  # which of these taps hit the picture
                            if 0 <= row < H:
                                first = min(max(-col, 0), together)
                                last = max(first, min(together, W - col))
                            if first > 0:
                                rows[at : at + first * channels] = 0
                            start = ((n * H + row) * W + col + first) * C + g * channels
                            copy_run(rows, at + first * channels, x, start, (last - first) * channels)
                            if last < together:
                                rows[at + last * channels : at + together * channels] = 0
                            at += together * channels
                            s += together
