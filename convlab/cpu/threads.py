"""Share a matrix of tiles between threads.

The work of a kernel is cut into parts (`partition.py`); a loop over them, Numba's `prange`, gives one to each
thread. A layer of a network may take some ten microseconds, so the way to it counts, too. At every call of a
kernel Numba looks at the types of its arguments, for 2 to 3 of them: where the arguments stay the same,
`bound_for` asks it once for the machine code, and calls that. To ask it how many threads it uses takes 2
more: a network does so once a run, and not for every layer (`limited`).

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
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from threading import RLock

from numba import config, get_num_threads, set_num_threads, threading_layer
from numba.core.compiler_lock import global_compiler_lock

from convlab.cpu.partition import partition

_one_at_a_time = RLock()
_limit: int | None = None  # of who holds it
_pool_was_lost = False  # in a forked child: using the pool again would end it


def parallel_for(
    threads: int, rows: tuple[int, int], cols: tuple[int, int], kernel, shared, *arguments
) -> None:
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
    if threads == 1 or lost_the_pool():
        kernel(0, rows[0], 0, cols[0], *arguments)
    else:
        with limited(threads):
            shared(partition(threads, *rows, *cols), *arguments)


def bound_for(
    threads: int, rows: tuple[int, int], cols: tuple[int, int], kernel, shared, *arguments
) -> Callable[[], None]:
    """Return what `parallel_for` does with these arguments, as a function of nothing; it compiles now."""
    if threads == 1:
        return _bound(kernel, 0, rows[0], 0, cols[0], *arguments)
    alone = partial(kernel, 0, rows[0], 0, cols[0], *arguments)
    return partial(_together, threads, alone, _bound(shared, partition(threads, *rows, *cols), *arguments))


def _bound(kernel, *arguments) -> Callable[[], None]:
    """Return the call of a kernel's machine code for arguments of these types."""
    return partial(kernel.compile(tuple(map(kernel.typeof_pyval, arguments))), *arguments)


def _together(threads: int, alone, shared) -> None:
    if lost_the_pool():
        alone()
    else:
        with limited(threads):
            shared()


def in_turn(calls: Sequence[Callable[[], None]]) -> Callable[[], None]:
    """Return what does one after the other."""
    return calls[0] if len(calls) == 1 else partial(_in_turn, calls)


def _in_turn(calls) -> None:
    for call in calls:
        call()


class limited:
    """Lets the kernels inside a ``with`` run on at most so many threads; other callers wait for its end."""

    def __init__(self, threads: int):
        self._threads = min(threads, config.NUMBA_NUM_THREADS)

    def __enter__(self) -> None:
        global _limit
        self._lock = _one_at_a_time
        self._lock.acquire()
        self._around = _limit  # of the block that this one is in
        if self._around != self._threads:
            self._before, _limit = get_num_threads(), self._threads
            set_num_threads(self._threads)

    def __exit__(self, *error) -> None:
        global _limit
        if self._around != self._threads:
            set_num_threads(self._before)
            _limit = self._around
        self._lock.release()


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
    global _one_at_a_time, _pool_was_lost, _limit
    _after_fork()
    _one_at_a_time, _limit = RLock(), None
    _pool_was_lost = _pool_was_lost or _on_gnu_openmp()


def _on_gnu_openmp() -> bool:
    """Say if Numba's pool has begun, and is one of GNU OpenMP; Intel's, TBB and workqueue bear a fork."""
    pool = sys.modules.get("numba.np.ufunc.omppool")
    if getattr(pool, "openmp_vendor", None) != "GNU":
        return False
    try:
        return threading_layer() == "omp"
    except ValueError:  # it has not begun
        return False


def _before_fork() -> None:
    """Wait until no kernel uses the pool, and none is compiled: a child would wait for that for ever."""
    _one_at_a_time.acquire()
    global_compiler_lock.acquire()


def _after_fork() -> None:
    global_compiler_lock.release()
    _one_at_a_time.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_began_in_child)
