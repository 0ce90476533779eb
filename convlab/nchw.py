"""The door for NCHW: other libraries' layouts into convlab's NHWC / KRSC, and back."""

from __future__ import annotations

import numpy as np

from convlab.api import conv2d
from convlab.errors import WorkspaceError
from convlab.machine.memory import Memory
from convlab.problem import ConvProblem, check_pair
from convlab.support.checks import COMPUTES, check_axes, check_numbers, check_out

_TO_NHWC, _TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)
_SHAPING = ("stride", "padding", "dilation", "groups")  # what the shape of y depends on, beside x and w


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
    return _turned("x", x, "N, C, H, W", _TO_NHWC)


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
    return _turned("y", y, "N, P, Q, K", _TO_NCHW)


def conv2d_nchw(
    x: np.ndarray,
    w: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    out: np.ndarray | None = None,
    **parameters,
) -> np.ndarray:
    """Convolve arrays that lie in PyTorch's order.

    Parameters
    ----------
    x : ndarray, (N, C, H, W)
    w : ndarray, (K, C/groups, R, S)
    bias : ndarray, (K,), optional
    out : ndarray, (N, K, P, Q), optional
        Written and returned; C-contiguous, of x's dtype, sharing no memory with the inputs.
    **parameters
        The other keyword arguments of `conv2d`.

    Returns
    -------
    ndarray, (N, K, P, Q)

    Raises
    ------
    ConvError
        As in `conv2d`; axes are those of the arrays as they lie here.

    Notes
    -----
    All three arrays are reordered on every call; code that runs more than once should keep its arrays in
    NHWC and use `conv2d` or `plan`.
    """
    axes = ("N", "C", "H", "W"), ("K", "C/groups", "R", "S")
    check_pair(x, w, parameters.get("groups", 1), *axes, COMPUTES)
    images, filters = (array.transpose(_TO_NHWC) for array in (x, w))
    shaping = {name: parameters[name] for name in _SHAPING if name in parameters}
    problem = ConvProblem.of(images, filters, **shaping)
    if out is not None:
        N, P, Q, K = problem.y_shape
        check_out(out, (N, K, P, Q), x.dtype.name, "(N, K, P, Q)", x=x, w=w, bias=bias)
    turned = {"x": problem.x_bytes, "w": problem.w_bytes, "y": problem.y_bytes}
    if lacking := Memory().lacking({f"{name} in the other order": size for name, size in turned.items()}):
        raise WorkspaceError(f"conv2d_nchw {lacking}")
    y = conv2d(np.ascontiguousarray(images), np.ascontiguousarray(filters), bias, **parameters)
    if out is None:
        return to_nchw(y)
    out[...] = y.transpose(_TO_NCHW)
    return out


def _turned(name: str, array, axes: str, order: tuple[int, ...]) -> np.ndarray:
    check_numbers(name, array)
    check_axes(name, array, axes)
    return array.transpose(order).copy(order="C")
