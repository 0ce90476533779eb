"""Pictures and filters to try an answer on: of whole numbers, so a wrong answer is off by a whole number."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def pictures(*shapes) -> Iterator[tuple]:
    """Yield (x, w, stride, padding) for shapes (N, H, W, C, K, R, S), each with its stride and padding."""
    rng = np.random.default_rng(7)
    for (N, H, W, C, K, R, S), stride, padding in shapes:
        x = rng.integers(1, 9, (N, H, W, C)).astype(np.float32)
        w = rng.integers(1, 9, (K, R, S, C)).astype(np.float32)
        yield x, w, stride, padding


def convolutions() -> Iterator[tuple]:
    """Yield (x, w, stride, padding), the smallest first."""
    yield from pictures(
        ((1, 3, 4, 1, 1, 2, 2), 1, 0),
        ((1, 3, 3, 2, 1, 2, 2), 1, 0),
        ((1, 5, 4, 1, 1, 3, 2), 2, 0),
        ((1, 4, 5, 1, 1, 3, 2), 1, 1),
        ((1, 5, 4, 3, 1, 2, 3), 1, 0),
        ((1, 5, 4, 2, 3, 2, 3), 2, 2),
        ((2, 6, 5, 2, 2, 3, 1), 1, 1),
    )
