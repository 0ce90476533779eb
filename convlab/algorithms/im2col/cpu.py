"""im2col, the fast form: the matrix is filled line by line, then multiplied on the register tile."""

from __future__ import annotations

import numpy as np

from convlab.algorithms.im2col.reference import allocate, channels_first
from convlab.cpu import gemm
from convlab.cpu.jit import njit
from convlab.cpu.product_tile import tile_of
from convlab.problem import ConvProblem

__all__ = ["allocate", "pack", "run"]


def pack(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return the weights in panels, each filter's numbers in the order (c, r, s)."""
    return gemm.pack(channels_first(problem, w), tile_of(problem))


def run(problem, x, panels, workspace, out, threads):
    """Fill out.y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    cols = workspace["cols"]
    _fill(x, cols, problem.P, problem.Q, (problem.R, problem.S), *problem.geometry)
    (M, filters, taps), tile = problem.gemm, tile_of(problem)
    for g in range(problem.groups):
        a = cols.reshape(-1)[g * taps * M :]
        gemm.gemm(a, 1, M, panels[g], out, g * filters, M, filters, taps, threads, tile=tile)


@njit
def _fill(x, cols, P, Q, taps, stride, corner, dilation):
    """Write the matrix one output line at a time: the few input lines it needs stay in the cache."""
    N, H, W, C = x.shape
    R, S = taps
    for n in range(N):
        for p in range(P):
            m = (n * P + p) * Q
            for r in range(R):
                row = p * stride[0] + r * dilation[0] - corner[0]
                for s in range(S):
                    shift = s * dilation[1] - corner[1]
                    first, last = 0, 0  # the output pixels whose tap hits the picture
                    if 0 <= row < H:
                        first = min(max(0, -(shift // stride[1])), Q)
                        last = max(first, min(Q, (W - 1 - shift) // stride[1] + 1))
                    for c in range(C):
                        target = cols[(c * R + r) * S + s, m : m + Q]
                        target[:first] = 0
                        inside = target[first:last]
                        for q in range(last - first):
                            inside[q] = x[n, row, (first + q) * stride[1] + shift, c]
                        target[last:] = 0
