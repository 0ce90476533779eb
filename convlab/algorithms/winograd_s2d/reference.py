"""Winograd's tiles for stride 2 with NumPy: fold, then `convlab.algorithms.winograd.reference`."""

from __future__ import annotations

import numpy as np

from convlab.algorithms.winograd import reference as winograd
from convlab.algorithms.winograd_s2d.space_to_depth import M, empty_fold, fold, fold_weights, folded
from convlab.problem import ConvProblem


def pack(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return the transformed weights of the folded filters."""
    return winograd.pack(M, folded(problem), fold_weights(problem, w))


def allocate(problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    """Return z (N, rows, columns, 4*C), and the workspace of the rest."""
    return {"z": empty_fold(problem)} | winograd.allocate(M, folded(problem), threads)


def run(problem, x, packed, workspace, y, threads):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    fold(problem, x, workspace["z"])
    winograd.run(M, folded(problem), workspace["z"], packed, workspace, y, threads)
