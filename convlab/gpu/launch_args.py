"""What a kernel is launched with: whole numbers as uint32, and no array too large for them to count.

Numba takes a Python int as an int64. But a GPU's own arithmetic is that of 32 bits, and kernels work out many
places in arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from convlab.errors import UnsupportedError

COUNTED = (1 << 32) - (1 << 20)  # numbers of an array, and room for the threads of a last block, a last part


def uncounted(numbers: int) -> str | None:
    """Return why kernels cannot be given an array of so many numbers, or None."""
    if numbers <= COUNTED:
        return None
    return f"an array of {numbers:,} numbers; kernels count with 32 bits, up to {COUNTED:,}"


def as_launched(value: Any) -> Any:
    """Return an argument as kernels get it: whole numbers as uint32, in tuples too, everything else as it is.

    One type for all sizes: a kernel is compiled once, and its arithmetic is the hardware's own, 32 bits.

    Raises
    ------
    UnsupportedError
        If an array has more numbers than 32 bits can count.
    """
    if isinstance(value, tuple):
        return tuple(map(as_launched, value))
    if why := uncounted(getattr(value, "size", 0)):
        raise UnsupportedError(f"{why}: make the batch N, or the pictures, smaller")
    return np.uint32(value) if isinstance(value, (int, np.integer)) else value
