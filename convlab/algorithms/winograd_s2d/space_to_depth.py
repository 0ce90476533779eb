"""Stride 2 folded away: blocks of 2 x 2 pixels become single pixels of four times the channels.

    z[n, i, j, (a, b, c)] = x[n, 2*i + a - top, 2*j + b - left, c]       0 where that is padding
    v[k, i, j, (a, b, c)] = w[k, 2*i + a, 2*j + b, c]                    0 where there is no such tap
    y[n, p, q, k]         = sum over i, j and (a, b, c) of z[n, p + i, q + j] * v[k, i, j]

What steps by two in x steps by one in z, and a filter of 7 x 7 taps becomes one of 4 x 4. So what was made
for stride 1 now serves stride 2. The price is a copy of x, and some zeros among the taps. `winograd_s2d`
multiplies what is made here.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty
from convlab.support.checked import checked, kept
from convlab.support.checks import check_array
from convlab.support.integers import ceil_div

M = 4  # outputs of a tile along an axis
TAPS = (3, 4)  # of the folded filters; with 2 the price is as high as the gain


def folded_taps(problem: ConvProblem) -> int:
    """Return the side of a folded filter, which is made square."""
    return ceil_div(max(problem.R, problem.S), 2)


@kept
def folded(problem: ConvProblem) -> ConvProblem:
    """Return the same convolution as one of stride 1 on the folded picture, whose padding is part of it."""
    (N, P, Q, K), r = problem.y_shape, folded_taps(problem)
    return ConvProblem(N, P + r - 1, Q + r - 1, 4 * problem.C, K, r, r, dtype=problem.dtype)


@checked
def fold_weights(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return w (K, R, S, C) as v (K, r, r, 4*C)."""
    check_array("w", w, problem.w_shape, "(K, R, S, C)")
    K, r, _, _ = folded(problem).w_shape
    taps = np.zeros((K, 2 * r, 2 * r, problem.C), w.dtype)
    taps[:, : problem.R, : problem.S] = w  # the others stay zero
    return taps.reshape(K, r, 2, r, 2, -1).transpose(0, 1, 3, 2, 4, 5).reshape(K, r, r, -1)


def empty_fold(problem: ConvProblem) -> np.ndarray:
    """Return z (N, rows, columns, 4*C), whose padding is zero from the beginning and stays so."""
    z = aligned_empty(folded(problem).x_shape, problem.dtype)
    z[...] = 0
    return z


@checked
def fold_numpy(problem: ConvProblem, x: np.ndarray, z: np.ndarray) -> None:
    """Fill z (N, rows, columns, 4*C), which is zero already where there is padding, from x (N, H, W, C)."""
    check_array("x", x, problem.x_shape, "(N, H, W, C)")
    check_array("z", z, folded(problem).x_shape, "(N, rows, columns, 4*C)", (x.dtype.name,))
    fold(problem, x, z)


def fold(problem, x, z):
    """Do the same in a run of a plan, which has been checked."""
    cells = z.reshape(*z.shape[:3], 2, 2, -1)  # (N, I, J, 2, 2, C)
    (top, _), (left, _) = problem.padding
    for a, b in product(range(2), repeat=2):
        i, rows = _hits(a - top, problem.H, z.shape[1])
        j, columns = _hits(b - left, problem.W, z.shape[2])
        cells[:, i, j, a, b] = x[:, rows, columns]


def _hits(shift: int, size: int, count: int) -> tuple[slice, slice]:
    """Return which i < count have 0 <= 2*i + shift < size, and where these lie: both as slices."""
    first = max(0, -(shift // 2))
    end = max(first, min(count, (size - shift + 1) // 2))
    return slice(first, end), slice(2 * first + shift, 2 * end + shift, 2)
