"""Memory that nobody has written is often 0: an answer relying on it is right today and wrong tomorrow."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np


class _Filled:
    """What `np.empty` does, and then every number written: NaN, or a large whole number.

    It is equal to the function it stands for. Numba looks functions up in dicts, by the object that
    `np.empty` is just then, or by a weak reference to it: so it takes the one for the other, both when it
    compiles an answer that calls `np.empty` and when it is first loaded meanwhile and notes for good what it
    can do with it.
    """

    __slots__ = ("__dict__", "_make")  # and no `__weakref__`: Numba's note of it is to stay

    def __init__(self, make: Callable[..., np.ndarray]) -> None:
        self._make = make
        functools.update_wrapper(self, make)

    def __call__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        array = self._make(*args, **kwargs)
        if array.dtype.kind in "fc":
            array[...] = np.nan
        elif array.dtype.kind in "iu":
            array[...] = np.iinfo(array.dtype).max // 2
        return array

    def __eq__(self, other: object) -> bool:
        known = other() if isinstance(other, weakref.ref) else other
        return known is self or known is self._make

    def __hash__(self) -> int:
        return hash(self._make)


_FILLED: dict[str, Any] = {name: _Filled(getattr(np, name)) for name in ("empty", "empty_like")}


@contextlib.contextmanager
def unwritten_shows() -> Iterator[None]:
    """Have `np.empty` and `np.empty_like` hand out arrays of NaN, or of large whole numbers.

    A function compiled by Numba gets memory as it is.
    """
    with mock.patch.multiple(np, **_FILLED):
        yield
