"""Pictures and filters to try an answer on, and which pixels an output reads.

The first cases are small and of whole numbers, so that a wrong answer is off by a whole number and can be
worked out on paper. The last are of fractions: no answer in integers comes through.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np


def pictures(*shapes, seed: int = 7) -> Iterator[tuple]:
    """Yield (x, w, stride, padding) for shapes (N, H, W, C, K, R, S), each with its stride and padding.

    The last has numbers with fractions, the others whole ones from 1 to 8.
    """
    rng = np.random.default_rng(seed)
    for number, ((N, H, W, C, K, R, S), stride, padding) in enumerate(shapes, 1):
        x, w = (filled(rng, *s, whole=number < len(shapes)) for s in ((N, H, W, C), (K, R, S, C)))
        yield x, w, stride, padding


def filled(rng: np.random.Generator, *shape: int, whole: bool = True, dtype: type = np.float32) -> np.ndarray:
    """Return an array of whole numbers from 1 to 8, or of fractions around zero."""
    numbers = rng.integers(1, 9, shape) if whole else rng.standard_normal(shape)
    return numbers.astype(dtype)


def convolutions() -> Iterator[tuple]:
    """Yield (x, w, stride, padding), the smallest first."""
    return pictures(
        ((1, 3, 4, 1, 1, 2, 2), 1, 0),
        ((1, 3, 3, 2, 1, 2, 2), 1, 0),
        ((1, 5, 4, 1, 1, 3, 2), 2, 0),
        ((1, 4, 5, 1, 1, 3, 2), 1, 1),
        ((1, 5, 4, 3, 1, 2, 3), 1, 0),
        ((1, 5, 4, 2, 3, 2, 3), 2, 2),
        ((2, 6, 5, 2, 2, 3, 1), 1, 1),
        ((1, 4, 3, 2, 2, 1, 1), 2, 1),  # one tap, and yet not every pixel
        ((1, 5, 6, 2, 2, 2, 2), 3, 0),  # pixels that no window reaches
        ((1, 6, 6, 2, 2, 2, 2), 2, 0),
        ((2, 7, 6, 3, 4, 3, 2), 2, 1),
    )


def windows() -> Iterator[tuple]:
    """Yield (x, R, S, stride, padding): the numbers of x count on, so that each says where it stood."""
    sizes = (
        ((1, 3, 4, 1), 2, 2, 1, 0),
        ((1, 4, 3, 1), 2, 2, 1, 1),
        ((1, 3, 3, 2), 2, 2, 1, 0),
        ((1, 5, 7, 1), 3, 2, 2, 0),
        ((1, 5, 4, 3), 2, 3, 1, 0),
        ((2, 3, 4, 1), 2, 2, 1, 0),
        ((2, 8, 5, 2), 3, 2, 3, 1),
        ((1, 3, 4, 2), 1, 1, 2, 0),  # one tap, and yet not every pixel
        ((1, 5, 6, 1), 2, 2, 3, 0),  # pixels that no window reaches
    )
    for shape, *others in sizes:
        yield np.arange(1, 1 + math.prod(shape), dtype=np.float32).reshape(shape), *others
    yield filled(np.random.default_rng(7), 2, 6, 8, 3, whole=False), 3, 4, 2, 2


def taps_of(index: tuple[int, ...], x, w, stride: int, padding: int) -> tuple[str, list[tuple[int, ...]]]:
    """Return which pixels of x an output reads, in the first channel: the `window` of a convolution."""
    n, p, q, *_ = index
    _, R, S = w.shape[:3]
    corner = p * stride - padding, q * stride - padding
    return "x", [(n, corner[0] + r, corner[1] + s, 0) for r in range(R) for s in range(S)]
