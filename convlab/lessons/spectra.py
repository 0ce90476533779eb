"""The exercises of notebook 07: correlate by spectra, good sizes, how many tiles."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.cost.formula import fast_size
from convlab.lessons.exercise import Exercise
from convlab.oracle import reference
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div


def _one_channel() -> Iterator[tuple]:
    """(x, w) with one channel, none of them square, the filters not symmetric."""
    rng = np.random.default_rng(8)
    for (H, W), (R, S) in (
        ((3, 4), (2, 1)),
        ((4, 3), (1, 2)),
        ((5, 6), (3, 2)),
        ((7, 9), (4, 5)),
        ((2, 3), (3, 4)),
    ):
        yield rng.integers(1, 9, (H, W)).astype(np.float64), rng.integers(1, 9, (R, S)).astype(np.float64)


def _correlate_behind(x, w):
    (H, W), (R, S) = x.shape, w.shape
    behind = ConvProblem(1, H, W, 1, 1, R, S, padding=((0, R - 1), (0, S - 1)))
    return reference(x[None, :, :, None], w[None, :, :, None], behind)[0, :, :, 0]


def _tilings() -> Iterator[tuple]:
    """(P, R, tile): one tile, exactly two, one more; larger filters."""
    yield 5, 3, 8
    yield 6, 3, 8
    yield 7, 3, 8
    yield 12, 3, 8
    yield 56, 3, 32
    yield 56, 7, 32
    yield 100, 32, 32
    yield 9, 1, 3


EXERCISES: dict[str, Exercise] = {
    "correlate": Exercise(
        "my_correlate(x, w) returns y (H, W): w (R, S) slides over x (H, W), with R-1 rows of zeros below "
        "and S-1 columns on the right.",
        _one_channel,
        _correlate_behind,
        arguments=("x", "w"),
    ),
    "fast_size": Exercise(
        "my_fast_size(n) returns the smallest number that is not below n and has no factor but 2, 3 and 5.",
        lambda: ((n,) for n in (1, 2, 7, 11, 13, 31, 58, 86, 127, 210, 257, 1000)),
        fast_size,
        arguments=("n",),
    ),
    "tiles": Exercise(
        "tiles(P, R, tile) returns how many tiles of `tile` rows it takes to compute P rows of output.",
        _tilings,
        lambda P, R, tile: ceil_div(P, tile - R + 1),
        arguments=("P", "R", "tile"),
    ),
}
