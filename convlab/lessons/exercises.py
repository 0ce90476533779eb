"""All exercises by name: those of the first notebooks stand here, the others in a file of their own."""

from __future__ import annotations

import numpy as np

from convlab.algorithms.im2col import im2col
from convlab.algorithms.im2row import im2row
from convlab.algorithms.winograd import matrices
from convlab.lessons import indirection, multiplying
from convlab.lessons.exercise import Exercise
from convlab.problem import ConvProblem
from convlab.reference import reference


def _sizes():
    """(H, R, stride, padding, dilation) along one axis."""
    yield 5, 3, 1, 0, 1
    yield 5, 3, 1, 1, 1
    yield 5, 3, 2, 0, 1
    yield 6, 3, 2, 0, 1  # the last row is not reached
    yield 9, 3, 1, 0, 2
    yield 224, 7, 2, 3, 1
    yield 7, 1, 3, 0, 5
    yield 12, 4, 3, 5, 3


def _pictures(*shapes):
    """(x, w, stride, padding) with whole numbers, so that a wrong answer is off by a whole number."""
    rng = np.random.default_rng(7)
    for (N, H, W, C, K, R, S), stride, padding in shapes:
        x = rng.integers(1, 9, (N, H, W, C)).astype(np.float32)
        w = rng.integers(1, 9, (K, R, S, C)).astype(np.float32)
        yield x, w, stride, padding


def _convolutions():
    yield from _pictures(
        ((1, 3, 4, 1, 1, 2, 2), 1, 0),
        ((1, 3, 3, 2, 1, 2, 2), 1, 0),
        ((1, 5, 4, 1, 1, 3, 2), 2, 0),
        ((1, 4, 5, 1, 1, 3, 2), 1, 1),
        ((1, 5, 4, 3, 1, 2, 3), 1, 0),
        ((1, 5, 4, 2, 3, 2, 3), 2, 2),
        ((2, 6, 5, 2, 2, 3, 1), 1, 1),
    )


def _windows():
    """(x, R, S, stride, padding)."""
    for x, w, stride, padding in _convolutions():
        yield x, w.shape[1], w.shape[2], stride, padding


def _layers():
    """(H, W, C, R, S, stride, padding) of a layer, and a budget in bytes."""
    yield 4, 5, 1, 2, 2, 1, 0, 1000
    yield 56, 56, 64, 3, 3, 1, 1, 8 * 2**30
    yield 224, 224, 3, 7, 7, 2, 3, 16 * 2**30
    yield 28, 30, 256, 1, 1, 2, 0, 10**6
    yield 40, 12, 8, 5, 2, 3, 2, 10**7


def _outputs():
    """(P, Q, C, K, m) of a layer and the outputs of a tile along an axis."""
    yield 4, 4, 1, 1, 2
    yield 6, 4, 2, 3, 2
    yield 56, 56, 64, 64, 4
    yield 13, 13, 64, 256, 4  # tiles hang over
    yield 7, 9, 8, 5, 6


def _tiles():
    """(d, g, AT, G, BT): one tile of pixels, a filter, and the matrices."""
    rng = np.random.default_rng(6)
    for m in (2, 2, 4, 6):
        d, g = (rng.integers(1, 9, (side, side)).astype(np.float64) for side in (m + 2, 3))
        yield d, g, *matrices(m)


def _tiled_pictures():
    """(x, g, m, AT, G, BT)."""
    rng = np.random.default_rng(8)
    for H, W, m in ((4, 4, 2), (4, 6, 2), (8, 6, 2), (10, 6, 4), (7, 9, 2), (12, 9, 4)):
        x, g = rng.integers(1, 9, (H, W)).astype(np.float64), rng.integers(1, 9, (3, 3)).astype(np.float64)
        yield x, g, m, *matrices(m)


def _correlate(x, g):
    """Return the valid outputs of one picture and one filter."""
    problem = ConvProblem(1, *x.shape, 1, 1, *g.shape)
    return reference(x[None, :, :, None], g[None, :, :, None], problem)[0, :, :, 0]


