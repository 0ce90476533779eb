"""A picture larger than memory through three layers: the memory it takes, and the time.

    python -m tools.large_picture FOLDER                                8 GiB, in strips of 512 MiB
    python -m tools.large_picture FOLDER --size 1GiB --budget 256MiB

A convolution, a pool, and a convolution. Picture and result lie in a folder of their own in FOLDER, which is
deleted at the end. Memory is the most that the process ever had, as the system counts it; Python, NumPy and
the compiler are in it, the system's own copies of files are not. Time is held against the sum of two:

    computing   strips of the same size, from an array into an array: no disk, no plan to be made. The best
                of three; a part of the picture is computed, and the rest is taken to be like it.
    the disk    the calls that a run makes, and nothing between them. The picture is read once, and none of
                it is in memory before; the result is written strip by strip, and at the end the disk has to
                have it (fsync).

What was written reaches the disk a while later, also while the next strip is computed. So the ratio may be
below 1: nothing waits for the disk, then. Some windows of the result are held against the oracle. Run it
while nothing else runs.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from math import ceil
from pathlib import Path

import numpy as np

from convlab import ConvError, figures
from convlab.distributed import Layers, Mosaic, Run, run
from convlab.distributed.budget import bytes_of
from convlab.distributed.npy_out import FileTarget
from convlab.distributed.rows_in import rows_of
from convlab.distributed.sources import parts
from convlab.distributed.span import Span
from convlab.distributed.strips import starts
from convlab.distributed.unfinished import check_room
from convlab.support.units import bytes_text, time_text
from tools.three_layers import CHANNELS, POOL, SEEN, compared, three_layers

STRIPS = 8  # that are computed in memory


def measure(folder: Path, size: int, budget: int, algorithm: str) -> Iterator[str]:
    """Write the picture, run the layers, check the result and measure the parts; yield what was found."""
    side = POOL * max(SEEN, ceil((size / CHANNELS[0]) ** 0.5 / POOL))
    layers, scan, result = three_layers(side, side), folder / "picture.npy", folder / "result.npy"
    picture_bytes, result_bytes = side**2 * CHANNELS[0], layers.nodes[-1].nbytes
    check_room(folder, picture_bytes + result_bytes, "the picture, with its result,")
    how = {"algorithm": algorithm, "backend": "cpu"}
    mosaic = Mosaic(figures.photograph(512), side, side)
    run(three_layers(SEEN, side), mosaic[:, :SEEN], progress=False, **how)  # compiles
    mosaic.save(scan)
    forget(scan)
    yield f"picture   {bytes_text(picture_bytes)}, {side} x {side}; the result {bytes_text(result_bytes)}"

    before, start = peak(), time.perf_counter()
    done = run(layers, scan, result, memory=budget, **how)
    whole, most = time.perf_counter() - start, peak()
    yield f"strips    {done.height} rows of the result, {bytes_text(done.memory)} stated"
    yield f"peak      {bytes_text(most)} of the whole process, {bytes_text(before)} before the run"
    rest = whole - done.read - done.computed - done.written
    yield f"time      {time_text(whole)}: {parts_of(done)}, the rest {time_text(rest)}"
    yield f"checked   {compared(scan, result, done.height)}"

    result.unlink()
    computing = in_memory(mosaic, done.height, how)
    reading, writing = read_through(scan), written_again(result, layers, done.height)
    total = computing + reading + writing
    yield f"computing {time_text(computing)} from memory to memory"
    yield f"the disk  {time_text(reading)} to read, {time_text(writing)} to write"
    yield f"ratio     {whole / total:.3f}, time over the sum, {time_text(total)}"


def parts_of(done: Run) -> str:
    """Return where the time of a run went."""
    return ", ".join(f"{what} {time_text(getattr(done, what))}" for what in ("read", "computed", "written"))


def peak() -> int:
    """Return the most memory that this process ever had, in bytes."""
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) << 10


def forget(path: Path) -> None:
    """Let the system have no copy of a file in memory."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def in_memory(mosaic: Mosaic, height: int, how: dict) -> float:
    """Return the seconds that all strips of a height would take if nothing came from a disk."""
    H, W = mosaic.shape[1:3]
    rows = min(H, STRIPS * POOL * height)
    x, layers = mosaic[:, :rows], three_layers(rows, W)
    y = np.empty(layers.shape, layers.dtype)
    tried = [run(layers, x, y, height=height, memory="1 TiB", progress=False, **how) for _ in range(3)]
    return min(one.read + one.computed for one in tried) * H / rows


def read_through(path: Path) -> float:
    """Return the seconds that it takes to read a picture from the disk, once."""
    forget(path)
    source, start = rows_of(path), time.perf_counter()
    for rows, columns in parts(source, *(Span(0, size) for size in source.shape[1:3])):
        source.read(0, rows, columns)
    return time.perf_counter() - start


def written_again(path: Path, layers: Layers, height: int) -> float:
    """Return the seconds that it takes to write a result of so many bytes, strip by strip."""
    _, P, Q, K = layers.shape
    numbers = np.random.default_rng(0).random((height, Q, K), np.float32)
    start = time.perf_counter()
    target = FileTarget(path, layers.shape, layers.dtype, "")
    for top in starts(layers, height):
        rows = Span(top, min(top + height, P))
        target.write(0, rows, numbers[: rows.size])
    target.finish()
    seconds = time.perf_counter() - start
    target.close()
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="on the disk that is to be used")
    parser.add_argument("--size", default="8 GiB", help="of the picture, a byte for each colour of a pixel")
    parser.add_argument("--budget", default="512 MiB", help="memory that a strip may take")
    parser.add_argument("--algorithm", default="indirect", help="of both convolutions")
    given = parser.parse_args()
    if sys.platform != "linux":
        parser.error("Linux alone says how much memory a process had, and forgets a file when it is told to")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped; what was written is deleted"))
    try:
        with tempfile.TemporaryDirectory(prefix="large-picture-", dir=given.folder) as scratch:
            sizes = bytes_of(given.size), bytes_of(given.budget)
            for line in measure(Path(scratch), *sizes, given.algorithm):
                print(line, flush=True)
    except (ConvError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
