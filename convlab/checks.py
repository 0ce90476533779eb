"""Refuse arrays that are not what a function expects, in words that say what to change."""

from __future__ import annotations

import operator

import numpy as np

from convlab.errors import ArrayError, ParameterError, ShapeError

COMPUTES = ("float32", "float64")


def check_whole(name: str, value, least: int, most: int | None = None) -> int:
    """Return an integer of any kind as Python's, which never wraps; refuse what is none, or out of bounds.

    Raises
    ------
    ParameterError
        The message names the argument, its value and what was expected.
    """
    try:
        number = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < least or (most is not None and number > most):
        bounds = f"above {least - 1}" if most is None else f"from {least} to {most}"
        raise ParameterError(f"{name}={value!r}; expected an integer {bounds}")
    return number


def check_array(name, array, shape=None, axes="", dtypes=COMPUTES) -> None:
    """Refuse what is not a plain NumPy array of one of `dtypes`, and of `shape` if that is given.

    Raises
    ------
    ArrayError, ShapeError
        The message names the array, what it is, and what was expected.
    """
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise ArrayError(
            f"{name} is a {type(array).__name__}; expected a NumPy array"
            + (f", for instance {name}.numpy()" if hasattr(array, "numpy") else "")
        )
    if array.dtype not in dtypes:
        given = array.dtype.name if array.dtype.isnative else f"byte-swapped {array.dtype.name}"
        raise ArrayError(
            f"{name} has dtype {given}; expected {' or '.join(dtypes)} "
            f"(convert it with {name}.astype('{dtypes[0]}'))"
        )
    if shape is not None and array.shape != shape:
        raise ShapeError(f"{name} has shape {array.shape}; expected {axes} = {shape}{_which(array, shape)}")


def check_out(out, shape, dtype, **others) -> None:
    """Refuse an output that cannot be written as a whole, or that shares memory with another array."""
    check_array("out", out, shape, "(N, P, Q, K)", (dtype,))
    if not out.flags.writeable:
        raise ArrayError("out is read-only; expected an array that can be written")
    if not out.flags.c_contiguous:
        raise ArrayError(f"out has strides {out.strides}; expected a C-contiguous array, as np.empty gives")
    for name, array in others.items():
        if isinstance(array, np.ndarray) and np.may_share_memory(out, array):
            raise ArrayError(f"out shares memory with {name}; expected an array of its own")


def _which(array, shape) -> str:
    """Name the first axis that differs."""
    if array.ndim != len(shape):
        return f": {array.ndim} axes instead of {len(shape)}"
    axis = next(i for i in range(array.ndim) if array.shape[i] != shape[i])
    return f": axis {axis} is {array.shape[axis]} instead of {shape[axis]}"
