"""Winograd's tiles for stride 2, the fast form: fold, then `convlab.algorithms.winograd.cpu`."""

from __future__ import annotations

import numpy as np

from convlab.algorithms.winograd import cpu as winograd
from convlab.algorithms.winograd_s2d.space_to_depth import M, empty_fold, fold_weights, folded
from convlab.cpu.copy_run import copy_run
from convlab.cpu.jit import njit, prange
from convlab.cpu.threads import bound_for, in_turn, parallel_for
from convlab.problem import ConvProblem


def pack(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return the transformed weights of the folded filters, in panels."""
    return winograd.pack(M, folded(problem), fold_weights(problem, w))


def allocate(problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    """Return z (N, rows, columns, 4*C), and the workspace of the rest."""
    return {"z": empty_fold(problem)} | winograd.allocate(M, folded(problem), threads)


def run(problem, x, packed, workspace, out, threads):
    """Fill out.y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    _launch(parallel_for, problem, x, packed, workspace, out, threads)


def bind(problem, x, packed, workspace, out, threads):
    """Return `run` with these arguments, as a function of nothing: only kernels are left to call."""
    return in_turn(_launch(bound_for, problem, x, packed, workspace, out, threads))


def _launch(launch, problem, x, packed, workspace, out, threads):
    z, (_, (top, left), _) = workspace["z"], problem.geometry
    lines = (len(z) * z.shape[1], 1), (1, 1)
    arrays = x.reshape(-1), z.reshape(-1), (*x.shape[1:], *z.shape[1:3]), top, left
    fold = launch(threads, *lines, _fold, _shared, *arrays)
    return fold, winograd.launched(launch, M, folded(problem), z, packed, workspace, out, threads)


@njit
def _fold(low, high, left, right, x, z, sizes, above, before):
    """Fill the lines low..high of z, counted through the whole batch; x and z are flat.

    Two neighbours of a line are copied at a time: they lie side by side in x, and in z.
    """
    H, W, C, rows, columns = sizes
    for line in range(low, high):
        n, i = divmod(line, rows)
        for a in range(2):
            h = 2 * i + a - above
            if 0 <= h < H:
                for j in range(columns):
                    w = 2 * j - before
                    first, end = max(0, -w), min(2, W - w)  # which of the two lie in the picture
                    if first < end:
                        to = (((line * columns + j) * 2 + a) * 2 + first) * C
                        start = ((n * H + h) * W + w + first) * C
                        copy_run(z, to, x, start, (end - first) * C)


@njit(parallel=True)
def _shared(parts, x, z, sizes, above, before):
    for part in prange(len(parts)):
        _fold(parts[part, 0], parts[part, 1], 0, 1, x, z, sizes, above, before)
