"""The tiles of `fft_tiled`: how large they are, where they begin, and how they are cut out of the picture."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.algorithms.fft.transforms import chunks
from convlab.cost.formula import fast_size
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div

TILE = 32  # rows and columns, if the filter has less than half of that


def tile_size(problem: ConvProblem) -> tuple[int, int]:
    """Return rows and columns of a tile; the columns are even."""
    rows, cols = (
        ceil_div(out, ceil_div(out, max(TILE - taps + 1, taps + 1))) + taps - 1  # outputs shared evenly
        for out, taps in ((problem.P, problem.R), (problem.Q, problem.S))
    )
    return fast_size(rows), 2 * fast_size(ceil_div(cols, 2))


def good_outputs(problem: ConvProblem, size: tuple[int, int]) -> tuple[int, int]:
    """Return rows and columns of a tile's outputs that do not wrap around."""
    return size[0] - problem.R + 1, size[1] - problem.S + 1


def tiles(problem: ConvProblem, size: tuple[int, int]) -> list[tuple[int, int, int]]:
    """Return where every tile's outputs begin, as (n, p, q)."""
    step = good_outputs(problem, size)
    return [
        (n, p, q)
        for n in range(problem.N)
        for p in range(0, problem.P, step[0])
        for q in range(0, problem.Q, step[1])
    ]


def tile_count(problem: ConvProblem) -> int:
    """Return the tiles of the whole batch."""
    step = good_outputs(problem, tile_size(problem))
    return problem.N * ceil_div(problem.P, step[0]) * ceil_div(problem.Q, step[1])


def cut(problem: ConvProblem, x: np.ndarray, corners, pictures: np.ndarray) -> None:
    """Copy the tiles at some corners from x into pictures (B, rows, cols, C), zero outside of x."""
    (top, _), (left, _) = problem.padding
    for picture, (n, p, q) in zip(pictures, corners, strict=True):
        picture[...] = 0
        rows, into_rows = _overlap(p - top, picture.shape[0], problem.H)
        cols, into_cols = _overlap(q - left, picture.shape[1], problem.W)
        picture[into_rows, into_cols] = x[n, rows, cols]


def _overlap(first: int, count: int, size: int) -> tuple[slice, slice]:
    """Return which of `count` pixels from `first` on lie in a picture of `size`: there, and counted here."""
    low, high = max(first, 0), max(min(first + count, size), 0)
    low = min(low, high)
    return slice(low, high), slice(low - first, high - first)


def corners_in_chunks(problem: ConvProblem, size) -> Iterator[list[tuple[int, int, int]]]:
    """Yield where the outputs of some tiles begin, as (n, p, q), until all had their turn."""
    places = tiles(problem, size)
    return (places[chunk] for chunk in chunks(len(places)))
