"""Share a matrix of tiles between threads.

The work of a kernel is cut into parts that touch neither each other's rows nor each other's columns; a loop
over the parts (Numba's `prange`) gives one to each thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise
from threading import Lock

import numpy as np

from convlab.checks import check_whole

TILES = 8  # neighbouring tiles that go through all filters together: their pixels stay in the cache

_one_at_a_time = Lock()  # Numba's simplest pool of threads serves one caller and stops the process for two


def check_threads(threads) -> int:
    """Return `threads` as an int, or say what is wrong with it."""
    return check_whole("threads", threads, 1, 1024)


@lru_cache
def parts(threads: int, rows: int, row_step: int, cols: int = 1, col_step: int = 1) -> np.ndarray:
    """Cut a rows x cols matrix of sums into one part a thread, along the side that has more tiles.

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
    tiles = -(-rows // row_step), -(-cols // col_step)
    across = tiles[1] > tiles[0]
    size, step, count = (cols, col_step, tiles[1]) if across else (rows, row_step, tiles[0])
    threads = min(threads, count)
    edges = [min(size, count * i // threads * step) for i in range(threads + 1)]
    cuts = list(pairwise(edges))
    return np.array([(0, rows, *cut) if across else (*cut, 0, cols) for cut in cuts], np.int64)


def spread(threads: int, rows: tuple[int, int], cols: tuple[int, int], kernel, shared, *arguments) -> None:
    """Run a kernel over a rows x cols matrix of sums: as a whole, or cut into parts.

    Parameters
    ----------
    threads : int
    rows, cols : (int, int)
        How many there are, and how many of them make a tile.
    kernel : callable
        ``kernel(first row, end row, first column, end column, *arguments)`` computes a part.
    shared : callable
        ``shared(parts, *arguments)`` calls the kernel for every part, on many threads.
    """
    if threads == 1:
        kernel(0, rows[0], 0, cols[0], *arguments)
    else:
        with limited(threads):
            shared(parts(threads, *rows, *cols), *arguments)


@contextmanager
def limited(threads: int) -> Iterator[None]:
    """Let the kernels inside a ``with`` run on at most so many threads."""
    import numba

    with _one_at_a_time:
        before, wanted = numba.get_num_threads(), min(threads, numba.config.NUMBA_NUM_THREADS)
        if before == wanted:  # a microsecond for each time it is set: a tenth of a short convolution
            yield
            return
        numba.set_num_threads(wanted)
        try:
            yield
        finally:
            numba.set_num_threads(before)
