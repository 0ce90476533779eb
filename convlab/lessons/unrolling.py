"""The exercises of notebook 02: pictures as matrices of windows, and the memory they take."""

from __future__ import annotations

from collections.abc import Iterator

from convlab.algorithms.im2col import im2col
from convlab.algorithms.im2row import im2row
from convlab.lessons.exercise import Exercise
from convlab.lessons.pictures import convolutions
from convlab.problem import ConvProblem


def _windows() -> Iterator[tuple]:
    """(x, R, S, stride, padding)."""
    for x, w, stride, padding in convolutions():
        yield x, w.shape[1], w.shape[2], stride, padding


def _layers() -> Iterator[tuple]:
    """(H, W, C, R, S, stride, padding) of a layer, and a budget in bytes."""
    yield 4, 5, 1, 2, 2, 1, 0, 1000
    yield 56, 56, 64, 3, 3, 1, 1, 8 * 2**30
    yield 224, 224, 3, 7, 7, 2, 3, 16 * 2**30
    yield 28, 30, 256, 1, 1, 2, 0, 10**6
    yield 40, 12, 8, 5, 2, 3, 2, 10**7


def _window_problem(x, R, S, stride, padding) -> ConvProblem:
    N, H, W, C = x.shape
    return ConvProblem(N, H, W, C, 1, R, S, stride=stride, padding=padding)


def _largest_batch(H, W, C, R, S, stride, padding, budget) -> int:
    one = ConvProblem(1, H, W, C, 1, R, S, stride=stride, padding=padding)
    return budget // (one.P * one.Q * R * S * C * one.itemsize)


EXERCISES: dict[str, Exercise] = {
    "im2row": Exercise(
        "my_im2row(x, R, S, stride, padding) returns the matrix of windows, (N*P*Q, R*S*C).",
        _windows,
        lambda x, R, S, stride, padding: im2row(x, _window_problem(x, R, S, stride, padding)),
        arguments=("x", "R", "S", "stride", "padding"),
    ),
    "im2col": Exercise(
        "my_im2col(x, R, S, stride, padding) returns the matrix lying the other way, (C*R*S, N*P*Q).",
        _windows,
        lambda x, R, S, stride, padding: im2col(x, _window_problem(x, R, S, stride, padding)),
        arguments=("x", "R", "S", "stride", "padding"),
    ),
    "largest_batch": Exercise(
        "largest_batch(H, W, C, R, S, stride, padding, budget) returns the largest N whose float32 "
        "im2row matrix takes at most `budget` bytes.",
        _layers,
        _largest_batch,
        arguments=("H", "W", "C", "R", "S", "stride", "padding", "budget"),
    ),
}
