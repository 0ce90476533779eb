"""The door for NCHW: other libraries' layouts into convlab's NHWC / KRSC, and back."""

from __future__ import annotations

import numpy as np

from convlab.errors import ShapeError
from convlab.plans import conv2d


def from_nchw(x: np.ndarray) -> np.ndarray:
    """Return images (N, C, H, W) as (N, H, W, C), copied into that order.

    Filters follow the same rule: (K, C/groups, R, S) becomes (K, R, S, C/groups).
    """
    return np.ascontiguousarray(_four(x).transpose(0, 2, 3, 1))


def to_nchw(y: np.ndarray) -> np.ndarray:
    """Return images (N, H, W, C) as (N, C, H, W), or filters (K, R, S, C) as (K, C, R, S), copied."""
    return np.ascontiguousarray(_four(y).transpose(0, 3, 1, 2))


def conv2d_nchw(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None = None, **parameters) -> np.ndarray:
    """Return `conv2d` of arrays in PyTorch's order: x (N, C, H, W), w (K, C/groups, R, S), y (N, K, P, Q).

    Takes the keyword arguments of `conv2d` except `out`. All three arrays are reordered on every call;
    code that runs more than once should keep its arrays in NHWC and use `conv2d` or `plan`.
    """
    return to_nchw(conv2d(from_nchw(x), from_nchw(w), bias, **parameters))


def _four(array: np.ndarray) -> np.ndarray:
    if np.ndim(array) != 4:
        raise ShapeError(f"the array has {np.ndim(array)} axes; expected 4: (N, C, H, W) or (N, H, W, C)")
    return np.asarray(array)
