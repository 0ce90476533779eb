"""Notebook 03: a second right answer to each exercise."""

import numpy as np


def blocked_product(a, b, size):
    """Blocks of a fixed size in arrays of their own, filled up with zeros, as a kernel keeps them."""
    (M, K), N = a.shape, b.shape[1]
    y = np.zeros((M, N))
    for m, n, k in np.ndindex(-(-M // size), -(-N // size), -(-K // size)):
        left, right = np.zeros((size, size)), np.zeros((size, size))
        part = a[m * size : (m + 1) * size, k * size : (k + 1) * size]
        left[: part.shape[0], : part.shape[1]] = part
        part = b[k * size : (k + 1) * size, n * size : (n + 1) * size]
        right[: part.shape[0], : part.shape[1]] = part
        block = y[m * size : (m + 1) * size, n * size : (n + 1) * size]
        block += (left @ right)[: block.shape[0], : block.shape[1]]
    return y


def pack(b, cols):
    """Fill up first, then cut."""
    wide = np.pad(b, ((0, 0), (0, -b.shape[1] % cols)))
    return np.stack(np.split(wide, wide.shape[1] // cols, axis=1))


RIGHT = {
    "pack": pack,
    "blocked_product": blocked_product,
    "registers": lambda rows, vectors: (rows + 1) * vectors + 1,
}
