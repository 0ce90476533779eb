"""How fast this machine reads, by how far away the data lies."""

from __future__ import annotations

from functools import partial

from convlab.auto.disturbance import in_order
from convlab.auto.timing import timer
from convlab.cpu.jit import njit
from convlab.support.aligned import aligned_empty
from convlab.support.checked import Count, checked
from convlab.support.measured import Measured


@njit
def _read(array, times):
    """Read an array over and over; the sums keep the compiler from leaving the reading out."""
    total = array.dtype.type(0)
    for _ in range(times):
        for i in range(array.size):
            total += array[i]
    return total


@checked
def read_speeds(smallest: Count = 8 << 10, largest: Count = 128 << 20, rounds: Count = 5) -> dict[int, float]:
    """Measure how fast one thread reads arrays of growing size.

    Parameters
    ----------
    smallest, largest : int
        Sizes in bytes; each step is twice the last.
    rounds : int
        The best of so many rounds counts: what disturbs can only slow down. A size that is slower than the
        next is looked at again.

    Returns
    -------
    dict of int to float
        Array size in bytes to reading speed in bytes for each second, a `Measured`.
    """
    speeds, size = {}, smallest
    while size <= largest:
        speeds[size] = _speed(size, rounds)
        size *= 2
    return in_order(speeds, partial(_speed, rounds=rounds))


def _speed(size: int, rounds: int) -> float:
    """Return the bytes a second of reading an array of so many bytes."""
    array = aligned_empty((size // 4,))  # where vectors straddle two lines, the nearest cache is half as fast
    array.fill(1)
    times = max(1, (32 << 20) // size)  # about 32 MiB a round, so that every round takes milliseconds
    _read(array, times)
    seconds = timer(partial(_read, array, times), warm=0)
    return size * times / Measured.shortest([seconds() for _ in range(rounds)])
