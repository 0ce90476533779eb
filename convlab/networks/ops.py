"""What lies between convolutions: it computes little, but reads and writes every number once.

The NumPy form, short and exact, stands here; the same in one pass, compiled, in `ops_cpu.py`. All of them
write into arrays that are there already.

ReLU is ``max(y, floor)`` with a floor of 0; where there is none, the floor is minus infinity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

# What the networks of torchvision are trained with: mean and spread of ImageNet's red, green and blue.
MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def run(nodes: Sequence[Callable[[], None]]) -> None:
    """Run some nodes one after the other."""
    for node in nodes:
        node()


def normalise(photo: np.ndarray, mean: np.ndarray, scale: np.ndarray, y: np.ndarray) -> None:
    """Write the photo, from 0 to 1, into y with mean 0 and spread 1, as ImageNet has them.

    Both are given as (N*H, W*3), mean and scale, which is 1 / spread, as (W*3,): one long row is quicker
    than many of three.
    """
    np.subtract(photo, mean, out=y)
    y *= scale


def finish(y: np.ndarray, bias: np.ndarray, floor: float) -> None:
    """Add bias (K,) to every pixel of y (N, P, Q, K), then ReLU; in place."""
    y += bias
    np.maximum(y, floor, out=y)


def place(x: np.ndarray, y: np.ndarray, first: int) -> None:
    """Write x (N, P, Q, K) into the channels of y from `first` on."""
    y[..., first : first + x.shape[3]] = x


def add(y: np.ndarray, x: np.ndarray, floor: float) -> None:
    """Add x to y, both (N, P, Q, K), then ReLU; in place."""
    y += x
    np.maximum(y, floor, out=y)


def max_pool(x: np.ndarray, window: int, stride: int, corner: tuple[int, int], y: np.ndarray) -> None:
    """Write the largest number of each window of x (N, H, W, C) into y; NaN counts as the largest.

    The first window begins so many rows above x, and columns left of it, as `corner` says.
    """
    N, P, Q, C = y.shape
    top, left = corner
    H, W = (stride * (size - 1) + window for size in (P, Q))  # what all windows together cover
    padded = np.full((N, H, W, C), -np.inf, x.dtype)
    seen = x[:, : H - top, : W - left]
    padded[:, top : top + seen.shape[1], left : left + seen.shape[2]] = seen
    windows = np.lib.stride_tricks.sliding_window_view(padded, (window, window), axis=(1, 2))
    windows[:, ::stride, ::stride].max(axis=(-2, -1), out=y)


def mean(x: np.ndarray, y: np.ndarray) -> None:
    """Write the mean of every channel of x (N, H, W, C) into y (N, 1, 1, C)."""
    x.mean(axis=(1, 2), keepdims=True, out=y)
