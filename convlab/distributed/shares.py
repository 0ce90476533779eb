"""Which rows each of several devices has, which of its neighbours' rows it reads, and how many those are.

An axis is cut into parts as equal as can be: part i of `parts` begins at row i·size // parts. Parts of parts
are then parts of the whole as well: two thirds and a half of each are sixths.

What is counted is exact. A window with a dilation, or a stride that is larger than the filter, leaves out
rows between those that it reads; they do not travel.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from convlab.distributed.span import Span, Windows
from convlab.support.integers import ceil_div


def share(size: int, parts: int, part: int) -> Span:
    """Return the rows of one part.

    >>> [share(7, 3, part).size for part in range(3)]
    [2, 2, 3]
    """
    return Span(part * size // parts, (part + 1) * size // parts)


def rows_read(axis: Windows, outputs: Span) -> np.ndarray:
    """Return the rows of the input that some rows of the output read, sorted: no padding, no gaps."""
    first = np.arange(outputs.start, outputs.stop) * axis.stride - axis.corner
    rows = np.unique(first[:, None] + np.arange(axis.taps) * axis.dilation)
    return rows[(rows >= 0) & (rows < axis.size)]


def rows_reached(axis: Windows, inputs: Span) -> np.ndarray:
    """Return the rows of the output that read some rows of the input, sorted: whose dy the gradient takes."""
    first = max(0, ceil_div(inputs.start + axis.corner - axis.extent + 1, axis.stride))
    last = min(axis.out - 1, (inputs.stop - 1 + axis.corner) // axis.stride)
    rows = np.arange(first, max(first, last + 1))
    taps = rows[:, None] * axis.stride - axis.corner + np.arange(axis.taps) * axis.dilation
    return rows[((taps >= inputs.start) & (taps < inputs.stop)).any(axis=1)]


class Borrowed(NamedTuple):
    """What the parts of an axis take, an entry for each part.

    Attributes
    ----------
    need, there : ndarray of int
        Rows that it takes, and how many of them it has already.
    owners : ndarray of int
        Parts that have any of them; mostly it is one itself.
    """

    need: np.ndarray
    there: np.ndarray
    owners: np.ndarray


@lru_cache(4096)
def borrowed(axis: Windows, parts: int, what: str) -> Borrowed:
    """Return what the parts of an axis take of their neighbours.

    Parameters
    ----------
    axis : Windows
    parts : int
    what : str
        "x": rows of the input, for the part's own rows of the output; there are its own.
        "dy": rows of dy, for its own rows of dx; there are its own.
        "dw": its own rows of dy; there are those that its dx has taken.
    """
    found = []
    size = axis.size if what == "x" else axis.out
    for part in range(parts):
        outputs, inputs = share(axis.out, parts, part), share(axis.size, parts, part)
        if what == "x":
            need, own = rows_read(axis, outputs), inputs
        else:
            need, own = rows_reached(axis, inputs), outputs
        there = int(((need >= own.start) & (need < own.stop)).sum())
        owners = len(np.unique(((need + 1) * parts - 1) // size))  # the part that a row belongs to
        found.append((own.size if what == "dw" else len(need), there, owners))
    return Borrowed(*np.array(found).T)
