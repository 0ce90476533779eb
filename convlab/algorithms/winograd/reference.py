"""Winograd's convolution with NumPy: all windows are transformed, then multiplied, then transformed back."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from convlab.algorithms.winograd.tiles import tile_grid, transform_weights
from convlab.algorithms.winograd.transforms import matrices
from convlab.problem import ConvProblem

__all__ = ["allocate", "pack", "run"]

pack = transform_weights


def allocate(m: int, problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    """Return the workspace: the padded picture, V, M, and y with what hangs over its edge."""
    overlap, (down, across) = problem.R - 1, tile_grid(m, problem)
    n = m + overlap
    shapes = {
        "padded": (problem.N, down * m + overlap, across * m + overlap, problem.C),
        "V": (n, n, problem.N, down, across, problem.C),
        "M": (n, n, problem.N, down, across, problem.K),
        "whole": (problem.N, down, m, across, m, problem.K),  # y, with what hangs over its edge
    }
    return {name: np.zeros(shape, problem.dtype) for name, shape in shapes.items()}


def run(m, problem, x, U, workspace, y, threads):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and the transformed weights U."""
    AT, BT = _of_pixels(m, problem.R, problem.dtype)
    padded, V, M, whole = (workspace[name] for name in ("padded", "V", "M", "whole"))
    (top, _), (left, _) = problem.padding
    picture = padded[:, top : top + problem.H, left : left + problem.W]
    picture[...] = x[:, : picture.shape[1], : picture.shape[2]]  # no window reaches the rest
    n = len(BT)
    windows = sliding_window_view(padded, (n, n), axis=(1, 2))[:, ::m, ::m]  # (N, tiles, C, n, n)
    places, groups, filters, channels = U.shape

    np.einsum("ia,jb,Npqcab->ijNpqc", BT, BT, windows, out=V)
    pixels = V.reshape(places, -1, groups, channels).swapaxes(1, 2)  # (n*n, G, tiles, C/G)
    products = M.reshape(places, -1, groups, filters).swapaxes(1, 2)  # (n*n, G, tiles, K/G)
    np.matmul(pixels, U.swapaxes(2, 3), out=products)  # n*n independent matrix products
    np.einsum("ia,jb,abNpqk->Npiqjk", AT, AT, M, out=whole)

    N, down, _, across, _, K = whole.shape
    y[...] = whole.reshape(N, down * m, across * m, K)[:, : problem.P, : problem.Q]


@lru_cache
def _of_pixels(m: int, r: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Return AT and BT, rounded to the type of x; worked out once, for every run needs them."""
    AT, _, BT = matrices(m, r=r)
    return AT.astype(dtype), BT.astype(dtype)
