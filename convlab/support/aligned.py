"""Arrays that begin at a cache line: half of a vector in one line and half in the next costs twice."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from convlab.support.checks import check_dtype, check_shape

CACHE_LINE = 64  # bytes


def aligned_empty(shape: tuple[int, ...], dtype: Any = "float32") -> np.ndarray:
    """Return an array like `np.empty`'s whose first number lies at a multiple of 64 bytes.

    NumPy promises 16 bytes only. A kernel that adds to its output again and again through 64-byte vectors
    can lose half its speed when they straddle two cache lines.
    """
    if shape.__class__ is not tuple or (dtype.__class__ is not str and not isinstance(dtype, np.dtype)):
        shape, dtype = check_shape("shape", shape), check_dtype(dtype)
    try:
        dtype = np.dtype(dtype)
        count = prod(shape)
        buffer = np.empty(count * dtype.itemsize + CACHE_LINE, np.uint8)
        start = -buffer.__array_interface__["data"][0] % CACHE_LINE
        return buffer[start : start + count * dtype.itemsize].view(dtype).reshape(shape)
    except (TypeError, ValueError, OverflowError):  # not looked at before: every run of a plan comes here
        check_dtype(dtype)
        check_shape("shape", shape)
        raise
