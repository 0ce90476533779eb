"""The error laboratory: what rounding does to Winograd's convolution, foretold, and measured against float64.

What is foretold comes from the matrices alone: how large the numbers are that cancel. To measure it, every
stage is computed and rounded in the type under test: V, U, M and y. For float16 the sums themselves are kept
in float32, as matrix units of graphics cards do, so only what is stored is rounded.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import prod

import numpy as np

from convlab.algorithms.winograd.transforms import in_steps, matrices, transforms
from convlab.problem import DTYPES
from convlab.support.checked import Count, checked
from convlab.support.checks import check_dtype


@checked
def amplification(m: Count, points: Iterable | None = None, r: Count = 3) -> float:
    """Return how large the numbers are that cancel in one output, beside the output itself.

    With inputs and weights of size 1, V[e] * U[e] is about norm(BT[e]) * norm(G[e]) large in each dimension.
    AT takes n of them to a result that is the square root of r large; their rounding errors stay behind.
    Errors add up like independent numbers, in squares.
    """
    AT, G, BT = matrices(m, points, r)
    sizes = np.linalg.norm(BT, axis=1) * np.linalg.norm(G, axis=1)  # (n,)
    return float(np.max(AT**2 @ sizes**2) / r)  # two dimensions: the root of a square


@lru_cache
def growth(m: int, r: int = 3) -> float:
    """Return a bound of all numbers on the way, for one channel, where no pixel and no weight is above 1.

    A row of a matrix makes of numbers up to 1 one that is at most the sum of its absolute values. That holds
    for each of the steps a matrix is applied in, and each is applied twice, along both axes.
    """
    AT, G, BT = transforms(m, r=r)
    steps = *in_steps(BT), G, *in_steps(AT)
    return prod(max(1.0, float(max(sum(map(abs, row)) for row in step))) for step in steps) ** 2


@checked
def measured_error(m: Count, points: Iterable | None = None, dtype="float32", C: Count = 64) -> float:
    """Return max |error| / rms(y) of F(m x m, 3x3) on as many tiles as 36 x 36 outputs take, and 16 filters.

    Sums are taken one product after another, as a kernel's registers do: a BLAS, which adds up in parts,
    would lose less of a long sum than of a short one.

    Parameters
    ----------
    m : int
        Outputs of a tile along an axis; 1 is the definition itself, a plain sum.
    points : iterable, optional
        Interpolation points, m + 1 of them; infinity is added. By default the library's, for m = 2, 4, 6.
    dtype : dtype
        What is stored between the stages: float16, float32 or float64.
    C : int
        Channels: pixels are N(0, 1), weights are scaled to give outputs of the same size.

    Returns
    -------
    float
        Infinite if a number leaves the range of `dtype`.
    """
    rng = np.random.default_rng(m)
    dtype = np.dtype(check_dtype(dtype, DTYPES))
    wide = np.float64 if dtype == np.float64 else np.float32

    def stored(array):
        return array.astype(dtype).astype(wide)

    tiles, K, n = -(-36 * 36 // m**2), 16, m + 2
    d = stored(rng.standard_normal((tiles, C, n, n)))
    g = stored(rng.standard_normal((K, C, 3, 3)) * np.sqrt(2 / (9 * C)))
    windows = np.lib.stride_tricks.sliding_window_view(d, (3, 3), axis=(2, 3))  # (tiles, C, m, m, 3, 3)
    exact = np.einsum("tcijrs,kcrs->tkij", windows.astype(np.float64), g.astype(np.float64), optimize=True)
    if m == 1:
        y = np.zeros(exact.shape, wide)
        for r, s, c in np.ndindex(3, 3, C):
            y += windows[:, None, c, :, :, r, s] * g[:, c, r, s, None, None]  # (tiles, K, 1, 1)
    else:
        AT, G, BT = matrices(m, points)
        with np.errstate(over="ignore", invalid="ignore"):  # numbers may leave float16's range: that is told
            U = stored(G @ g.astype(np.float64) @ G.T)  # (K, C, n, n): rounded once
            V = stored(BT.astype(wide) @ d @ BT.T.astype(wide))  # (tiles, C, n, n)
            M = np.zeros((tiles, K, n, n), wide)
            for c in range(C):
                M += V[:, None, c] * U[:, c]
            y = stored(AT.astype(wide) @ stored(M) @ AT.T.astype(wide))
    error = np.abs(stored(y) - exact).max() / np.sqrt(np.mean(exact**2))
    return float(error) if np.isfinite(error) else np.inf
