"""Numbers as a kernel has them: casts wrap around, and floating-point numbers keep their type.

A whole number is a Python int, a floating-point number a NumPy scalar of its type. Where Python and Numba
disagree on what a name does to them, the kernel sees the stand-in made here.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np


def as_dtype(kind) -> np.dtype:
    """Return the NumPy type of whatever a kernel calls a type: Numba's, NumPy's, or one made here."""
    if isinstance(kind, type | str | np.dtype):
        return np.dtype(kind)
    if hasattr(kind, "dtype"):
        return kind.dtype
    from numba.np.numpy_support import as_dtype as of_numba

    return of_numba(kind)


def is_number_type(value) -> bool:
    """Return whether a value is the type of a number, and so casts when it is called."""
    if isinstance(value, type):
        return issubclass(value, np.generic)
    from numba import types

    return isinstance(value, types.Number | types.Boolean)


@lru_cache
def cast(dtype: np.dtype):
    """Return what ``float32(...)`` or ``uint32(...)`` is in a kernel."""
    if dtype.kind in "ui":
        return _whole(dtype)
    if dtype.kind == "c":
        return _complex(dtype)
    return bool if dtype.kind == "b" else dtype.type


def _whole(dtype):
    mask = (1 << 8 * dtype.itemsize) - 1
    sign = (mask + 1) >> 1 if dtype.kind == "i" else 0

    if sign:

        def whole(value):
            return ((int(value) & mask) ^ sign) - sign
    else:

        def whole(value):
            return (value if value.__class__ is int else int(value)) & mask

    whole.dtype = dtype
    return whole


def _complex(dtype):
    def number(real, imaginary=0):
        return dtype.type(real + 1j * imaginary if imaginary else real)

    number.dtype = dtype
    return number


def argument(value):
    """Return a number given to a launch as the kernel sees it."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    return literal(value)


def literal(value):
    """Return a Python float or complex as Numba types it: in double precision."""
    if value.__class__ is float:
        return np.float64(value)
    return np.complex128(value) if value.__class__ is complex else value


@lru_cache
def keeps_type(function):
    """Return a function of `math` that gives a float32 for float32s, as Numba's does."""

    def call(*numbers):
        result = function(*numbers)
        if result.__class__ is not float:
            return result
        single = all(number.__class__ is np.float32 for number in numbers)
        return np.float32(result) if single else np.float64(result)

    return call


class Module:
    """What a kernel sees of a module: everything in it, swapped like the kernel's own names."""

    def __init__(self, module, swap):
        self._module, self._swap = module, swap

    def __getattr__(self, name):
        value = self._swap(getattr(self._module, name))
        setattr(self, name, value)
        return value
