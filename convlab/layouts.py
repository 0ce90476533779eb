"""The door for NCHW: other libraries' layouts into convlab's NHWC / KRSC, and back."""

from __future__ import annotations

import numpy as np

from convlab.errors import ShapeError
from convlab.plans import conv2d


def from_nchw(x: np.ndarray) -> np.ndarray:
    """Return images in convlab's order.

    Parameters
    ----------
    x : ndarray, (N, C, H, W)
        Or filters, (K, C/groups, R, S): the rule is the same.

    Returns
    -------
    ndarray, (N, H, W, C)
        A copy, contiguous in that order.
    """
    return np.ascontiguousarray(_four(x).transpose(0, 2, 3, 1))


def to_nchw(y: np.ndarray) -> np.ndarray:
    """Return images in PyTorch's order, the inverse of `from_nchw`.

    Parameters
    ----------
    y : ndarray, (N, P, Q, K)
        Or filters, (K, R, S, C/groups).

    Returns
    -------
    ndarray, (N, K, P, Q)
        A copy, contiguous in that order.
    """
    return np.ascontiguousarray(_four(y).transpose(0, 3, 1, 2))


def conv2d_nchw(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None = None, **parameters) -> np.ndarray:
    """Convolve arrays that lie in PyTorch's order.

    Parameters
    ----------
    x : ndarray, (N, C, H, W)
    w : ndarray, (K, C/groups, R, S)
    bias : ndarray, (K,), optional
    **parameters
        The keyword arguments of `conv2d`, except `out`.

    Returns
    -------
    ndarray, (N, K, P, Q)

    Notes
    -----
    All three arrays are reordered on every call; code that runs more than once should keep its arrays in
    NHWC and use `conv2d` or `plan`.
    """
    return to_nchw(conv2d(from_nchw(x), from_nchw(w), bias, **parameters))


def _four(array: np.ndarray) -> np.ndarray:
    if np.ndim(array) != 4:
        raise ShapeError(f"the array has {np.ndim(array)} axes; expected 4: (N, C, H, W) or (N, H, W, C)")
    return np.asarray(array)
