"""Notebook 09: a second right answer to each exercise."""

import numpy as np


def gradient_1d(dy, w, W, stride, padding):
    """Put zeros between the numbers of dy, and slide the turned filter over them."""
    apart = np.zeros(W + 2 * padding)
    apart[: len(dy) * stride : stride] = dy
    return np.convolve(apart, w)[padding : padding + W]


def transposed_size(W, S, stride, padding, dilation):
    """Lay windows down until no further one fits; what the last of them leaves is missing."""
    width, Q, end = dilation * (S - 1) + 1, 0, -padding
    while Q * stride + width <= W + 2 * padding:
        Q, end = Q + 1, Q * stride + width - padding
    return np.array([Q, end - padding, W + padding - end])


def subfilters(w, stride, padding, row, col):
    """Take the filter turned, and of it the taps that meet the corner of a cell of dy between zeros."""
    rows, cols = (
        [r for r in range(size - 1, -1, -1) if (phase + padding - r) % stride == 0]
        for size, phase in zip(w.shape, (row, col), strict=True)
    )
    return np.array([[w[r, s] for s in cols] for r in rows]).reshape(len(rows), len(cols))


def wgrad_parts(x, dy, R, S, stride, padding, size):
    """Pixel by pixel; the parts wait in a list until all of them are there."""
    N, P, Q, _ = dy.shape
    x = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    parts = [np.float32(0) for _ in range(0, N * P * Q, size)]
    for m, (n, p, q) in reversed([*enumerate(np.ndindex(N, P, Q))]):
        window = x[n, p * stride :, q * stride :][:R, :S]
        parts[m // size] = parts[m // size] + dy[n, p, q][:, None, None, None] * window
    return np.sum(parts, axis=0)


RIGHT = {
    "gradient_1d": gradient_1d,
    "transposed_size": transposed_size,
    "subfilters": subfilters,
    "wgrad_parts": wgrad_parts,
}
