"""Loops that are written out: the compiler sees every index as a constant.

An array that lives in registers cannot be indexed by a number that changes: registers have no addresses. So
the loops around it must be gone before the machine code is made. Small ones go by themselves; for larger
ones, `unrolled` writes the calls::

    @device_function(forceinline=True)
    def step(i, sums, numbers):
        sums[i] += numbers[i]

    steps = unrolled(step, 8)
    steps(0, sums, numbers)          # in a kernel: step(0, ...), step(1, ...), ..., step(7, ...)
"""

from __future__ import annotations

from functools import lru_cache

from convlab.gpu.kernels import device_function


@lru_cache
def unrolled(step, count: int):
    """Return a device function that calls ``step(index, *rest)`` for `count` indices from the given one on.

    Halves of halves: the source stays short, and few functions are compiled for many calls. All of them are
    to be compiled into the kernel (`forceinline`): an array of registers cannot be handed to a function.
    """
    if count == 1:
        return step
    low = count // 2
    lower, upper = unrolled(step, low), unrolled(step, count - low)

    @device_function(forceinline=True)
    def both(index, *rest):
        lower(index, *rest)
        upper(index + low, *rest)

    return both
