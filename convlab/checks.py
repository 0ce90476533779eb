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
        raise ArrayError(f"{name} is a {type(array).__name__}; expected a NumPy array{_instead(name, array)}")
    if array.dtype not in dtypes:
        raise wrong_dtype(name, array.dtype, dtypes)
    if shape is not None and array.shape != shape:
        raise wrong_shape(name, array.shape, axes, shape)


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


def wrong_dtype(name: str, given: np.dtype, dtypes) -> ArrayError:
    """Return the error for an array whose numbers are of a type that is not computed with."""
    text = given.name if given.isnative else f"byte-swapped {given.name}"
    return ArrayError(
        f"{name} has dtype {text}; expected {' or '.join(dtypes)} "
        f"(convert it with {name}.astype('{dtypes[0]}'))"
    )


def wrong_shape(name: str, given: tuple, axes: str, shape: tuple) -> ShapeError:
    """Return the error for an array of another shape; it names the first axis that differs."""
    if len(given) != len(shape):
        which = f"{len(given)} axes instead of {len(shape)}"
    else:
        axis = next(i for i in range(len(shape)) if given[i] != shape[i])
        which = f"axis {axis} is {given[axis]} instead of {shape[axis]}"
    return ShapeError(f"{name} has shape {given}; expected {axes} = {shape}: {which}")


def _instead(name: str, array) -> str:
    """Say what to do with something that holds an array and is none."""
    try:
        if getattr(array, "__cuda_array_interface__", None) is not None:
            return "; it lies on a GPU, where backend='gpu' runs"
    except Exception:  # a tensor that keeps gradients answers with an error
        return ""
    return f", for instance {name}.numpy()" if hasattr(array, "numpy") else ""
