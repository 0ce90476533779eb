"""Memory that was freed goes back to the system.

The C library keeps what was freed for the next who asks: glibc up to 32 MiB an array. If the next one is a
little larger it takes new memory, beside the old. Who has promised a bound gives the old one back first.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache


def give_back() -> None:
    """Give all memory that was freed back to the system, where the C library is one that keeps it.

    `malloc_trim`, glibc's: https://man7.org/linux/man-pages/man3/malloc_trim.3.html
    """
    _malloc_trim()(0)


@cache
def _malloc_trim() -> Callable[[int], object]:
    if not sys.platform.startswith("linux"):
        return lambda pad: None
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):  # another C library: musl keeps little
        return lambda pad: None
    trim.argtypes = [ctypes.c_size_t]
    return trim
