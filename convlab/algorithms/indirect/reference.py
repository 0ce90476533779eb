"""Indirect convolution with NumPy: pixel by pixel, tap by tap, through a table of tiles of one pixel."""

from __future__ import annotations

import numpy as np

from convlab.algorithms.indirect.buffer import indirection_buffer, resize
from convlab.problem import ConvProblem

__all__ = ["allocate", "resize", "run"]


def allocate(problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    """Return the workspace: the table, (P*Q, R*S, 1), and the zeros that a tap on padding reads, (C/G,)."""
    outside = np.zeros(problem.C // problem.groups, problem.dtype)
    return {"offsets": indirection_buffer(problem), "outside": outside}


def run(problem, x, w, workspace, y, threads):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and w (K, R, S, C/groups)."""
    channels, filters = problem.C // problem.groups, problem.K // problem.groups
    taps = problem.R * problem.S
    for n in range(problem.N):
        image, out = x[n].reshape(-1), y[n].reshape(-1, problem.K)
        for g in range(problem.groups):
            k = slice(g * filters, (g + 1) * filters)
            weights = w[k].reshape(filters, taps, channels)
            for m, places in enumerate(workspace["offsets"][:, :, 0]):
                out[m, k] = 0
                for t, place in enumerate(places):
                    row = workspace["outside"] if place < 0 else image[place + g * channels :][:channels]
                    out[m, k] += weights[:, t] @ row
