"""The exercises of notebook 04: the indirection buffer, and what padding must not be taken for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.algorithms.indirect import indirection_buffer
from convlab.lessons.exercise import Exercise
from convlab.problem import ConvProblem

_SHAPES = (  # H, W, C, R, S, stride, padding, rows
    (3, 3, 1, 2, 2, 1, 0, 1),
    (3, 4, 1, 2, 2, 1, 0, 2),
    (2, 3, 2, 2, 1, 1, 0, 3),
    (3, 3, 1, 3, 3, 1, 1, 3),
    (3, 4, 2, 2, 3, 1, 1, 4),
    (6, 5, 3, 3, 2, 2, 1, 4),
)


def _problem(H, W, C, R, S, stride, padding, N=1, K=1) -> ConvProblem:
    return ConvProblem(N, H, W, C, K, R, S, stride=stride, padding=padding)


def _buffer(H, W, C, R, S, stride, padding, rows) -> np.ndarray:
    return indirection_buffer(_problem(H, W, C, R, S, stride, padding), rows)


def _tables() -> Iterator[tuple]:
    """(offsets, image, size)."""
    for image, shape in ((0, _SHAPES[1]), (1, _SHAPES[1]), (1, _SHAPES[3]), (2, _SHAPES[4]), (3, _SHAPES[5])):
        H, W, C, *_ = shape
        yield _buffer(*shape), image, H * W * C


def _runs() -> Iterator[tuple]:
    """(x, offsets, w, pixels), with whole numbers."""
    rng = np.random.default_rng(11)
    for number, (H, W, C, R, S, stride, padding, rows) in enumerate(_SHAPES):
        problem = _problem(H, W, C, R, S, stride, padding, N=1 + (number > 2), K=1 + number % 3)
        x = rng.integers(1, 9, problem.x_shape).astype(np.float32)
        w = rng.integers(1, 9, (problem.K, R * S, C)).astype(np.float32)
        yield x, indirection_buffer(problem, rows), w, problem.P * problem.Q


def _through(x, offsets, w, pixels) -> np.ndarray:
    """Return y (N, pixels, K), each window gathered through the table."""
    N, H, W, C = x.shape
    windows = offsets.swapaxes(1, 2).reshape(-1, offsets.shape[1])[:pixels]  # (pixels, taps)
    places = np.where(windows < 0, H * W, windows // C)  # in pixels; behind the last one lie the zeros
    rows = np.concatenate([x.reshape(N, H * W, C), np.zeros((N, 1, C), x.dtype)], axis=1)[:, places]
    return np.einsum("nptc,ktc->npk", rows, w)


EXERCISES: dict[str, Exercise] = {
    "buffer": Exercise(
        "my_buffer(H, W, C, R, S, stride, padding, rows) returns the offsets of all windows, "
        "(ceil(P*Q / rows), R*S, rows), -1 on padding; pixels past the last one repeat it.",
        lambda: iter(_SHAPES),
        _buffer,
        arguments=("H", "W", "C", "R", "S", "stride", "padding", "rows"),
    ),
    "places": Exercise(
        "places(offsets, image, size) returns where the taps lie if every image has `size` numbers; "
        "a tap on padding stays -1.",
        _tables,
        lambda offsets, image, size: np.where(offsets < 0, -1, offsets + image * size),
        arguments=("offsets", "image", "size"),
    ),
    "through_the_buffer": Exercise(
        "through_the_buffer(x, offsets, w, pixels) returns y (N, pixels, K) for x (N, H, W, C), "
        "w (K, R*S, C) and the offsets of one image.",
        _runs,
        _through,
        arguments=("x", "offsets", "w", "pixels"),
    ),
}
