"""What small things cost on this machine, beside the roofs: each is begun or done many times in a run.

    call        check the arguments of a plan and start it, whatever it computes
    tile        begin and store a register tile
    step        fetch the operands of one step of a tile's sums, as far as its multiply-adds wait for them
    run         begin to copy a run of neighbouring numbers
    number      take one number from a place of its own
    pack        take one of the weights and put it where a kernel reads it
    place       work out one entry of a table that says where numbers lie
    transform   one floating-point operation of a fast Fourier transform (by convention 5 n log2 n of them)

Each in seconds, on one core: measured with the library's own operations, where these do next to nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import log2

import numpy as np

from convlab.algorithms import ALGORITHMS
from convlab.auto.timing import timer
from convlab.cpu.copy_run import copy_run
from convlab.cpu.jit import njit
from convlab.cpu.register_tile import accumulate, spaced, store, tile_for, zeros
from convlab.plans.plan import Plan
from convlab.problem import ConvProblem


def overheads(flops: float, on_step: Callable[[str], None] = lambda name: None) -> dict[str, float]:
    """Measure this machine, whose core does `flops` operations a second; return the seconds of each.

    `on_step` is told each overhead before it is measured. That takes about a second, and first some for
    what has to be compiled.
    """
    measuring = {
        "call": lambda: best(_plan(ConvProblem(1, 1, 1, 1, 1, 1, 1), "direct")),
        "tile": lambda: _tile(flops),
        "run": lambda: best(lambda: _runs(*_arrays(1 << 14), 1 << 10, 4)) / (1 << 10),
        "number": lambda: best(lambda: _numbers(*_arrays(1 << 12), 1 << 6)) / (1 << 12),
        "transform": _transform,
        "pack": _pack,
        "place": _place,
        "step": lambda: _step(flops),
    }
    found = {}
    for name, measure in measuring.items():
        on_step(f"overhead: {name}")
        found[name] = measure()
    return found


def best(run) -> float:
    """Return the shortest time of a call, of many in 20 ms: what disturbs it can only make it longer."""
    run(), run()  # compiles
    seconds, shortest, count, end = timer(run, warm=0), np.inf, 0, time.perf_counter() + 0.02
    while count < 9 or time.perf_counter() < end:
        shortest, count = min(shortest, seconds()), count + 1
    return shortest


def _plan(problem: ConvProblem, algorithm: str):
    """Return a call of a plan."""
    x, w = (np.ones(shape, problem.dtype) for shape in (problem.x_shape, problem.w_shape))
    prepared = Plan(problem, w, None, ALGORITHMS[algorithm], "cpu", threads=1)
    y = np.empty(problem.y_shape, problem.dtype)
    return lambda: prepared(x, y)


def _tile(flops: float) -> float:
    """Return the seconds of a tile whose sums have one term, less the multiply-adds of that."""
    tile = tile_for("float32")

    def seconds(count: int) -> float:
        problem = ConvProblem(1, count * tile.rows, 1, 1, tile.cols, 1, 1)
        return best(_plan(problem, "pointwise")) - problem.flops / flops

    return max(0.0, _one_more(8, 256, seconds))  # what so many read and write stays in a cache


def _step(flops: float) -> float:
    """Return the seconds of a step, of operands that come from the first cache, less its multiply-adds.

    Of long sums less short ones, so that what a tile costs besides is in neither. On some cores loads are not
    free beside multiply-adds: they take time, or power, and the clock falls. A Xeon with AVX-512 took a
    quarter longer than for multiply-adds alone.
    """
    tile, short, long, times = tile_for("float32"), 64, 192, 64
    operands = np.ones(long * tile.rows, tile.dtype), np.ones(long * tile.cols, tile.dtype)
    sums = np.empty(tile.rows * tile.cols, tile.dtype)

    def seconds(steps: int) -> float:
        return best(lambda: _tiles_of(tile, *operands, steps, times, sums)) / times

    multiply_adds = 2 * tile.rows * tile.cols / flops
    return max(0.0, _one_more(short, long, seconds) - multiply_adds)


def _one_more(few: int, many: int, seconds: Callable[[int], float]) -> float:
    """Return what one more of something takes, by the seconds of few and of many."""
    shortest = {few: np.inf, many: np.inf}
    for count in (few, many) * 3:  # in turns: a moment's disturbance of one of them must not count
        shortest[count] = min(shortest[count], seconds(count))
    return (shortest[many] - shortest[few]) / (many - few)


@njit
def _tiles_of(tile, a, w, steps, times, y):
    """Compute the same tile over and over, its sums of so many steps."""
    for _ in range(times):
        sums = zeros(tile)
        rows = spaced(tile, a, 0, steps, tile.rows)
        for k in range(steps):
            sums = accumulate(tile, sums, rows, k, w, k * tile.cols)
        store(tile, sums, y, 0, tile.cols, tile.rows, tile.cols)


def _arrays(size: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(size, np.float32), np.ones(size, np.float32)


@njit
def _runs(target, source, runs, count):
    """Copy short runs that lie apart."""
    step = len(source) // runs
    for i in range(runs):
        copy_run(target, i * count, source, i * step, count)


@njit
def _numbers(target, source, columns):
    """Copy numbers one by one, as a transpose does."""
    rows = len(source) // columns
    for j in range(columns):
        for i in range(rows):
            target[j * rows + i] = source[i * columns + j]


def _transform() -> float:
    """Return the seconds of an operation of NumPy's transform, along an axis whose numbers lie apart."""
    n, lines = 16, 16 * 64
    x = np.ones((lines // 64, n, 64), np.complex64)
    out = np.empty_like(x)
    return best(lambda: np.fft.fft(x, axis=1, norm="ortho", out=out)) / (lines * 5 * n * log2(n))


def _pack() -> float:
    """Return the seconds of a weight, of so many that they stay in a cache."""
    from convlab.cpu.gemm import pack

    w = np.ones((1, 64, 64 * 9), np.float32)
    return best(lambda: pack(w)) / w.size


def _place() -> float:
    """Return the seconds of an entry of an indirection buffer."""
    from convlab.algorithms.indirect import indirection_buffer

    problem, rows = ConvProblem(1, 42, 42, 8, 8, 3, 3, padding=1), tile_for("float32").rows
    return best(lambda: indirection_buffer(problem, rows)) / indirection_buffer(problem, rows).size
