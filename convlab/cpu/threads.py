"""Share a matrix of tiles between threads.

The work of a kernel is cut into parts that touch neither each other's rows nor each other's columns; a loop
over the parts (Numba's `prange`) gives one to each thread.

The threads are a pool that Numba keeps, and a pool does not survive everything. The simplest one serves one
caller at a time and ends the process for two; so callers take turns. The one of GNU OpenMP, the usual one on
Linux, ends a child process that was forked after the pool began; so such a child computes on one thread.

How a pool waits for more work is settled for the whole process when it begins, and left to whoever starts
that. GNU OpenMP's threads ask again and again for some milliseconds: a kernel begins in 4 microseconds, but
where another program has one of two cores it takes twice as long as on one thread. TBB's fall asleep sooner,
and lose nothing there; Numba takes it where the package `tbb` is installed.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import pairwise
from math import ceil
from threading import RLock

import numpy as np

from convlab.support.integers import ceil_div

ALIKE = 1.03  # parts that differ by less than this factor take equally long

_one_at_a_time = RLock()
_pool_was_lost = False  # in a forked child: using the pool again would end it
_held = []  # Numba's own lock, while this process is forked


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


def parallel_for(threads: int, rows: tuple[int, int], cols: tuple[int, int], *rest) -> None:
    """Run a kernel over a rows x cols matrix of sums: what `bound_for` returns, called at once."""
    bound_for(threads, rows, cols, *rest)()


def bound_for(
    threads: int, rows: tuple[int, int], cols: tuple[int, int], kernel, shared, *arguments
) -> Callable[[], None]:
    """Return the call of a kernel over a rows x cols matrix of sums: as a whole, or cut into parts.

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
    alone = partial(kernel, 0, rows[0], 0, cols[0], *arguments)
    if threads == 1:
        return alone
    return partial(_together, threads, alone, shared, partition(threads, *rows, *cols), *arguments)


def _together(threads: int, alone, shared, parts, *arguments) -> None:
    if lost_the_pool():
        alone()
    else:
        with limited(threads):
            shared(parts, *arguments)


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


# -- a process that is forked ------------------------------------------------------------------------------


def lost_the_pool() -> bool:
    """Say if this process must not use Numba's threads, being a fork of one that did; warn of it once."""
    if _pool_was_lost:
        _warn_of_the_loss()
    return _pool_was_lost


@lru_cache
def _warn_of_the_loss() -> None:
    warnings.warn(
        "threads=1 is used in this process: it was forked from one in which Numba's threads ran, on GNU "
        "OpenMP, and that ends a fork which uses them again; with multiprocessing's start method 'spawn' or "
        "'forkserver', or with NUMBA_THREADING_LAYER=workqueue in the environment, threads can be used",
        RuntimeWarning,
        stacklevel=2,
    )


def _began_in_child() -> None:
    """In the child: nobody holds the lock, and the pool may be lost."""
    global _one_at_a_time, _pool_was_lost
    _after_fork()
    _one_at_a_time = RLock()
    _pool_was_lost = _pool_was_lost or _on_gnu_openmp()


def _on_gnu_openmp() -> bool:
    """Say if Numba's pool has begun, and is one of GNU OpenMP; Intel's, TBB and workqueue bear a fork."""
    pool = sys.modules.get("numba.np.ufunc.omppool")
    if getattr(pool, "openmp_vendor", None) != "GNU":
        return False
    import numba

    try:
        return numba.threading_layer() == "omp"
    except ValueError:  # it has not begun
        return False


def _before_fork() -> None:
    """Wait until no kernel uses the pool, and none is compiled: a child would wait for that for ever."""
    _one_at_a_time.acquire()
    if lock := _compiler_lock():
        lock.acquire()
        _held.append(lock)


def _after_fork() -> None:
    while _held:
        _held.pop().release()
    _one_at_a_time.release()


def _compiler_lock():
    """Return the lock that Numba holds while it compiles; None if it was not imported yet."""
    module = sys.modules.get("numba.core.compiler_lock")
    return getattr(module, "global_compiler_lock", None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_began_in_child)
