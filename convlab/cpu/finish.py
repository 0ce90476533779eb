"""The epilogue as a pass of its own: for convolutions that cannot do it on their way (`epilogue.py` can).

Each number is read, finished and written back, once.
"""

from __future__ import annotations

import numpy as np

from convlab.cpu.jit import njit


def finish(y: np.ndarray, bias: np.ndarray, floor: np.floating, residual: np.ndarray | None = None) -> None:
    """Write y (N, P, Q, K) = max(y + bias (K,) + residual, floor) in place; all C-contiguous."""
    pixels = None if residual is None else residual.reshape(-1, y.shape[-1])
    _finish(y.reshape(-1, y.shape[-1]), bias, y.dtype.type(floor), pixels)


@njit
def _finish(y, bias, floor, residual):  # y and residual (pixels, K)
    for i in range(y.shape[0]):
        row = y[i]  # of both the inner loop knows where they end
        for k in range(bias.size):
            v = row[k] + bias[k]
            if residual is not None:
                v += residual[i, k]
            row[k] = floor if v < floor else v  # in this order a NaN stays one
