"""The float64 reference that every algorithm, test and benchmark is held against, and its tolerance."""

from __future__ import annotations

import numpy as np

from convlab.errors import ParameterError, ShapeError
from convlab.problem import ConvProblem
from convlab.support.checked import Index, checked
from convlab.support.checks import check_numbers, said

WORST = 8  # of many sums is so many times as far off as one of them


@checked
def reference(
    x: np.ndarray, w: np.ndarray, problem: ConvProblem, bias: np.ndarray | None = None
) -> np.ndarray:
    """Return the convolution computed in float64, by padding the picture and summing over a view of windows.

    Parameters
    ----------
    x : ndarray, (N, H, W, C)
    w : ndarray, (K, R, S, C/groups)
    problem : ConvProblem
    bias : ndarray, (K,), optional

    Returns
    -------
    ndarray, (N, P, Q, K)
        float64.
    """
    _check(x, w, problem, bias)
    G, (M, _, _) = problem.groups, problem.gemm
    padded = np.pad(x.astype(np.float64), ((0, 0), *problem.padding, (0, 0)))
    windows: np.ndarray = np.lib.stride_tricks.sliding_window_view(padded, problem.extent, axis=(1, 2))
    windows = windows[:, :: problem.stride[0], :: problem.stride[1]]  # (N, P, Q, C, extent, extent)
    windows = windows[..., :: problem.dilation[0], :: problem.dilation[1]]  # (N, P, Q, C, R, S)
    per_group = windows.reshape(M, G, -1).swapaxes(0, 1)  # (G, M, C/G*R*S)
    filters = w.astype(np.float64).transpose(0, 3, 1, 2).reshape(G, problem.K // G, -1)  # (G, K/G, C/G*R*S)
    y = (per_group @ filters.swapaxes(1, 2)).swapaxes(0, 1).reshape(problem.y_shape)
    return y if bias is None else y + bias


@checked
def reference_at(
    x: np.ndarray, w: np.ndarray, problem: ConvProblem, pixels: tuple[Index, Index, Index]
) -> np.ndarray:
    """Return the convolution in float64 at some output pixels only: enough to check a large output.

    Parameters
    ----------
    x : ndarray, (N, H, W, C)
    w : ndarray, (K, R, S, C/groups)
    problem : ConvProblem
    pixels : (ndarray, ndarray, ndarray)
        The n, p and q of each pixel, (pixels,).

    Returns
    -------
    ndarray, (pixels, K)

    Raises
    ------
    ConvError
        If an array does not fit the problem, or a pixel is none of the output.
    """
    _check(x, w, problem, None)
    counts = [np.size(index) for index in pixels]
    if counts != counts[:1] * 3 or not counts[0]:
        raise ShapeError(f"pixels has {counts} of n, p and q; expected as many of each, at least one")
    for name, index, size in zip("npq", pixels, problem.y_shape[:3], strict=True):
        if not all(0 <= end < size for end in (np.min(index), np.max(index))):
            raise ParameterError(f"{name}={said(index)}; expected 0 to {size - 1}")
    G, ((top, _), (left, _)) = problem.groups, problem.padding
    # In 64 bits: in narrow ones, or without a sign, what is worked out of them would wrap.
    n, p, q = (np.reshape(index, (-1, 1, 1)).astype(np.int64) for index in pixels)
    row = p * problem.stride[0] - top + np.arange(problem.R)[:, None] * problem.dilation[0]
    col = q * problem.stride[1] - left + np.arange(problem.S) * problem.dilation[1]
    inside = (row >= 0) & (row < problem.H) & (col >= 0) & (col < problem.W)  # (pixels, R, S)
    windows = x[n, row.clip(0, problem.H - 1), col.clip(0, problem.W - 1)].astype(np.float64)
    windows = np.where(inside[..., None], windows, 0.0).reshape(len(n), problem.R * problem.S, G, -1)
    per_group = windows.transpose(2, 0, 1, 3).reshape(G, len(n), -1)  # (G, pixels, R*S*C/G)
    filters = w.astype(np.float64).reshape(G, problem.K // G, -1)  # (G, K/G, R*S*C/G)
    return (per_group @ filters.swapaxes(1, 2)).swapaxes(0, 1).reshape(len(n), problem.K)


@checked
def tolerance(x: np.ndarray, w: np.ndarray, problem: ConvProblem, bias: np.ndarray | None = None) -> float:
    """Return the largest error that rounding alone explains.

    A sum of n = R*S*C/groups rounded products errs by about eps * sqrt(n) times the size of the sum, which
    itself is about rms(x) times the norm of its filter; the largest filter counts. The bias is added with one
    more rounding. `WORST` leaves room for the worst of many sums.
    """
    _check(x, w, problem, bias)
    n = problem.gemm[2]
    norm = np.sqrt(np.max(np.sum(np.square(w, dtype=np.float64), axis=(1, 2, 3)), initial=0.0))
    size = _rms(x) * norm + (0 if bias is None else _rms(bias))
    return float(WORST * np.finfo(problem.dtype).eps * np.sqrt(n) * size)


def _check(x: np.ndarray, w: np.ndarray, problem: ConvProblem, bias: np.ndarray | None) -> None:
    check_numbers("x", x, problem.x_shape, "(N, H, W, C)")
    check_numbers("w", w, problem.w_shape, "(K, R, S, C/groups)")
    if bias is not None:
        check_numbers("bias", bias, (problem.K,), "(K,)")


def _rms(array: np.ndarray) -> float:
    return np.sqrt(np.mean(np.square(array, dtype=np.float64)))
