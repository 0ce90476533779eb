"""Depthwise convolution with NumPy: for each tap, a line of pixels at a time."""

from __future__ import annotations


def run(problem, x, w, workspace, y, threads):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and w (K, R, S, 1)."""
    y[...] = 0
    for image, out in zip(x, y, strict=True):
        for r in range(problem.R):
            for s in range(problem.S):
                (p, q), (row, col) = problem.inside(r, s)
                for line, sums in zip(image[row], out[p], strict=True):
                    channels = line[col].repeat(problem.K // problem.C, axis=1)  # k // m for filter k
                    sums[q] += channels * w[:, r, s, 0]
