"""The exercises of notebook 08: a filter for each channel, what that saves, and why memory decides."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.lessons.exercise import Exercise
from convlab.lessons.pictures import pictures
from convlab.oracle import reference
from convlab.problem import ConvProblem


def _one_channel_each() -> Iterator[tuple]:
    """(x, w, stride, padding) with filters (K, R, S) that read one channel each."""
    for x, w, stride, padding in pictures(
        ((1, 3, 4, 1, 1, 2, 2), 1, 0),
        ((1, 3, 3, 2, 2, 2, 2), 1, 0),
        ((1, 3, 3, 2, 4, 2, 1), 1, 0),
        ((1, 5, 4, 3, 3, 3, 2), 2, 1),
        ((1, 5, 4, 3, 6, 2, 3), 2, 2),
        ((2, 6, 5, 2, 6, 3, 1), 1, 1),
    ):
        yield x, w[..., 0], stride, padding


def _depthwise(x, w, stride, padding) -> np.ndarray:
    filters = w[..., None]  # (K, R, S, C/groups)
    problem = ConvProblem.of(x, filters, stride=stride, padding=padding, groups=x.shape[3])
    return reference(x, filters, problem)


def _same_size() -> Iterator[tuple]:
    """(H, W, C, R, S) of a depthwise layer."""
    yield 4, 5, 1, 1, 1
    yield 112, 112, 32, 3, 3
    yield 28, 30, 256, 5, 3
    yield 7, 7, 1024, 3, 3


def _intensity(H, W, C, R, S) -> float:
    layer = ConvProblem(1, H, W, C, C, R, S, padding="same", groups=C)
    return layer.flops / (layer.x_bytes + layer.w_bytes + layer.y_bytes)


EXERCISES: dict[str, Exercise] = {
    "depthwise": Exercise(
        "my_depthwise(x, w, stride, padding) returns y (N, P, Q, K) for x (N, H, W, C) and w (K, R, S), "
        "where filter k reads channel k // (K // C).",
        _one_channel_each,
        _depthwise,
        arguments=("x", "w", "stride", "padding"),
    ),
    "separable_saving": Exercise(
        "separable_saving(C, K, R, S) returns how many times as many multiply-adds a full layer takes as "
        "a depthwise and a pointwise one together.",
        lambda: ((1, 1, 1, 1), (4, 8, 3, 3), (32, 64, 3, 3), (512, 256, 5, 3), (3, 1000, 1, 7)),
        lambda C, K, R, S: R * S * C * K / (R * S * C + C * K),
        arguments=("C", "K", "R", "S"),
    ),
    "depthwise_intensity": Exercise(
        "depthwise_intensity(H, W, C, R, S) returns FLOPs for each byte of a float32 depthwise layer with "
        "stride 1 and an output as large as its input, every number moved once.",
        _same_size,
        _intensity,
        arguments=("H", "W", "C", "R", "S"),
    ),
}
