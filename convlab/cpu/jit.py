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

# Kernels get their arrays, and whoever calls them keeps those alive meanwhile. So nobody needs to count how
# many refer to an array (`_nrt`, Numba's runtime): a count costs 20 cycles, as another thread may be counting
# too, and Numba counts wherever a function is handed one, or a tuple of some. No kernel divides by zero
# either, so none looks whether it does.
UNCOUNTED = {"error_model": "numpy", "_nrt": False}


def njit(
    function: Callable | None = None, *, fastmath=FAST, cache: bool = True, allocates: bool = False, **options
):
    """Compile a function with Numba on its first call and keep the machine code on disk.

    Takes the options of `numba.njit`; `cache=True`, `nogil=True` and the safe half of `fastmath` are on. A
    function that makes arrays must say that it allocates. Of one that is `parallel=True` it is known, and one
    that is not kept, an experiment in a notebook, may do what it likes.
    """
    free = allocates or not cache or options.get("parallel", False)
    options = {"nogil": True, "fastmath": set(fastmath)} | ({} if free else UNCOUNTED) | options

    def compiled(f: Callable):
        kernel = numba.njit(**options)(f)
        if cache:
            kernel._cache = cache_of(f)  # where cache=True would put Numba's own
        return kernel

    return compiled if function is None else compiled(function)
