"""Division of whole numbers that rounds up: how many pieces of a size it takes to cover a length."""

from __future__ import annotations


def ceil_div(length: int, size: int) -> int:
    """Return how many pieces of `size` cover `length`: the quotient, rounded up.

    Examples
    --------
    >>> ceil_div(7, 3)
    3
    """
    return -(-length // size)


def round_up(length: int, unit: int) -> int:
    """Return the smallest multiple of `unit` that is not below `length`.

    Examples
    --------
    >>> round_up(7, 4)
    8
    """
    return ceil_div(length, unit) * unit
