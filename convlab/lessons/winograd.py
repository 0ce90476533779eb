"""The exercises of notebook 06: how many products, one tile, a whole picture in tiles."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.algorithms.winograd.transforms import matrices
from convlab.lessons.exercise import Exercise
from convlab.oracle import reference
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div


def _outputs() -> Iterator[tuple]:
    """(P, Q, C, K, m) of a layer and the outputs of a tile along an axis."""
    yield 4, 4, 1, 1, 2
    yield 6, 4, 2, 3, 2
    yield 56, 56, 64, 64, 4
    yield 13, 13, 64, 256, 4  # tiles hang over
    yield 7, 9, 8, 5, 6


def _tiles() -> Iterator[tuple]:
    """(d, g, AT, G, BT): one tile of pixels, a filter, and the matrices."""
    rng = np.random.default_rng(6)
    for m in (2, 2, 4, 6):
        d, g = (rng.integers(1, 9, (side, side)).astype(np.float64) for side in (m + 2, 3))
        yield d, g, *matrices(m)


def _tiled_pictures() -> Iterator[tuple]:
    """(x, g, m, AT, G, BT)."""
    rng = np.random.default_rng(8)
    for H, W, m in ((4, 4, 2), (4, 6, 2), (8, 6, 2), (10, 6, 4), (7, 9, 2), (12, 9, 4)):
        x, g = rng.integers(1, 9, (H, W)).astype(np.float64), rng.integers(1, 9, (3, 3)).astype(np.float64)
        yield x, g, m, *matrices(m)


def _correlate(x, g):
    """Return the valid outputs of one picture and one filter."""
    (H, W), (R, S) = x.shape, g.shape
    problem = ConvProblem(1, H, W, 1, 1, R, S)
    return reference(x[None, :, :, None], g[None, :, :, None], problem)[0, :, :, 0]


EXERCISES: dict[str, Exercise] = {
    "winograd_products": Exercise(
        "winograd_products(P, Q, C, K, m) returns the multiplications of pixels and weights, both "
        "transformed, in a layer of P x Q outputs cut into tiles of m x m, with 3x3 filters.",
        _outputs,
        lambda P, Q, C, K, m: ceil_div(P, m) * ceil_div(Q, m) * (m + 2) ** 2 * C * K,
        arguments=("P", "Q", "C", "K", "m"),
    ),
    "winograd_tile": Exercise(
        "winograd_tile(d, g, AT, G, BT) returns the m x m outputs of a filter g (3, 3) on pixels d (n, n).",
        _tiles,
        lambda d, g, AT, G, BT: _correlate(d, g),
        arguments=("d", "g", "AT", "G", "BT"),
    ),
    "winograd_picture": Exercise(
        "winograd_picture(x, g, m, AT, G, BT) returns y (H-2, W-2) of a filter g (3, 3) on a picture x "
        "(H, W), computed in tiles of m x m outputs.",
        _tiled_pictures,
        lambda x, g, m, AT, G, BT: _correlate(x, g),
        arguments=("x", "g", "m", "AT", "G", "BT"),
    ),
}
