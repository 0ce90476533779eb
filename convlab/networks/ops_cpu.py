"""What lies between convolutions, compiled: each operation of `ops.py` in one pass over its numbers.

The photo and max pooling are shared out to threads, by lines: then each core finds its part of the next
convolution's input in its own cache. The other passes are short.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext

import numpy as np

from convlab.cpu.copy_run import copy_run
from convlab.cpu.finish import finish
from convlab.cpu.jit import njit, prange
from convlab.cpu.threads import limited, lost_the_pool, parallel_for
from convlab.networks import ops

__all__ = ["add", "finish", "max_pool", "mean", "normalise", "place", "run"]


def run(nodes: Sequence[Callable[[], None]], threads: int = 1) -> None:
    """Run some nodes one after the other; threads that they share are theirs from the first to the last."""
    with limited(threads) if threads > 1 and not lost_the_pool() else nullcontext():
        ops.run(nodes)


def normalise(photo, mean, scale, y, threads: int = 1) -> None:
    """Write (photo - mean) * scale into y; both are (N*H, W*3), mean and scale (W*3,)."""
    parallel_for(threads, (len(y), 1), (1, 1), _normalise, _normalise_shared, photo, mean, scale, y)


def max_pool(
    x: np.ndarray, window: int, stride: int, corner: tuple[int, int], y: np.ndarray, threads: int = 1
) -> None:
    """Write the largest number of each window of x (N, H, W, C) into y; NaN counts as the largest."""
    lines = (len(y) * y.shape[1], 1), (1, 1)
    parallel_for(threads, *lines, _max_pool, _max_pool_shared, x, window, stride, corner, y)


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
def _normalise(low, high, left, right, photo, mean, scale, y):
    for i in range(low, high):
        for c in range(mean.size):
            y[i, c] = (photo[i, c] - mean[c]) * scale[c]


@njit(parallel=True)
def _normalise_shared(parts, photo, mean, scale, y):
    for i in prange(len(parts)):
        _normalise(parts[i, 0], parts[i, 1], 0, 1, photo, mean, scale, y)


@njit
def _place(x, y, first):  # x (pixels, K), y (pixels, K or more)
    for i in range(x.shape[0]):
        copy_run(y[i], first, x[i], 0, x.shape[1])


@njit
def _add(y, x, floor):  # flat
    for i in range(y.size):
        v = y[i] + x[i]
        y[i] = floor if v < floor else v


@njit(inner=True)
def _larger(v, w):
    return w if w > v or w != w else v  # a NaN stays here, too


@njit(allocates=True)
def _max_pool(low, high, left, right, x, window, stride, corner, y):
    """Fill the lines low..high of y, counted through the whole batch.

    First the lines of a window, all columns of them at once, then the columns: a line is a long loop.
    """
    _, H, W, C = x.shape
    columns = np.empty(W * C, x.dtype)  # the largest of each column of windows
    for line in range(low, high):
        n, p = divmod(line, y.shape[1])
        top = p * stride - corner[0]
        _largest(columns, x[n].reshape(H, W * C), max(top, 0), min(top + window, H))
        for q in range(y.shape[2]):
            first = q * stride - corner[1]
            _largest(y[n, p, q], columns.reshape(W, C), max(first, 0), min(first + window, W))


@njit(parallel=True)
def _max_pool_shared(parts, x, window, stride, corner, y):
    for i in prange(len(parts)):
        _max_pool(parts[i, 0], parts[i, 1], 0, 1, x, window, stride, corner, y)


@njit
def _largest(largest, rows, first, end):
    """Write the largest of rows[first:end], number by number: three at a time, one twice if need be."""
    for row in range(first, end, 3):
        a, b, c = rows[row], rows[min(row + 1, end - 1)], rows[min(row + 2, end - 1)]
        if row == first:
            for i in range(largest.size):
                largest[i] = _larger(_larger(a[i], b[i]), c[i])
        else:
            for i in range(largest.size):
                largest[i] = _larger(_larger(_larger(largest[i], a[i]), b[i]), c[i])


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
