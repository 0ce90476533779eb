"""Implicit GEMM with NumPy: a block of the matrix is gathered, multiplied, and forgotten."""

from __future__ import annotations

import numpy as np

from convlab.index_map import LAYOUTS, IndexMap
from convlab.support.checked import Index, checked
from convlab.support.checks import check_numbers

BLOCKS = (32, 64, 16)  # block_m, block_n, block_k: small, as the index arrays outweigh the block


@checked
def gather(x: np.ndarray, index: IndexMap, m: Index, k: Index, group: int = 0) -> np.ndarray:
    """Return a block of the matrix A.

    Parameters
    ----------
    x : ndarray
        The picture, in the layout of `index`.
    index : IndexMap
    m, k : ndarray of int, (rows,) and (columns,)
        Which rows and columns of A.
    group : int

    Returns
    -------
    ndarray, (rows, columns)
    """
    shape = tuple(index.problem.letters[axis] for axis in LAYOUTS[index.layout][0])
    check_numbers("x", x, shape, f"({', '.join(LAYOUTS[index.layout][0])})")
    return _gathered(x, index, np.atleast_1d(m), np.atleast_1d(k), group)


def _gathered(x, index, m, k, group):
    return taken(x, index.x_at(m[:, None], k, group))


def taken(array: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the numbers of an array that lie at some places, 0 where the place is -1."""
    block = array.reshape(-1)[at]
    block[at < 0] = 0
    return block


def run(given, problem, x, w, workspace, y, threads):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and w (K, R, S, C/groups).

    `given` is (block_m, block_n, block_k), None where the library chooses.
    """
    block_m, block_n, block_k = (wanted or usual for wanted, usual in zip(given, BLOCKS, strict=True))
    index = IndexMap(problem)
    M, filters, taps = problem.gemm
    b = w.reshape(problem.groups, filters, taps)
    out = y.reshape(M, problem.groups, filters)
    for g in range(problem.groups):
        for m0 in range(0, M, block_m):
            m = np.arange(m0, min(m0 + block_m, M))
            for n0 in range(0, filters, block_n):
                sums = 0  # (block_m, block_n)
                for k0 in range(0, taps, block_k):
                    k = np.arange(k0, min(k0 + block_k, taps))
                    a = _gathered(x, index, m, k, g)  # (block_m, block_k)
                    sums = sums + a @ b[g, n0 : n0 + block_n, k0 : k0 + block_k].T
                out[m0 : m0 + block_m, g, n0 : n0 + block_n] = sums
