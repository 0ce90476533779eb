"""Notebook 01: a second right answer to each exercise."""

import numpy as np


def convolve(x, w, stride, padding):
    """Tap by tap: each multiplies a shifted picture."""
    x = np.pad(x, [(0, 0), (padding,) * 2, (padding,) * 2, (0, 0)])
    _, R, S, _ = w.shape
    P, Q = (x.shape[1] - R) // stride + 1, (x.shape[2] - S) // stride + 1
    return sum(
        x[:, r : r + P * stride : stride, s : s + Q * stride : stride][:, :P, :Q] @ w[:, r, s].T
        for r in range(R)
        for s in range(S)
    )


def mend(x, w, stride, top, left):
    """The border of zeros is made, not asked about."""
    return convolve(np.pad(x, [(0, 0), (top, top), (left, left), (0, 0)]), w, stride, 0)


RIGHT = {
    "output_size": lambda H, R, s, p, d: len(range(0, H + 2 * p - d * (R - 1), s)),
    "mend": mend,
    "convolve": convolve,
}
