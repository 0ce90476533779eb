"""Cut a matrix of sums into parts, one for each thread: they touch neither each other's rows nor columns."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from math import ceil

import numpy as np

from convlab.support.integers import ceil_div

ALIKE = 1.03  # parts that differ by less than this factor take equally long


@lru_cache
def partition(threads: int, rows: int, row_step: int, cols: int = 1, col_step: int = 1) -> np.ndarray:
    """Cut a rows x cols matrix of sums into at most one part a thread, as evenly as whole tiles allow.

    All wait for the thread with the largest part. So every way is looked at to cut the rows into some pieces
    and the columns into as many as threads are left for each. Of the ways whose largest parts are alike that
    with the squarest parts is taken: to compute a part is to read its rows of one factor and its columns of
    the other.

    Parameters
    ----------
    threads : int
    rows, cols : int
    row_step, col_step : int
        Rows and columns of a tile; parts begin at multiples of them.

    Returns
    -------
    ndarray of int64, (parts, 4)
        (first row, end row, first column, end column) of each.
    """
    pieces = range(1, min(threads, ceil_div(rows, row_step)) + 1)
    ways = [(_cuts(rows, row_step, down), _cuts(cols, col_step, threads // down)) for down in pieces]
    longest = [(ceil(_longest(down, row_step)), _longest(across, col_step)) for down, across in ways]
    even = ALIKE * min(down * across for down, across in longest)
    alike = [i for i, (down, across) in enumerate(longest) if down * across <= even]
    down, across = ways[min(alike, key=lambda i: sum(longest[i]))]
    return np.array([(*of_rows, *of_cols) for of_rows in down for of_cols in across], np.int64)


def _cuts(size: int, step: int, pieces: int) -> list[tuple[int, int]]:
    """Cut a side into pieces of whole tiles, as far as there are tiles; return where each begins and ends."""
    tiles = ceil_div(size, step)
    pieces = min(pieces, tiles)
    return list(pairwise(min(size, tiles * i // pieces * step) for i in range(pieces + 1)))


def _longest(cuts: list[tuple[int, int]], step: int) -> float:
    """Return the length of the longest piece in tiles; the last tile may be a part of one.

    A tile computes all of its rows, but fewer columns where that spares a vector.
    """
    return max(end - start for start, end in cuts) / step
