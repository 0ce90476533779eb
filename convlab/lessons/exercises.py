"""All exercises by name: those of the first notebooks stand here, the others in a file of their own."""

from __future__ import annotations

import numpy as np

from convlab.algorithms.formula import fast_size
from convlab.algorithms.im2col import im2col
from convlab.algorithms.im2row import im2row
from convlab.algorithms.precomputed_walk import deltas
from convlab.algorithms.winograd_transforms import matrices
from convlab.index_map import IndexMap
from convlab.lessons import (
    choosing,
    gpu_kernels,
    gpu_lanes,
    gpu_products,
    indirection,
    multiplying,
    rooflines,
)
from convlab.lessons.exercise import Exercise
from convlab.lessons.kernel_exercise import KernelExercise
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


def _cells():
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


def _steps():
    """(W, C, R, S, dilation, block_c)."""
    yield 5, 1, 2, 2, 1, 1
    yield 5, 1, 2, 3, 1, 1
    yield 7, 4, 3, 2, 1, 2
    yield 6, 8, 1, 3, 1, 4
    yield 6, 8, 3, 1, 1, 8
    yield 9, 4, 3, 2, 2, 4
    yield 56, 64, 3, 3, 1, 32


def _rows():
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


def _source(m, k, P, Q, R, S, C, stride, padding) -> np.ndarray:
    H, W = (P - 1) * stride + R - 2 * padding, (Q - 1) * stride + S - 2 * padding
    problem = ConvProblem(99, H, W, C, 1, R, S, stride=stride, padding=padding)
    return np.array(IndexMap(problem).source(m, k))


def _deltas(W, C, R, S, dilation, block_c) -> np.ndarray:
    return np.array(deltas(ConvProblem(1, 99, W, C, 1, R, S, dilation=dilation), block_c))


def _mask(p, q, H, W, R, S, stride, padding) -> np.ndarray:
    problem = ConvProblem(1, H, W, 1, 1, R, S, stride=stride, padding=padding)
    index = IndexMap(problem)
    _, h, w, _ = index.source(p * problem.Q + q, np.arange(R * S))
    return index.inside(h, w).reshape(R, S).astype(int)


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


def _one_channel():
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


def _tilings():
    """(P, R, tile): one tile, exactly two, one more; larger filters."""
    yield 5, 3, 8
    yield 6, 3, 8
    yield 7, 3, 8
    yield 12, 3, 8
    yield 56, 3, 32
    yield 56, 7, 32
    yield 100, 32, 32
    yield 9, 1, 3


def _problem(x, w, stride, padding) -> ConvProblem:
    return ConvProblem.of(x, w, stride=stride, padding=padding)


def _window_problem(x, R, S, stride, padding) -> ConvProblem:
    return ConvProblem(*x.shape, 1, R, S, stride=stride, padding=padding)


def _largest_batch(H, W, C, R, S, stride, padding, budget) -> int:
    one = ConvProblem(1, H, W, C, 1, R, S, stride=stride, padding=padding)
    return budget // (one.P * one.Q * R * S * C * one.itemsize)


EXERCISES: dict[str, Exercise | KernelExercise] = {
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
    "index_map": Exercise(
        "index_map(m, k, P, Q, R, S, C, stride, padding) returns (n, h, w, c): which number of x cell (m, k) "
        "of the im2row matrix reads; h and w count from the picture's corner and may lie outside of it.",
        _cells,
        _source,
    ),
    "tap_mask": Exercise(
        "tap_mask(p, q, H, W, R, S, stride, padding) returns an array (R, S): 1 where the tap of output "
        "pixel (p, q) hits the picture, 0 where it falls on padding.",
        _rows,
        _mask,
    ),
    "deltas": Exercise(
        "my_deltas(W, C, R, S, dilation, block_c) returns (next_s, next_r, next_c), in numbers of x.",
        _steps,
        _deltas,
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
    "correlate": Exercise(
        "my_correlate(x, w) returns y (H, W): w (R, S) slides over x (H, W), with R-1 rows of zeros below "
        "and S-1 columns on the right.",
        _one_channel,
        _correlate_behind,
    ),
    "fast_size": Exercise(
        "my_fast_size(n) returns the smallest number that is not below n and has no factor but 2, 3 and 5.",
        lambda: ((n,) for n in (1, 2, 7, 11, 13, 31, 58, 86, 127, 210, 257, 1000)),
        fast_size,
    ),
    "tiles": Exercise(
        "tiles(P, R, tile) returns how many tiles of `tile` rows it takes to compute P rows of output.",
        _tilings,
        lambda P, R, tile: -(-P // (tile - R + 1)),
    ),
}
EXERCISES |= multiplying.EXERCISES | indirection.EXERCISES | gpu_lanes.EXERCISES | gpu_kernels.EXERCISES
EXERCISES |= gpu_products.EXERCISES | rooflines.EXERCISES | choosing.EXERCISES
