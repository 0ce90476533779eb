"""How the compiled product of wgrad is cut: parts of the matrix, tiles of dw, and what each thread sums."""

from __future__ import annotations

import numpy as np

from convlab.cpu.partition import partition
from convlab.cpu.tile_size import VectorTile, tile_for
from convlab.problem import ConvProblem
from convlab.support.aligned import CACHE_LINE
from convlab.support.integers import ceil_div

ROWS = 256  # of a part
COLUMNS = 512  # of a part, at most, on backend "cpu": half a megabyte in float32, for the second cache


def tile_of(problem: ConvProblem) -> VectorTile:
    """Return the tile: its rows are filters, its columns numbers of a filter."""
    return tile_for(problem.dtype, rows=problem.K // problem.groups)


def cuts(problem: ConvProblem, threads: int) -> np.ndarray:
    """Return which filters and which of their numbers each thread sums: see `partition`."""
    (_, filters, taps), tile = problem.gemm, tile_of(problem)
    return partition(threads, filters, tile.rows, taps, tile.cols)


def row_step(problem: ConvProblem, columns: int) -> int:
    """Return the numbers from one row of a matrix of so many columns to the next.

    Whole tiles, and an odd number of cache lines: neighbouring rows then lie in different sets of the cache.
    """
    tile = tile_of(problem)
    lines = ceil_div(ceil_div(columns, tile.cols) * tile.cols * problem.itemsize, CACHE_LINE)
    return (lines | 1) * CACHE_LINE // problem.itemsize
