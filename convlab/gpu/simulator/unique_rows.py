"""Different rows of several columns of whole numbers, and how many of them there are."""

from __future__ import annotations

import numpy as np


def unique_rows(*columns: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the different rows of some columns, sorted, and for every row which of them it is.

    What `np.unique` does with axis=0, several times as fast: whole numbers from 0 on, packed into one.
    """
    extents = [1 + int(column.max(initial=0)) for column in columns]
    found, inverse = np.unique(np.ravel_multi_index(columns, extents), return_inverse=True)
    return list(np.unravel_index(found, extents)), inverse


def count_distinct(request: np.ndarray, things: np.ndarray, requests: int) -> np.ndarray:
    """Return how many different things each request has."""
    (request, _), _ = unique_rows(request, things)
    return np.bincount(request, minlength=requests)
