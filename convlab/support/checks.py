"""Refuse arguments and arrays that are not what a function expects, in words that say what to change.

Each function raises a `ParameterError`, and of an array an `ArrayError` or a `ShapeError`: the message names
the argument, its value and what was expected.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from math import inf, isinf, nan
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from convlab.errors import ArrayError, ParameterError, ShapeError

COMPUTES = ("float32", "float64")
# Steps of a search for a shared number; of channels side by side it takes ten. NumPy's stubs allow no number.
_INTRICATE: Any = 100_000
LARGEST = 2**31 - 1  # of any size: products of two still fit the 64-bit integers of compiled code


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return an integer of any kind as Python's, which never wraps; refuse what is none, or out of bounds."""
    try:
        number = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except Exception:  # TypeError, or what an object of another library says instead
        number = None
    if number is None or number < least or (most is not None and number > most):
        open_end = most is None or (most >= 2**31 - 1 and (number is None or number < least))
        bounds = f"from {least} to {most}" if not open_end else f"above {least - 1}" if least else "from 0 on"
        raise ParameterError(f"{name}={said(value)}; expected an integer {bounds}")
    return number


def check_threads(threads: Any) -> int:
    """Return `threads` as an int, or say what is wrong with it."""
    return check_whole("threads", threads, 1, 1024)


def check_number(
    name: str, value: Any, above: float = -inf, least: float = -inf, most: float = inf, finite: bool = True
) -> float:
    """Return a number as a float; refuse what is none, truth values, NaN, infinity, what is out of bounds."""
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) else nan
    except OverflowError:
        number = nan
    inside = least <= number <= most and (above < number or above == -inf)  # nor is NaN
    if not inside or (finite and isinf(number)):
        bounds = f" above {above:g}" if above > -inf else f" from {least:g}" if least > -inf else ""
        bounds += f", {most:g} at most" if most < inf else ""
        raise ParameterError(f"{name}={said(value)}; expected a number{bounds}")
    return number


def check_index(name: str, value: Any, least: int | None = 0) -> None:
    """Refuse what is neither an integer (not below `least`, unless None) nor an array of integers."""
    if value.__class__ is np.ndarray and value.dtype.kind in "iu":
        return  # what runs ask for
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "iu" or isinstance(value, np.ma.MaskedArray):
            raise ParameterError(f"{name} has dtype {value.dtype}; expected integers")
    else:
        check_whole(name, value, -(2**63) if least is None else least, 2**63 - 1)


def check_path(name: str, value: Any) -> Path:
    """Return the name of a file as a path; refuse what is none: no name has a NUL in it."""
    if not isinstance(value, str | Path) or "\0" in str(value):
        raise ParameterError(f"{name}={said(value, 300)}; expected the name of a file")
    return Path(value)


def check_choice(name: str, value: Any, words: Iterable[str]) -> str:
    """Return `value`, or say that the argument `name` is none of the words."""
    if not isinstance(value, str) or value not in words:
        raise ParameterError(f"{name}={said(value)}; expected one of {', '.join(words)}")
    return value


def check_dtype(dtype: Any, names: Iterable[str] = ()) -> str:
    """Return the name of a dtype; refuse what is none, or none of `names` if there are any."""
    if dtype.__class__ is str and dtype in names:
        return dtype
    try:
        found = None if dtype is None else np.dtype(dtype)
    except Exception:  # NumPy parses strings, and fails in many ways
        found = None
    if found is None or found.kind not in "biufc" or (names and found.name not in names):
        expected = f"one of {', '.join(names)}" if names else "the type of a number, as 'float32'"
        raise ParameterError(f"dtype={said(dtype)}; expected {expected}")
    return found.name


def check_shape(name: str, shape: Any) -> tuple[int, ...]:
    """Return the sizes of an array's axes, or of its only axis; refuse what are none."""
    if isinstance(shape, np.ndarray) and shape.ndim == 1 and shape.dtype.kind in "iu":
        shape = shape.tolist()
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    return tuple(check_whole(name, size, 0, 2**63 - 1) for size in sizes)


def check_names(name: str, given: Mapping, names: Iterable[str]) -> None:
    """Refuse a mapping that lacks one of the names it is looked up by."""
    if missing := [one for one in names if one not in given]:
        raise ParameterError(f"{name} has nothing for {said(missing[0])}; expected one for each")


def check_words(name: str, text: str) -> None:
    """Refuse a text that says nothing."""
    if not text.strip():
        raise ParameterError(f"{name} is empty; expected a sentence that says what the figure shows")


def check_filled(name: str, values: Any) -> None:
    """Refuse a collection with nothing in it."""
    if not len(values):
        raise ParameterError(f"{name}={said(values)} is empty; expected at least one")


def check_instance(name: str, value: Any, *kinds: type) -> None:
    """Refuse what is of none of some classes."""
    if not isinstance(value, kinds):
        expected = " or ".join(f"a {kind.__name__}" for kind in kinds)
        raise ParameterError(f"{name} is a {type(value).__name__}, {said(value)}; expected {expected}")


