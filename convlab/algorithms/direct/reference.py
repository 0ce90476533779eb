"""Direct convolution with NumPy's numbers and Python's loops: the definition, as one writes it down."""

from __future__ import annotations

import numpy as np

from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty


def seven_loops(x, w, y, stride, corner, dilation, groups):
    """Fill y with the convolution of x and w, exactly as the definition reads.

    Parameters
    ----------
    x : ndarray, (N, H, W, C)
    w : ndarray, (K, R, S, C/groups)
    y : ndarray, (N, P, Q, K)
        Written.
    stride, dilation : (int, int)
        Vertical and horizontal.
    corner : (int, int)
        Rows of padding at the top, columns at the left.
    groups : int
    """
    N, H, W, _ = x.shape
    K, R, S, channels = w.shape  # channels of one group
    P, Q = y.shape[1:3]
    for n in range(N):
        for p in range(P):
            for q in range(Q):
                for k in range(K):
                    total = x.dtype.type(0)
                    first = k // (K // groups) * channels  # where this filter's group begins
                    for r in range(R):
                        for s in range(S):
                            for c in range(channels):
                                row = p * stride[0] + r * dilation[0] - corner[0]
                                col = q * stride[1] + s * dilation[1] - corner[1]
                                if 0 <= row < H and 0 <= col < W:
                                    total += x[n, row, col, first + c] * w[k, r, s, c]
                    y[n, p, q, k] = total


def run(problem, x, w, workspace, y, threads):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and w (K, R, S, C/groups)."""
    seven_loops(x, w, y, *problem.geometry, problem.groups)


# -- for the fast forms ------------------------------------------------------------------------------------


def filters_innermost(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return w with the filters innermost, (groups, R, S, C/groups, K/groups)."""
    _, R, S, channels = w.shape
    packed = aligned_empty((problem.groups, R, S, channels, problem.K // problem.groups), w.dtype)
    packed[...] = w.reshape(problem.groups, -1, R, S, channels).transpose(0, 2, 3, 4, 1)
    return packed
