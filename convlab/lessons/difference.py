"""Whether a result is the expected one, and in words how it is not."""

from __future__ import annotations

import copy
from contextlib import suppress
from dataclasses import dataclass
from numbers import Rational, Real
from typing import Any

import numpy as np

READABLE = 40  # numbers; arrays up to this size are printed


def numbers(value: Any) -> np.ndarray | None:
    """Return a result as an array of float64, or None if it is not made of real numbers."""
    try:
        given = np.asarray(value)
        exact = given.dtype.kind == "O" and all(isinstance(one, Real) for one in given.flat)  # fractions
        return given.astype(np.float64) if exact or given.dtype.kind in "biuf" else None
    except Exception:  # a ragged list, a number beyond all floats, or whatever an object of its own raises
        return None


@dataclass(frozen=True)
class NoNumbers:
    """Stands for a result that is not made of real numbers.

    Attributes
    ----------
    said : str
        What it is instead.
    """

    said: str


def kept(got: Any) -> Any:
    """Return a result as it is looked at many times: what takes long to read is read here, once."""
    found = numbers(got)
    if found is None:
        return got if got is None else NoNumbers(_odd(got))
    return found if found.ndim else copy.copy(got)


def wrong_cells(expected: Any, got: np.ndarray) -> np.ndarray:
    """Return True where numbers of the same shape differ by more than rounding can explain."""
    expected = np.asarray(expected, np.float64)
    if not expected.ndim:
        return ~np.isclose(got, expected, rtol=1e-9, atol=0)
    # A sum may come close to zero: its rounding is that of what was added up.
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=0)
    return ~np.isclose(got, expected, rtol=1e-4, atol=1e-6 * largest)


def same(a: Any, b: Any) -> bool:
    """Return whether two results are the same up to rounding."""
    first, second = numbers(a), numbers(b)
    if first is None or second is None or first.shape != second.shape:
        return False
    both = np.isnan(first) & np.isnan(second)
    return not (wrong_cells(first, second) & ~both).any()


def difference(expected: Any, got: Any, parts: tuple[str, ...] = ()) -> str:
    """Return in words how `got` differs from `expected`, or nothing if it does not.

    Parameters
    ----------
    expected, got : object
        The right result and the learner's.
    parts : tuple of str, optional
        What the numbers are called that a result consists of.
    """
    found = numbers(got)
    if parts and (found is None or found.shape != (len(parts),)):
        mine = _odd(got) if found is None else _kind(found)
        return f"expected {len(parts)} numbers, ({', '.join(parts)})\ngot      {mine}"
    if found is None:
        return f"expected {_kind(expected)}\ngot      {_odd(got)}"
    if found.shape != np.shape(expected):
        return f"expected {_kind(expected)}\ngot      {_kind(found)}"
    wrong = wrong_cells(expected, found)
    if not wrong.any():
        return ""
    if not found.ndim:
        return f"expected {_plain(expected)}\ngot      {_plain(got)}"
    if parts:
        each = zip(parts, np.asarray(expected), found, wrong, strict=True)
        return "\n".join(f"{name}: expected {e:g}, got {g:g}" for name, e, g, off in each if off)
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    lines = [f"{wrong.sum()} of {wrong.size} numbers differ; the first is at {list(first)}:"]
    lines += [f"expected {expected[first]:g}", f"got      {found[first]:g}"]
    return "\n".join(lines)


def _odd(got: Any) -> str:
    if isinstance(got, (complex, np.complexfloating)) or getattr(got, "dtype", np.dtype("f")).kind == "c":
        small = np.abs(np.imag(got)).max(initial=0) < 1e-6 * np.abs(got).max(initial=0)
        of = "; their imaginary parts are rounding alone: `.real` leaves them out" if small else ""
        return f"complex numbers{of}"
    if isinstance(got, NoNumbers):
        return got.said
    if got is None:
        return "nothing (None): is there a `return`?"
    if isinstance(got, (list, tuple)) and got and all(isinstance(one, np.ndarray) for one in got):
        shapes = list(dict.fromkeys(str(one.shape) for one in got))
        many = "" if len(shapes) == 1 else f", of the shapes {' and '.join(shapes)}"
        return f"a {type(got).__name__} of {len(got)} arrays{many}"
    if isinstance(got, Rational):  # all others are made floats of
        return "a number beyond all floats: more than 300 digits"
    try:
        return f"a {type(got).__name__}: {str(got)[:80]}"
    except Exception:  # it is nested too deep, holds too many digits, or its own __str__ fails
        return f"a {type(got).__name__}, which cannot be shown"


def _kind(value: Any) -> str:
    return f"an array of shape {np.shape(value)}" if np.ndim(value) else f"a number, {_plain(value)}"


def _plain(value: Any) -> str:
    """Write a number without its type, NumPy's or that of a fraction."""
    if isinstance(value, Rational):
        with suppress(ValueError):  # both halves of a fraction may have too many digits
            return str(value)
        return repr(float(value))
    return repr(value.item()) if isinstance(value, (np.generic, np.ndarray)) else repr(value)
