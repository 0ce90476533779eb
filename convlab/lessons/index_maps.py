"""The exercises of notebook 05: where a cell of the matrix lives, what falls on padding, how far to walk."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.algorithms.precomputed_gemm.offsets import deltas
from convlab.index_map import IndexMap
from convlab.lessons.exercise import Exercise
from convlab.problem import ConvProblem


def _cells() -> Iterator[tuple]:
    """(m, k, P, Q, R, S, C, stride, padding) of a cell of the matrix."""
    yield 0, 0, 2, 4, 2, 2, 1, 1, 0
    yield 3, 0, 2, 4, 2, 2, 1, 1, 0  # the last pixel of the first row
    yield 5, 0, 2, 4, 2, 2, 1, 1, 0  # the second of the next: Q pixels a row
    yield 0, 2, 2, 4, 2, 2, 1, 1, 0
    yield 0, 1, 3, 4, 3, 1, 1, 1, 0  # a filter one column wide
    yield 0, 4, 3, 4, 1, 3, 2, 1, 0
    yield 10, 7, 3, 4, 2, 2, 3, 1, 0
    yield 11, 5, 3, 4, 2, 3, 1, 2, 0
    yield 6, 4, 3, 4, 3, 3, 1, 1, 1
    yield 0, 0, 3, 4, 3, 3, 1, 2, 1  # outside of the picture, above and to the left
    yield 29, 11, 3, 4, 2, 3, 2, 1, 1  # the third image


def _source(m, k, P, Q, R, S, C, stride, padding) -> np.ndarray:
    H, W = (P - 1) * stride + R - 2 * padding, (Q - 1) * stride + S - 2 * padding
    problem = ConvProblem(99, H, W, C, 1, R, S, stride=stride, padding=padding)
    return np.array(IndexMap(problem).source(m, k))


def _rows() -> Iterator[tuple]:
    """(p, q, H, W, R, S, stride, padding) of a row of the matrix."""
    yield 1, 1, 4, 5, 2, 2, 1, 0  # all in the picture
    yield 0, 2, 4, 5, 3, 3, 1, 1  # the first row of taps is above it
    yield 2, 0, 4, 5, 3, 3, 1, 1
    yield 3, 2, 4, 5, 3, 3, 1, 1  # the last row of taps is below it
    yield 1, 4, 4, 5, 3, 3, 1, 1
    yield 2, 3, 7, 9, 3, 2, 2, 0  # further right than the output is wide
    yield 2, 5, 5, 11, 3, 3, 2, 1
    yield 0, 3, 4, 8, 1, 5, 1, 2
    yield 0, 0, 2, 2, 2, 2, 1, 3  # all on padding


def _mask(p, q, H, W, R, S, stride, padding) -> np.ndarray:
    problem = ConvProblem(1, H, W, 1, 1, R, S, stride=stride, padding=padding)
    index = IndexMap(problem)
    _, h, w, _ = index.source(p * problem.Q + q, np.arange(R * S))
    return index.inside(h, w).reshape(R, S).astype(int)


def _steps() -> Iterator[tuple]:
    """(W, C, R, S, dilation, block_c)."""
    yield 5, 1, 2, 2, 1, 1
    yield 5, 1, 2, 3, 1, 1
    yield 7, 4, 3, 2, 1, 2
    yield 6, 8, 1, 3, 1, 4
    yield 6, 8, 3, 1, 1, 8
    yield 9, 4, 3, 2, 2, 4
    yield 56, 64, 3, 3, 1, 32


def _deltas(W, C, R, S, dilation, block_c) -> np.ndarray:
    return np.array(deltas(ConvProblem(1, 99, W, C, 1, R, S, dilation=dilation), block_c))


EXERCISES: dict[str, Exercise] = {
    "index_map": Exercise(
        "index_map(m, k, P, Q, R, S, C, stride, padding) returns (n, h, w, c): which number of x cell (m, k) "
        "of the im2row matrix reads; h and w count from the picture's corner and may lie outside of it.",
        _cells,
        _source,
        arguments=("m", "k", "P", "Q", "R", "S", "C", "stride", "padding"),
    ),
    "tap_mask": Exercise(
        "tap_mask(p, q, H, W, R, S, stride, padding) returns an array (R, S): 1 where the tap of output "
        "pixel (p, q) hits the picture, 0 where it falls on padding.",
        _rows,
        _mask,
        arguments=("p", "q", "H", "W", "R", "S", "stride", "padding"),
    ),
    "deltas": Exercise(
        "my_deltas(W, C, R, S, dilation, block_c) returns (next_s, next_r, next_c), in numbers of x.",
        _steps,
        _deltas,
        arguments=("W", "C", "R", "S", "dilation", "block_c"),
    ),
}
