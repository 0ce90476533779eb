"""The roofs of a GPU, measured: how fast it copies, reads from L2, multiplies and adds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from convlab.auto.timing import summary
from convlab.benchmark.gpu.kernels import THREADS, copier, wait
from convlab.errors import ConvError
from convlab.gpu.kernels import kernel
from convlab.gpu.numba_cuda import cuda, float32
from convlab.gpu.ptx import load4

QUAD = 16  # bytes: four float32
CHAINS = 8  # multiply-adds of a thread that do not wait for each other: four cycles each, and room to spare
ROUNDS = 8  # of all chains before the loop counts once


@dataclass(frozen=True)
class DeviceRoofs:
    """What one GPU can do at best.

    Attributes
    ----------
    flops : float
        Floating-point operations (float32, on the ordinary cores) a second.
    copy : float
        Bytes a second, read and written, of copying `copy_bytes`: far more than a cache holds.
    copy_bytes : int
    l2 : float
        Bytes a second, read from `l2_bytes` that stay in L2.
    l2_bytes : int
    empty : float
        Seconds between two events with a kernel of one thread that does nothing between them.
    """

    flops: float
    copy: float
    copy_bytes: int
    l2: float
    l2_bytes: int
    empty: float

    def as_dict(self) -> dict:
        """Return the roofs as plain values, ready for JSON."""
        return asdict(self)


class RoofSizes(NamedTuple):
    """Bytes that are copied, and read again from L2; how often; and blocks for each multiprocessor."""

    copy_bytes: int
    l2_bytes: int
    times: int
    blocks: int


LARGE = RoofSizes(256 << 20, 16 << 20, 512, 8)  # of 256 threads eight blocks: as many as fit
SMALL = RoofSizes(THREADS * QUAD * 2, THREADS * QUAD, 5, 1)  # where it is only tried: a turn of four, and one


def measure(clock, multiprocessors: int, rounds: int = 9, sizes: RoofSizes = LARGE) -> DeviceRoofs:
    """Measure the roofs of a device with so many multiprocessors.

    What is read again is at most half of what the L2 cache holds, if that is known: an RTX 3090's is 6 MiB.
    """
    device = clock.device
    copy_bytes, l2_bytes, times, each = sizes
    blocks, piece = each * multiprocessors, THREADS * QUAD
    if clock.l2_bytes is not None:
        l2_bytes = max(piece, min(l2_bytes, clock.l2_bytes // 2 // piece * piece))

    def best(run) -> float:
        run()  # compiles
        seconds = clock.timer(run)
        return summary([seconds() for _ in range(rounds)]).low

    source = device.put(np.ones(copy_bytes // 4, np.float32))
    target = device.empty(copy_bytes // 4, np.float32)
    copying = best(copier(device, source, target))
    if not (device.get(target) == 1).all():
        raise ConvError("the copy is none")
    y = device.empty(blocks * THREADS, np.float32)
    pieces = l2_bytes // piece
    reading = best(lambda: device.launch(read_again(), blocks, THREADS, source, y, pieces, times))
    if not (device.get(y) == 4 * times).all():
        raise ConvError("the sum of what was read is wrong")
    done = times * ROUNDS * CHAINS  # multiply-adds of a thread
    multiplying = best(lambda: device.launch(multiply_add(), blocks, THREADS, y, np.float32(0.5), times))
    cell = device.put(np.ones(1, np.float32))
    return DeviceRoofs(
        flops=2 * done * blocks * THREADS / multiplying,
        copy=2 * copy_bytes / copying,
        copy_bytes=copy_bytes,
        l2=times * blocks * THREADS * QUAD / reading,
        l2_bytes=l2_bytes,
        empty=best(lambda: device.launch(wait(), 1, 1, cell, np.float32(1), 0)),
    )


@cache
def read_again():
    """Return the kernel ``(source, y, pieces, times)``; a piece is THREADS quads, all blocks read others."""

    @kernel
    def read_pieces(source, y, pieces, times):
        thread = cuda.threadIdx.x
        piece, step = cuda.blockIdx.x, cuda.gridDim.x + 37
        sum_a, sum_b, sum_c, sum_d = float32(0), float32(0), float32(0), float32(0)
        time = 0
        while time < times:
            piece = piece % pieces
            a, b, c, d = load4(source, (piece * THREADS + thread) * 4)
            sum_a += a
            sum_b += b
            sum_c += c
            sum_d += d
            piece += step
            time += 1
        y[cuda.grid(1)] = sum_a + sum_b + sum_c + sum_d

    return read_pieces


@cache
def multiply_add():
    """Return the kernel ``(y, factor, times)``: times * ROUNDS * CHAINS multiply-adds a thread."""

    @kernel
    def multiply_add_chains(y, factor, times):
        # Each begins elsewhere: chains that are alike would be made one.
        a = float32(cuda.threadIdx.x)
        b, c, d = a + factor, a - factor, a * factor
        e, f, g, h = b * factor, c * factor, d * factor, d + factor
        time = 0
        while time < times:
            for _ in range(ROUNDS):
                a = a * factor + factor
                b = b * factor + factor
                c = c * factor + factor
                d = d * factor + factor
                e = e * factor + factor
                f = f * factor + factor
                g = g * factor + factor
                h = h * factor + factor
            time += 1
        y[cuda.grid(1)] = a + b + c + d + e + f + g + h

    return multiply_add_chains