def said(value: Any, most: int = 60) -> str:
    """Return how a value is written, on one line and cut to a length that can be read."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a number of 10,000 digits, or an object that cannot say what it is
        text = f"<{type(value).__name__}>"
    return text if len(text) <= most else f"{text[:most]}…"


def check_array(
    name: str, array: Any, shape: Any = None, axes: str = "", dtypes: Sequence[str] = COMPUTES
) -> None:
    """Refuse what is not a plain NumPy array of one of `dtypes`, and of `shape` if that is given."""
    _check_plain(name, array)
    check_form(name, array, dtypes, shape, axes)


def _check_plain(name: str, array: Any) -> None:
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise no_array(name, array)


def check_numbers(name: str, array: Any, shape: Any = None, axes: str = "") -> None:
    """Refuse what is not a plain NumPy array of real numbers, of `shape` if that is given; or has none."""
    _check_plain(name, array)
    if array.dtype.kind not in "biuf":
        raise ArrayError(f"{name} has dtype {array.dtype}; expected real numbers")
    if not array.size:
        raise ShapeError(f"{name} has shape {array.shape}; expected at least one number")
    _check_shape_is(name, array.shape, shape, axes)


def check_form(name: str, array: Any, dtypes: Sequence[str], shape: Any = None, axes: str = "") -> None:
    """Refuse what has a dtype and a shape, but none of `dtypes`, or not `shape` if that is given."""
    if array.dtype not in dtypes:
        text = array.dtype.name if array.dtype.isnative else f"byte-swapped {array.dtype.name}"
        raise ArrayError(
            f"{name} has dtype {text}; expected {' or '.join(dtypes)} "
            f"(convert it with {name}.astype('{dtypes[0]}'))"
        )
    _check_shape_is(name, array.shape, shape, axes)


def _check_shape_is(name: str, given: tuple, shape: tuple | None, axes: str) -> None:
    """Refuse another shape than the one that is asked for, if one is; say which axis differs first."""
    if shape is None or given == shape:
        return
    if len(given) != len(shape):
        which = f"{len(given)} axes instead of {len(shape)}"
    else:
        axis = next(i for i in range(len(shape)) if given[i] != shape[i])
        which = f"axis {axis} is {given[axis]} instead of {shape[axis]}"
    raise ShapeError(f"{name} has shape {given}; expected {axes} = {shape}: {which}")


def check_axes(name: str, array: Any, axes: str) -> None:
    """Refuse an array of another number of axes than these."""
    expected = len(axes.split(", "))
    if array.ndim != expected:
        raise ShapeError(f"{name} has {array.ndim} axes, shape {array.shape}; expected {expected}: ({axes})")


def check_out(
    out: Any, shape: tuple[int, ...], dtype: Any, axes: str = "(N, P, Q, K)", **others: Any
) -> None:
    """Refuse an output that cannot be written as a whole, or that shares memory with another array."""
    _check_written(out, shape, dtype, axes, others)
    if not out.flags.c_contiguous:
        raise ArrayError(f"out has strides {out.strides}; expected a C-contiguous array, as np.empty gives")


def check_pixels_out(out: Any, shape: tuple[int, ...], dtype: Any, **others: Any) -> None:
    """Do the same for an output that may be some channels of a wider one."""
    _check_written(out, shape, dtype, "(N, P, Q, K)", others)
    check_pixels("out", out)


def check_pixels(name: str, array: np.ndarray) -> None:
    """Refuse an array (N, P, Q, K) whose pixels do not lie equally far apart, one after another."""
    if array.flags.c_contiguous:
        return
    image, line, pixel, number = array.strides
    _, P, Q, K = array.shape
    if number != array.itemsize or pixel < K * number or (image, line) != (P * Q * pixel, Q * pixel):
        raise ArrayError(
            f"{name} has strides {array.strides}; expected a C-contiguous array, as np.empty gives, or some "
            "channels of one, as in y[..., 64:128]"
        )


def _check_written(out: Any, shape: tuple[int, ...], dtype: Any, axes: str, others: dict[str, Any]) -> None:
    if not (type(out) is np.ndarray and out.shape == shape and out.dtype == dtype):  # mostly it is
        check_array("out", out, shape, axes, (np.dtype(dtype).name,))
    if not out.flags.writeable:
        raise ArrayError("out is read-only; expected an array that can be written")
    for name, array in others.items():
        if isinstance(array, np.ndarray) and share_memory(out, array):
            raise ArrayError(f"out shares memory with {name}; expected an array of its own")


def share_memory(a: np.ndarray, b: np.ndarray) -> bool:
    """Say if two arrays have a number in common: channels of one array that lie side by side have none.

    Of strides so intricate that this takes long to find out, it is enough that the arrays lie in one place.
    """
    if not np.may_share_memory(a, b):  # looks at the first and the last byte: a microsecond
        return False
    try:
        return np.shares_memory(a, b, max_work=_INTRICATE)
    except np.exceptions.TooHardError:
        return True


def no_array(name: str, given: Any) -> ArrayError:
    """Return the error for what is no plain array."""
    return ArrayError(f"{name} is a {type(given).__name__}; expected a NumPy array{_instead(name, given)}")


def _instead(name: str, array: Any) -> str:
    """Say what to do with something that holds an array and is none."""
    try:
        if getattr(array, "__cuda_array_interface__", None) is not None:
            return "; it lies on a GPU, where backend='gpu' runs"
    except Exception:  # a tensor that keeps gradients answers with an error
        return ""
    return f", for instance {name}.numpy()" if hasattr(array, "numpy") else ""
