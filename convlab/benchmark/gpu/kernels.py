"""Kernels that make a fair timing possible, and one to hold a filter against: a copy.

Each is a factory, as all kernels are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from convlab.gpu.kernels import kernel
from convlab.gpu.numba_cuda import cuda
from convlab.gpu.ptx import load4, store4

THREADS = 256  # of a block


@cache
def copy():
    """Return the kernel ``(source, target, quads)``: one quad of four numbers a thread."""

    @kernel
    def copy_quads(source, target, quads):
        i = cuda.grid(1)
        if i < quads:
            a, b, c, d = load4(source, i * 4)
            store4(target, i * 4, a, b, c, d)

    return copy_quads


def copier(device, source, target) -> Callable[[], None]:
    """Return a call that copies a device array of a multiple of four numbers to another."""
    source, target = source.reshape(-1), target.reshape(-1)
    quads = source.size // 4
    return lambda: device.launch(copy(), -(-quads // THREADS), THREADS, source, target, quads)


@cache
def sweep():
    """Return the kernel ``(waste, y, quads)``: reads it all, and so has the cache hold nothing else.

    Were it written instead, whoever is timed then would have to wait until that has gone to memory.
    """

    @kernel
    def read_quads(waste, y, quads):
        i = cuda.grid(1)
        if i < quads:
            a, b, c, d = load4(waste, i * 4)
            if a + b + c + d > 0:  # which it is not; but a number that nobody uses would not be loaded
                y[0] = a

    return read_quads


@cache
def wait():
    """Return the kernel ``(y, factor, times)``: one thread counts while the host prepares what follows."""

    @kernel
    def wait_for(y, factor, times):
        value = y[0]
        time = 0
        while time < times:
            value = value * factor + factor
            time += 1
        y[0] = value

    return wait_for
