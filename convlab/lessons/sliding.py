"""The exercises of notebooks 00 and 01: filters that slide over pictures."""

from __future__ import annotations

from collections.abc import Iterator

from convlab.lessons.exercise import Exercise
from convlab.lessons.pictures import convolutions
from convlab.oracle import reference
from convlab.problem import ConvProblem


def _sizes() -> Iterator[tuple]:
    """(H, R, stride, padding, dilation) along one axis."""
    yield 5, 3, 1, 0, 1
    yield 5, 3, 1, 1, 1
    yield 5, 3, 2, 0, 1
    yield 6, 3, 2, 0, 1  # the last row is not reached
    yield 9, 3, 1, 0, 2
    yield 224, 7, 2, 3, 1
    yield 7, 1, 3, 0, 5
    yield 12, 4, 3, 5, 3


def _problem(x, w, stride, padding) -> ConvProblem:
    return ConvProblem.of(x, w, stride=stride, padding=padding)


EXERCISES: dict[str, Exercise] = {
    "output_size": Exercise(
        "output_size(H, R, stride, padding, dilation) returns P, the height of the output.",
        _sizes,
        lambda H, R, stride, padding, dilation: (
            ConvProblem(1, H, 99, 1, 1, R, 1, stride=stride, padding=(padding, 0), dilation=dilation).P
        ),
        arguments=("H", "R", "stride", "padding", "dilation"),
    ),
    "convolve": Exercise(
        "convolve(x, w, stride, padding) returns y (N, P, Q, K) for x (N, H, W, C) and w (K, R, S, C).",
        convolutions,
        lambda x, w, stride, padding: reference(x, w, _problem(x, w, stride, padding)),
        arguments=("x", "w", "stride", "padding"),
    ),
    "flip": Exercise(
        "flip(w) returns the filters (K, R, S, C) turned by 180 degrees, for true convolution.",
        lambda: ((w,) for _, w, _, _ in convolutions()),
        lambda w: w[:, ::-1, ::-1],
        arguments=("w",),
    ),
}
