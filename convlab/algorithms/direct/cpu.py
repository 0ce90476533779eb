"""Direct convolution, the fast form: the loop over filters inside, where they lie side by side in memory."""

from __future__ import annotations

from convlab.algorithms.direct.reference import filters_innermost as pack
from convlab.cpu.jit import njit

__all__ = ["direct", "pack", "run"]


@njit
def direct(x, w, y, stride, corner, dilation):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and packed w (G, R, S, C/G, K/G)."""
    N, H, W, _ = x.shape
    groups, R, S, channels, filters = w.shape
    P, Q = y.shape[1:3]
    for n in range(N):
        for p in range(P):
            for q in range(Q):
                y[n, p, q] = 0
                for g in range(groups):
                    out = y[n, p, q, g * filters : (g + 1) * filters]  # one pixel, all filters of a group
                    for r in range(R):
                        for s in range(S):
                            row = p * stride[0] + r * dilation[0] - corner[0]
                            col = q * stride[1] + s * dilation[1] - corner[1]
                            if 0 <= row < H and 0 <= col < W:
                                for c in range(channels):
                                    value = x[n, row, col, g * channels + c]
                                    weights = w[g, r, s, c]
                                    for k in range(filters):  # one vector instruction, many filters
                                        out[k] += value * weights[k]


def run(problem, x, packed, workspace, y, threads):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights, on one thread."""
    direct(x, packed, y, *problem.geometry)
