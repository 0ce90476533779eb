"""Precomputed implicit GEMM with NumPy: 32 rows walk together, 16 channels of a tap at a time."""

from __future__ import annotations

import numpy as np

from convlab.algorithms.precomputed_gemm.offsets import in_walking_order, steps, tables
from convlab.problem import ConvProblem

BLOCK = 16  # channels


def pack(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return the weights as the walk meets them, (groups, K/groups, R*S*C/groups)."""
    return in_walking_order(problem, w, BLOCK)


def allocate(problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    """Return the workspace: starts and masks, in tiles of 8 rows."""
    return tables(problem, rows=8)


def run(problem, x, weights, workspace, y, threads):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    flat, out = x.reshape(-1), y.reshape(-1, problem.groups, problem.K // problem.groups)
    channels = problem.C // problem.groups
    for g in range(problem.groups):
        for m in range(0, len(out), 32):  # so many rows at a time
            starts = workspace["starts"][m : m + 32, None]
            sums, k = 0, 0
            for c, r, s, distance in steps(problem, BLOCK):
                width = min(BLOCK, channels - c)
                bits = workspace["masks"][m // 8 : m // 8 + 4, r * problem.S + s]
                hit = np.unpackbits(bits, bitorder="little")[:, None]  # (rows, 1)
                at = (starts + distance + g * channels + np.arange(width)) * hit  # padding reads x[0], then 0
                sums = sums + np.where(hit, flat[at], 0) @ weights[g, :, k : k + width].T
                k += width
            out[m : m + 32, g] = sums[: len(out) - m]
