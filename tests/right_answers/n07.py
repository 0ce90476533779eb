"""Notebook 07: a second right answer to each exercise."""

import numpy as np


def waves(size):
    """Return the matrix that takes `size` numbers apart into waves."""
    return np.exp(-2j * np.pi * np.outer(np.arange(size), np.arange(size)) / size)


def correlate(x, w):
    """Matrices of waves, no library's transform; the filter is flipped, so that there is no conjugate."""
    (H, W), (R, S) = x.shape, w.shape
    rows, columns = H + R + 2, W + S  # more zeros than it takes
    apart, across = waves(rows), waves(columns)
    X = apart[:, :H] @ x @ across[:W]
    F = apart[:, :R] @ w[::-1, ::-1] @ across[:S]
    y = (apart.conj() @ (X * F) @ across.conj()).real / (rows * columns)
    return y[R - 1 : R - 1 + H, S - 1 : S - 1 + W]


def fast_size(n):
    """Hamming's list: each number is 2, 3 or 5 times one that is there already."""
    sizes, at = [1], {2: 0, 3: 0, 5: 0}
    while sizes[-1] < n:
        sizes.append(min(prime * sizes[i] for prime, i in at.items()))
        at = {prime: i + (prime * sizes[i] == sizes[-1]) for prime, i in at.items()}
    return sizes[-1]


RIGHT = {
    "correlate": correlate,
    "fast_size": fast_size,
    "tiles": lambda P, R, tile: len(range(0, P, tile - R + 1)),
}
