"""`njit`: Numba's, with the options that all kernels here share, and machine code that is kept on disk.

A kernel is compiled when it is first called with arguments of some types, no earlier.
"""

from __future__ import annotations

from collections.abc import Callable

import numba
from numba import prange
from numba.core.registry import CPUDispatcher

from convlab.cpu.kernel_cache import cache_of

__all__ = ["FAST", "njit", "prange"]

# Multiply-adds may be fused and sums reordered; NaN and infinity keep their IEEE meaning.
FAST = frozenset({"reassoc", "contract"})

# Kernels get their arrays, and whoever calls them keeps those alive meanwhile. So nobody needs to count how
# many refer to an array (`_nrt`, Numba's runtime): a count costs 20 cycles, as another thread may be counting
# too, and Numba counts wherever a function is handed one, or a tuple of some. No kernel divides by zero
# either, so none looks whether it does.
UNCOUNTED = {"error_model": "numpy", "_nrt": False}

# Python calls kernels, and kernels call each other; nobody calls one as C's functions are called. Numba would
# compile an entry for that as well, and one for Python in functions that only kernels call. Without these it
# is done a seventh sooner.
CALLED = {"nogil": True, "no_cfunc_wrapper": True}


class Inner(CPUDispatcher):
    """A function that only kernels can call: it has no entry for Python, which would be a jump to nowhere."""

    def __call__(self, *arguments, **named):
        raise TypeError(f"{self.__name__} has no entry for Python: it is a part of kernels, and they call it")


def njit(
    function: Callable | None = None,
    *,
    fastmath=FAST,
    cache: bool = True,
    allocates: bool = False,
    inner: bool = False,
    **options,
):
    """Compile a function with Numba on its first call and keep the machine code on disk.

    Takes the options of `numba.njit`; `cache=True`, `nogil=True` and the safe half of `fastmath` are on. A
    function that makes arrays must say that it allocates. Of one that is `parallel=True` it is known, and one
    that is not kept, an experiment in a notebook, may do what it likes. An `inner` one is called by kernels
    only, see `Inner`.
    """
    free = allocates or not cache or options.get("parallel", False)
    options = CALLED | {"fastmath": set(fastmath)} | ({} if free else UNCOUNTED) | options
    options |= {"no_cpython_wrapper": True} if inner else {}

    def compiled(f: Callable):
        kernel = numba.njit(**options)(f)
        if inner:
            kernel.__class__ = Inner
        if cache:
            kernel._cache = cache_of(f)  # where cache=True would put Numba's own
        return kernel

    return compiled if function is None else compiled(function)
