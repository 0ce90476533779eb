"""The exercises of notebook 03: panels, blocks, registers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.cpu.tile_model import TileBounds
from convlab.lessons.exercise import Exercise
from convlab.support.integers import ceil_div


def _matrices() -> Iterator[tuple]:
    """(b, cols)."""
    for K, N, cols in ((2, 4, 2), (3, 4, 4), (2, 5, 2), (4, 3, 8), (3, 12, 4)):
        yield np.arange(1, K * N + 1, dtype=np.float32).reshape(K, N), cols


def _panels(b, cols) -> np.ndarray:
    K, N = b.shape
    panels = np.zeros((ceil_div(N, cols), K, cols), b.dtype)
    for n in range(N):
        panels[n // cols, :, n % cols] = b[:, n]
    return panels


def _products() -> Iterator[tuple]:
    """(a, b, size), with whole numbers."""
    rng = np.random.default_rng(5)
    for M, N, K, size in ((2, 2, 2, 2), (2, 2, 4, 2), (4, 2, 2, 2), (3, 3, 3, 2), (5, 7, 6, 3), (4, 4, 4, 9)):
        yield (*(rng.integers(1, 9, shape).astype(np.float32) for shape in ((M, K), (K, N))), size)


def _tiles() -> Iterator[tuple]:
    """(rows, vectors)."""
    yield from ((1, 1), (4, 1), (7, 2), (6, 2), (14, 2), (9, 3), (7, 4))


EXERCISES: dict[str, Exercise] = {
    "pack": Exercise(
        "my_pack(b, cols) returns b (K, N) in panels of `cols` columns, (ceil(N/cols), K, cols), "
        "the last one filled up with zeros.",
        _matrices,
        _panels,
        arguments=("b", "cols"),
    ),
    "blocked_product": Exercise(
        "blocked_product(a, b, size) returns a @ b, computed block by block: no block has more than "
        "`size` rows or columns.",
        _products,
        lambda a, b, size: a @ b,
        arguments=("a", "b", "size"),
    ),
    "registers": Exercise(
        "registers(rows, vectors) returns how many vector registers a tile of rows x vectors wants, "
        "with a row of weights and one number of a.",
        _tiles,
        lambda rows, vectors: TileBounds(rows, vectors).used,
        arguments=("rows", "vectors"),
    ),
}
