"""What lies between convolutions: it computes little, but reads and writes every number once.

Each operation stands here twice: the NumPy form, short and exact, and the same in one pass, compiled. All of
them write into arrays that are there already.

ReLU is ``max(y, floor)`` with a floor of 0; where there is none, the floor is minus infinity. Pooling, sums
and copies take a bias and a floor too: see `fuse.py`.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from convlab.cpu.jit import njit

# What the networks of torchvision are trained with: mean and spread of ImageNet's red, green and blue.
MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


# -- the NumPy form ----------------------------------------------------------------------------------------


def _normalise(photo: np.ndarray, mean: np.ndarray, scale: np.ndarray, y: np.ndarray) -> None:
    """Write the photo, from 0 to 1, into y with mean 0 and spread 1, as ImageNet has them.

    Both are given as (N*H, W*3), mean and scale, which is 1 / spread, as (W*3,): one long row is quicker
    than many of three.
    """
    np.subtract(photo, mean, out=y)
    y *= scale


def _finish(y: np.ndarray, bias: np.ndarray, floor: float) -> None:
    """Add bias (K,) to every pixel of y (N, P, Q, K), then ReLU; in place."""
    y += bias
    np.maximum(y, floor, out=y)


def _place(x: np.ndarray, bias: np.ndarray, floor: float, y: np.ndarray, first: int) -> None:
    """Write x (N, P, Q, K), plus bias (K,), then ReLU, into the channels of y from `first` on."""
    target = y[..., first : first + x.shape[3]]
    target[...] = x
    _finish(target, bias, floor)


def _add(y: np.ndarray, x: np.ndarray, bias: np.ndarray, floor: float) -> None:
    """Add x and bias (K,) to y, both (N, P, Q, K), then ReLU; in place."""
    y += x
    _finish(y, bias, floor)


def _max_pool(
    x: np.ndarray, window: int, stride: int, padding: int, bias: np.ndarray, floor: float, y: np.ndarray
) -> None:
    """Write the largest number of each window of x (N, H, W, C), plus bias, then ReLU, into y."""
    N, P, Q, C = y.shape
    H, W = (stride * (size - 1) + window for size in (P, Q))  # what all windows together cover
    padded = np.full((N, H, W, C), -np.inf, x.dtype)
    seen = x[:, : H - padding, : W - padding]
    padded[:, padding : padding + seen.shape[1], padding : padding + seen.shape[2]] = seen
    windows = np.lib.stride_tricks.sliding_window_view(padded, (window, window), axis=(1, 2))
    windows[:, ::stride, ::stride].max(axis=(-2, -1), out=y)
    _finish(y, bias, floor)


def _mean(x: np.ndarray, y: np.ndarray) -> None:
    """Write the mean of every channel of x (N, H, W, C) into y (N, 1, 1, C)."""
    x.mean(axis=(1, 2), keepdims=True, out=y)


# -- the fast form -----------------------------------------------------------------------------------------


@njit
def _normalise_kernel(photo, mean, scale, y):  # photo and y (N*H, W*3)
    for i in range(photo.shape[0]):
        for c in range(mean.size):
            y[i, c] = (photo[i, c] - mean[c]) * scale[c]


@njit
def _finish_kernel(y, bias, floor):  # y (pixels, K)
    for i in range(y.shape[0]):
        for k in range(y.shape[1]):
            v = y[i, k] + bias[k]
            y[i, k] = floor if v < floor else v  # in this order a NaN stays one


@njit
def _place_kernel(x, bias, floor, y, first):  # x (pixels, K), y (pixels, K or more)
    for i in range(x.shape[0]):
        row, part = x[i], y[i, first : first + x.shape[1]]  # of both the inner loop knows where they end
        for k in range(bias.size):
            v = row[k] + bias[k]
            part[k] = floor if v < floor else v


@njit
def _add_kernel(y, x, bias, floor):  # both (pixels, K)
    for i in range(y.shape[0]):
        row, part = x[i], y[i]
        for k in range(bias.size):
            v = part[k] + row[k] + bias[k]
            part[k] = floor if v < floor else v


@njit
def _larger(v, w):
    return w if w > v or w != w else v  # a NaN stays here, too


@njit
def _max_pool_kernel(x, window, stride, padding, bias, floor, y):
    N, H, W, C = x.shape
    for n in range(N):
        for p in range(y.shape[1]):
            for q in range(y.shape[2]):
                top, left = p * stride - padding, q * stride - padding
                first, last = max(left, 0), min(left + window, W) - 1
                largest = y[n, p, q]  # (C,): stays in the cache while the window goes over it
                largest[:] = -np.inf
                for h in range(max(top, 0), min(top + window, H)):
                    # Three columns at a time; at an edge one of them comes twice, which is no matter.
                    for column in range(first, last + 1, 3):
                        a = x[n, h, column]
                        b, c = x[n, h, min(column + 1, last)], x[n, h, min(column + 2, last)]
                        for k in range(C):
                            largest[k] = _larger(_larger(_larger(largest[k], a[k]), b[k]), c[k])
                for k in range(C):
                    v = largest[k] + bias[k]
                    largest[k] = floor if v < floor else v


@njit
def _mean_kernel(x, y):  # x (N, pixels, C), y (N, C)
    y[:] = 0
    for n in range(x.shape[0]):
        for i in range(x.shape[1]):
            for c in range(x.shape[2]):
                y[n, c] += x[n, i, c]
    y /= x.shape[1]


def _pixels(array: np.ndarray) -> np.ndarray:
    """Return (N, H, W, C) as (pixels, C)."""
    return array.reshape(-1, array.shape[-1])


OPS = {
    "numpy": SimpleNamespace(
        normalise=_normalise, finish=_finish, place=_place, add=_add, max_pool=_max_pool, mean=_mean
    ),
    "cpu": SimpleNamespace(
        normalise=_normalise_kernel,
        finish=lambda y, bias, floor: _finish_kernel(_pixels(y), bias, floor),
        place=lambda x, bias, floor, y, first: _place_kernel(_pixels(x), bias, floor, _pixels(y), first),
        add=lambda y, x, bias, floor: _add_kernel(_pixels(y), _pixels(x), bias, floor),
        max_pool=_max_pool_kernel,
        mean=lambda x, y: _mean_kernel(x.reshape(len(x), -1, x.shape[3]), y.reshape(len(y), -1)),
    ),
}
