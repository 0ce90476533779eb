"""What lies between convolutions, compiled: each operation of `ops.py` in one pass over its numbers."""

from __future__ import annotations

import numpy as np

from convlab.cpu.copy_run import copy_run
from convlab.cpu.finish import finish
from convlab.cpu.jit import njit

__all__ = ["add", "finish", "max_pool", "mean", "normalise", "place"]


def place(x: np.ndarray, y: np.ndarray, first: int) -> None:
    """Write x (N, P, Q, K) into the channels of y from `first` on."""
    _place(_pixels(x), _pixels(y), first)


def add(y: np.ndarray, x: np.ndarray, floor: float) -> None:
    """Add x to y, both (N, P, Q, K), then ReLU; in place."""
    _add(y.reshape(-1), x.reshape(-1), floor)


def mean(x: np.ndarray, y: np.ndarray) -> None:
    """Write the mean of every channel of x (N, H, W, C) into y (N, 1, 1, C)."""
    _mean(x.reshape(len(x), -1, x.shape[3]), y.reshape(len(y), -1))


@njit
def normalise(photo, mean, scale, y):  # photo and y (N*H, W*3)
    for i in range(photo.shape[0]):
        for c in range(mean.size):
            y[i, c] = (photo[i, c] - mean[c]) * scale[c]


@njit
def _place(x, y, first):  # x (pixels, K), y (pixels, K or more)
    for i in range(x.shape[0]):
        copy_run(y[i], first, x[i], 0, x.shape[1])


@njit
def _add(y, x, floor):  # flat
    for i in range(y.size):
        v = y[i] + x[i]
        y[i] = floor if v < floor else v


@njit
def _larger(v, w):
    return w if w > v or w != w else v  # a NaN stays here, too


@njit
def max_pool(x, window, stride, padding, y):
    """Write the largest number of each window of x (N, H, W, C) into y; NaN counts as the largest."""
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


@njit
def _mean(x, y):  # x (N, pixels, C), y (N, C)
    y[:] = 0
    for n in range(x.shape[0]):
        for i in range(x.shape[1]):
            for c in range(x.shape[2]):
                y[n, c] += x[n, i, c]
    y /= x.shape[1]


def _pixels(array: np.ndarray) -> np.ndarray:
    """Return (N, H, W, C) as (pixels, C)."""
    return array.reshape(-1, array.shape[-1])
