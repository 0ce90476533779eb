"""Winograd's tiles for stride 2, the fast form: fold, then `convlab.algorithms.winograd.cpu`."""

from __future__ import annotations

import numpy as np

from convlab.algorithms.winograd import cpu as winograd
from convlab.algorithms.winograd_s2d.space_to_depth import M, empty_fold, fold_weights, folded
from convlab.cpu.copy_run import copy_run
from convlab.cpu.jit import njit
from convlab.problem import ConvProblem


def pack(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return the transformed weights of the folded filters, in panels."""
    return winograd.pack(M, folded(problem), fold_weights(problem, w))


def allocate(problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    """Return z (N, rows, columns, 4*C), and the workspace of the rest."""
    return {"z": empty_fold(problem)} | winograd.allocate(M, folded(problem), threads)


def run(problem, x, packed, workspace, out, threads):
    """Fill out.y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    z, (_, (top, left), _) = workspace["z"], problem.geometry
    _fold(x.reshape(-1), z.reshape(-1), (*x.shape, *z.shape[1:3]), top, left)
    winograd.run(M, folded(problem), z, packed, workspace, out, threads)


@njit
def _fold(x, z, sizes, top, left):
    """Copy two neighbours of a line at a time: they lie side by side in x, and in z; both are flat."""
    N, H, W, C, rows, columns = sizes
    for n in range(N):
        for i in range(rows):
            for a in range(2):
                h = 2 * i + a - top
                if 0 <= h < H:
                    for j in range(columns):
                        w = 2 * j - left
                        first, end = max(0, -w), min(2, W - w)  # which of the two lie in the picture
                        if first < end:
                            to = ((((n * rows + i) * columns + j) * 2 + a) * 2 + first) * C
                            start = ((n * H + h) * W + w + first) * C
                            copy_run(z, to, x, start, (end - first) * C)
