"""The matrix product under im2row and im2col, written with the register tile.

    y[m, n] = sum over k of a[m, k] * w[n, k]        a: M x K    w: N x K    y: M x N

`pack` lays the weights out once in the order the kernel reads them; `gemm` then fills y tile by tile.
This module needs Numba; it is imported where a fast form first runs.
"""

from __future__ import annotations

import numpy as np

from convlab.aligned import aligned_empty
from convlab.jit import njit
from convlab.tile import accumulate, store, tile_for, zeros

_TILES = 8  # in a block of pixels


def pack(w: np.ndarray) -> np.ndarray:
    """Return the weights in panels as wide as a tile, each panel stored k by k.

    Parameters
    ----------
    w : ndarray, (groups, N, K)

    Returns
    -------
    ndarray, (groups, ceil(N / cols), K, cols)
        The last panel is filled up with zeros.
    """
    groups, N, K = w.shape
    cols = tile_for(1, w.dtype.name).cols
    panels = aligned_empty((groups, -(-N // cols), K, cols), w.dtype)
    panels[:, -1] = 0
    for j in range(panels.shape[1]):
        rows = w[:, j * cols : (j + 1) * cols]  # (groups, cols or fewer, K)
        panels[:, j, :, : rows.shape[1]] = rows.swapaxes(1, 2)
    return panels


def packed_bytes(groups: int, N: int, K: int, dtype: str) -> int:
    """Return the bytes of `pack`'s panels."""
    cols = tile_for(1, dtype).cols
    return groups * -(-N // cols) * cols * K * np.dtype(dtype).itemsize


def gemm(a, a_row, a_k, panels, y, y_row, M, N, K) -> None:
    """Compute y[m*y_row + n] = sum over k of a[m*a_row + k*a_k] * w[n, k].

    Parameters
    ----------
    a, y : ndarray, one axis
        The matrices, flat. The steps between rows (`a_row`, `y_row`) and along k (`a_k`) say how they lie:
        an im2row matrix has a_row=K, a_k=1; an im2col matrix is the transpose, a_row=1, a_k=M.
    panels : ndarray, (ceil(N / cols), K, cols)
        One group's weights, from `pack`.
    M, N, K : int
        Rows of a, columns of y, length of the sums.
    """
    _gemm(tile_for(M, a.dtype.name), a, a_row, a_k, panels.reshape(-1), y, y_row, M, N, K)


@njit
def _gemm(tile, a, a_row, a_k, panels, y, y_row, M, N, K):
    block = _TILES * tile.rows
    for low in range(0, M, block):  # a block of pixels that stays in the cache for all filters
        for n in range(0, N, tile.cols):  # a panel of filters
            for top in range(low, min(low + block, M), tile.rows):  # a tile of pixels
                m = min(top, M - tile.rows)  # the last tile overlaps its neighbour: no tail kernel
                sums = zeros(tile)
                q = n * K
                for k in range(K):
                    sums = accumulate(tile, sums, a, m * a_row + k * a_k, a_row, panels, q)
                    q += tile.cols
                store(tile, sums, y, m * y_row + n, y_row, N - n)
