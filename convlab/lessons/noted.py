"""Numbers that note with which other they are multiplied, for exercises where the order is the point.

They see what `watch` cannot: an answer that puts them into lists or plain arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Place = tuple[int, ...]


class Noted:
    """A number of an array; what is computed from it is a plain number again."""

    def __init__(self, value: float, place: Place, notes: list[tuple[Place, Place]]) -> None:
        self.value, self.place, self.notes = value, place, notes

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Noted):
            self.notes.append((self.place, other.place))
            return self.value * other.value
        return self.value * other

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Any:
        return self.value + other

    __radd__ = __add__

    def __float__(self) -> float:
        return self.value


def products_of(function: Callable, a: np.ndarray, b: np.ndarray, *rest: Any) -> list[tuple[Place, Place]]:
    """Return which number of `a` is multiplied by which of `b`, in turn.

    Returns
    -------
    list of (tuple of int, tuple of int)
        The places of both. Empty if the function makes floats of them first, or cannot do with such numbers.
    """
    notes: list[tuple[Place, Place]] = []
    operands = []
    for array in (a, b):
        numbers = np.empty(array.shape, object)
        for place, value in np.ndenumerate(array):
            numbers[place] = Noted(float(value), place, notes)
        operands.append(numbers)
    try:
        function(*operands, *rest)
    except (TypeError, AttributeError):  # some ways want numbers of NumPy's; they are looked at otherwise
        return []
    return notes
