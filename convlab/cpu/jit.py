"""`njit`: Numba's, with the options that all kernels here share, and machine code that is kept on disk.

A kernel is compiled when it is first called with arguments of some types, no earlier.
"""

from __future__ import annotations

from collections.abc import Callable

import numba
from numba import prange

from convlab.cpu.kernel_cache import cache_of

__all__ = ["FAST", "njit", "prange"]

# Multiply-adds may be fused and sums reordered; NaN and infinity keep their IEEE meaning.
FAST = frozenset({"reassoc", "contract"})


def njit(function: Callable | None = None, *, fastmath=FAST, cache: bool = True, **options):
    """Compile a function with Numba on its first call and keep the machine code on disk.

    Takes the options of `numba.njit`; `cache=True`, `nogil=True` and the safe half of `fastmath` are on.
    """
    options = {"nogil": True, "fastmath": set(fastmath)} | options

    def compiled(f: Callable):
        kernel = numba.njit(**options)(f)
        if cache:
            kernel._cache = cache_of(f)  # where cache=True would put Numba's own
        return kernel

    return compiled if function is None else compiled(function)