def _one_channel_each():
    """(x, w, stride, padding) with filters (K, R, S) that read one channel each."""
    for x, w, stride, padding in _pictures(
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


def _same_size():
    """(H, W, C, R, S) of a depthwise layer."""
    yield 4, 5, 1, 1, 1
    yield 112, 112, 32, 3, 3
    yield 28, 30, 256, 5, 3
    yield 7, 7, 1024, 3, 3


def _intensity(H, W, C, R, S) -> float:
    layer = ConvProblem(1, H, W, C, C, R, S, padding="same", groups=C)
    return layer.flops / (layer.x_bytes + layer.w_bytes + layer.y_bytes)


def _problem(x, w, stride, padding) -> ConvProblem:
    return ConvProblem.of(x, w, stride=stride, padding=padding)


def _window_problem(x, R, S, stride, padding) -> ConvProblem:
    return ConvProblem(*x.shape, 1, R, S, stride=stride, padding=padding)


def _largest_batch(H, W, C, R, S, stride, padding, budget) -> int:
    one = ConvProblem(1, H, W, C, 1, R, S, stride=stride, padding=padding)
    return budget // (one.P * one.Q * R * S * C * one.itemsize)


EXERCISES: dict[str, Exercise] = {
    "output_size": Exercise(
        "output_size(H, R, stride, padding, dilation) returns P, the height of the output.",
        _sizes,
        lambda H, R, stride, padding, dilation: (
            ConvProblem(1, H, 99, 1, 1, R, 1, stride=stride, padding=(padding, 0), dilation=dilation).P
        ),
    ),
    "convolve": Exercise(
        "convolve(x, w, stride, padding) returns y (N, P, Q, K) for x (N, H, W, C) and w (K, R, S, C).",
        _convolutions,
        lambda x, w, stride, padding: reference(x, w, _problem(x, w, stride, padding)),
    ),
    "flip": Exercise(
        "flip(w) returns the filters (K, R, S, C) turned by 180 degrees, for true convolution.",
        lambda: ((w,) for _, w, _, _ in _convolutions()),
        lambda w: w[:, ::-1, ::-1],
    ),
    "im2row": Exercise(
        "my_im2row(x, R, S, stride, padding) returns the matrix of windows, (N*P*Q, R*S*C).",
        _windows,
        lambda x, R, S, stride, padding: im2row(x, _window_problem(x, R, S, stride, padding)),
    ),
    "im2col": Exercise(
        "my_im2col(x, R, S, stride, padding) returns the matrix lying the other way, (C*R*S, N*P*Q).",
        _windows,
        lambda x, R, S, stride, padding: im2col(x, _window_problem(x, R, S, stride, padding)),
    ),
    "largest_batch": Exercise(
        "largest_batch(H, W, C, R, S, stride, padding, budget) returns the largest N whose float32 "
        "im2row matrix takes at most `budget` bytes.",
        _layers,
        _largest_batch,
    ),
    "winograd_products": Exercise(
        "winograd_products(P, Q, C, K, m) returns the multiplications of pixels and weights, both "
        "transformed, in a layer of P x Q outputs cut into tiles of m x m, with 3x3 filters.",
        _outputs,
        lambda P, Q, C, K, m: -(-P // m) * -(-Q // m) * (m + 2) ** 2 * C * K,
    ),
    "winograd_tile": Exercise(
        "winograd_tile(d, g, AT, G, BT) returns the m x m outputs of a filter g (3, 3) on pixels d (n, n).",
        _tiles,
        lambda d, g, AT, G, BT: _correlate(d, g),
    ),
    "winograd_picture": Exercise(
        "winograd_picture(x, g, m, AT, G, BT) returns y (H-2, W-2) of a filter g (3, 3) on a picture x "
        "(H, W), computed in tiles of m x m outputs.",
        _tiled_pictures,
        lambda x, g, m, AT, G, BT: _correlate(x, g),
    ),
    "depthwise": Exercise(
        "my_depthwise(x, w, stride, padding) returns y (N, P, Q, K) for x (N, H, W, C) and w (K, R, S), "
        "where filter k reads channel k // (K // C).",
        _one_channel_each,
        _depthwise,
    ),
    "separable_saving": Exercise(
        "separable_saving(C, K, R, S) returns how many times as many multiply-adds a full layer takes as "
        "a depthwise and a pointwise one together.",
        lambda: ((1, 1, 1, 1), (4, 8, 3, 3), (32, 64, 3, 3), (512, 256, 5, 3), (3, 1000, 1, 7)),
        lambda C, K, R, S: R * S * C * K / (R * S * C + C * K),
    ),
    "depthwise_intensity": Exercise(
        "depthwise_intensity(H, W, C, R, S) returns FLOPs for each byte of a float32 depthwise layer with "
        "stride 1 and an output as large as its input, every number moved once.",
        _same_size,
        _intensity,
    ),
}
EXERCISES |= multiplying.EXERCISES | indirection.EXERCISES
