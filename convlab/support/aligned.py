"""Arrays that begin at a cache line, and large ones each at another place in a page.

Half of a vector in one line and half in the next costs twice. And a processor tells a load from the stores
before it by the low bits of their addresses, and looks for a line in the few places that these bits name. The
system gives every large array the same place in a page: then a kernel that goes through x and y side by side
meets the same bits in both.
"""

from __future__ import annotations

from itertools import cycle
from math import prod
from typing import Any

import numpy as np

from convlab.support.checks import check_dtype, check_shape

CACHE_LINE = 64  # bytes
LARGE = 16 << 10  # bytes: what the few kilobytes that it may begin later do not make much larger
# Where a large array begins, modulo 2 KiB: each far from the one before, none at 0, where NumPy's own begin.
_BEGINNINGS = cycle([768 * turn % 2048 for turn in range(1, 8)])


def aligned_empty(shape: tuple[int, ...], dtype: Any = "float32") -> np.ndarray:
    """Return an array like `np.empty`'s whose first number lies at a multiple of 64 bytes.

    NumPy promises 16 bytes only. A kernel that adds to its output again and again through 64-byte vectors
    can lose half its speed when they straddle two cache lines. Of arrays of 16 KiB and more each begins
    256 bytes or more from where the one before it did, modulo 2 KiB.
    """
    if shape.__class__ is not tuple or (dtype.__class__ is not str and not isinstance(dtype, np.dtype)):
        shape, dtype = check_shape("shape", shape), check_dtype(dtype)
    try:
        dtype = np.dtype(dtype)
        count = prod(shape)
        size = count * dtype.itemsize
        step, place = (CACHE_LINE, 0) if size < LARGE else (2048, next(_BEGINNINGS))
        buffer = np.empty(size + step, np.uint8)
        start = (place - buffer.__array_interface__["data"][0]) % step
        return buffer[start : start + size].view(dtype).reshape(shape)
    except (TypeError, ValueError, OverflowError):  # not looked at before: every run of a plan comes here
        check_dtype(dtype)
        check_shape("shape", shape)
        raise
