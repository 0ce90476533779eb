"""The roofs of a GPU, measured: how fast it copies, reads from L2, multiplies and adds."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from convlab.auto.timing import summary
from convlab.benchmark.gpu import roof_kernels
from convlab.errors import ConvError

THREADS = roof_kernels.THREADS
QUAD = 16  # bytes: four float32


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


def measure(clock, multiprocessors: int, rounds: int = 9, tiny: bool = False) -> DeviceRoofs:
    """Measure the roofs; `tiny` is for the lane simulator, where it is only tried."""
    device = clock.device
    copy_bytes, l2_bytes, times = (
        (THREADS * QUAD * 2, THREADS * QUAD, 2) if tiny else (256 << 20, 16 << 20, 512)
    )
    blocks = 1 if tiny else 8 * multiprocessors  # of 256 threads: as many as fit

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
    pieces = l2_bytes // (THREADS * QUAD)
    reading = best(
        lambda: device.launch(roof_kernels.read_again(), blocks, THREADS, source, y, pieces, times)
    )
    if not (device.get(y) == 4 * times).all():
        raise ConvError("the sum of what was read is wrong")
    each = times * roof_kernels.ROUNDS * roof_kernels.CHAINS  # multiply-adds of a thread
    multiplying = best(
        lambda: device.launch(roof_kernels.multiply_add(), blocks, THREADS, y, np.float32(0.5), times)
    )
    cell = device.put(np.ones(1, np.float32))
    return DeviceRoofs(
        flops=2 * each * blocks * THREADS / multiplying,
        copy=2 * copy_bytes / copying,
        copy_bytes=copy_bytes,
        l2=times * blocks * THREADS * QUAD / reading,
        l2_bytes=l2_bytes,
        empty=best(lambda: device.launch(roof_kernels.wait(), 1, 1, cell, np.float32(1), 0)),
    )


def copier(device, source, target):
    """Return a call that copies a device array of a multiple of four numbers to another."""
    source, target = source.reshape(-1), target.reshape(-1)
    quads = source.size // 4
    return lambda: device.launch(roof_kernels.copy(), -(-quads // THREADS), THREADS, source, target, quads)
