"""The roofs of this machine: how fast it can multiply and add, and how fast it can copy, whatever it runs.

    multiply-adds   a loop that does nothing else: operands and sums all live in registers
    copies          on arrays that fit in L1, in L2, in L3, in none of them; C's memcpy or a plain loop,
                    whichever is faster

No kernel is faster than a roof, and how near it comes says how good it is. Both are measured here, on this
machine, never taken from a datasheet.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np

from convlab.auto.disturbance import in_order, out_of_order
from convlab.auto.timing import timer
from convlab.cpu.copy_run import copy_run
from convlab.cpu.jit import njit
from convlab.cpu.register_tile import VectorTile, accumulate, spaced, store, tile_for, zeros
from convlab.machine import system
from convlab.machine.facts import cores_at_hand
from convlab.support.checked import Count, Positive, Threads, checked
from convlab.support.units import bytes_text, count_text


@dataclass(frozen=True)
class Roofs:
    """What one machine can do at best.

    Attributes
    ----------
    flops, flops_all : float
        Floating-point operations (float32) a second, of one core and of `threads` of them together.
    threads : int
        Hardware threads this process may use at once.
    copies : dict of str to (int, float)
        Level of memory to (bytes of one array, bytes a second). As in STREAM a copied byte counts twice: it
        is read and it is written.
    """

    flops: float
    flops_all: float
    threads: int
    copies: dict[str, tuple[int, float]]

    @classmethod
    def here(cls, *, quick: bool = False, on_step: Callable[[str], None] = lambda name: None) -> Roofs:
        """Measure the roofs of this machine; takes about two seconds, or a quarter of that.

        A memory that is slower than one farther away is looked at again.

        `on_step` is told what is measured next.
        """
        threads = cores_at_hand()
        rounds = 15 if quick else 60
        flops = {}
        for count in dict.fromkeys((1, threads)):
            on_step("multiply-adds on one core" if count == 1 else f"multiply-adds on {count} cores")
            flops[count] = multiply_adds(count, rounds)
        copies = {}
        sizes = copy_sizes()
        for level, size in sizes.items():
            on_step(f"copies in {level}")
            copies[level] = copy_speed(size)
        copies = in_order(copies, lambda level: copy_speed(sizes[level]))
        found = {level: (size, copies[level]) for level, size in sizes.items()}
        return cls(flops[1], max(flops.values()), threads, found)

    def describe(self) -> str:
        """Return the roofs as two lines of text; one more for each memory slower than one farther away."""
        copies = ", ".join(f"{level} {bytes_text(speed)}/s" for level, (_, speed) in self.copies.items())
        more = f", {count_text(self.flops_all)}FLOP/s on {self.threads}" if self.threads > 1 else ""
        lines = f"multiply-adds  {count_text(self.flops)}FLOP/s on one core{more}", f"copies         {copies}"
        return "\n".join([*lines, *out_of_order({level: speed for level, (_, speed) in self.copies.items()})])

    def as_dict(self) -> dict:
        """Return the roofs as plain values, ready for JSON."""
        return asdict(self)


# -- multiply-adds -----------------------------------------------------------------------------------------


@checked
def multiply_adds(
    threads: Threads = 1,
    rounds: Count = 60,
    seconds: Positive = 0.004,
    tile: VectorTile | None = None,
) -> float:
    """Measure the FLOPs a second of `threads` cores; the best round counts: what disturbs can only slow down.

    Parameters
    ----------
    threads, rounds : int
    seconds : float
        About how long a round takes: short, so that one of them is left in peace by other programs.
    tile : VectorTile, optional
        Its size is the number of sums that are on their way at once. By default the best of the library's
        own, of one a row lower, since with 16 registers the operands of the former do not all stay in some,
        and of one a row higher: a core that begins four in a cycle wants 16 sums.
    """
    if tile is None:
        usual = tile_for("float32")
        heights = usual.rows, usual.rows - 1, usual.rows + 1
        tiles = [VectorTile(rows, usual.vectors, usual.lanes) for rows in heights]
        return max(multiply_adds(threads, rounds, seconds, each) for each in tiles)
    loop = partial(multiply_add, tile=tile)
    loop(1 << 20)  # compiles, and wakes the clock
    start = time.perf_counter()
    loop(1 << 26)
    work = int((1 << 26) * seconds / (time.perf_counter() - start))
    best, done = 0.0, []
    with ThreadPoolExecutor(threads) as pool:  # compiled code lets go of Python's lock: they run together
        each = map if threads == 1 else pool.map
        taken = timer(lambda: done.append(sum(each(loop, [work] * threads))), warm=0)
        for _ in range(rounds):
            seconds = taken()
            best = max(best, done.pop() / seconds)
    return best


def multiply_add(flops: int, tile: VectorTile | None = None) -> int:
    """Do about so many floating-point operations with a register tile; return how many they were."""
    tile = tile or tile_for("float32")
    each = 2 * tile.rows * tile.cols
    times = max(1, flops // each)
    ones = np.ones(tile.rows + tile.cols, tile.dtype)
    _multiply_add(tile, ones, times, np.empty(tile.rows * tile.cols, tile.dtype))
    return times * each


@checked
def flops_after(run: Callable[[], object], flops: Count = 1 << 27) -> float:
    """Return the FLOPs a second of multiply-adds alone, as soon as `run` is over.

    To load and to multiply at once takes more power than to multiply alone, and a processor that is short of
    it lowers its clock. When the loads are over it rises again, in steps of milliseconds. So for about one
    of them this is the roof that `run` had.
    """
    run()
    multiply_add(flops // 32)  # `run` may have pushed its code out of the caches; much shorter than a step
    start = time.perf_counter()
    done = multiply_add(flops)
    return done / (time.perf_counter() - start)


@njit
def _multiply_add(tile, ones, times, y):
    """Add the same products to a tile over and over: the compiler sees that they can be loaded once."""
    sums = zeros(tile)
    rows = spaced(tile, ones, 0, 1, tile.rows)
    for _ in range(times):
        sums = accumulate(tile, sums, rows, 0, ones, tile.rows)
    store(tile, sums, y, 0, tile.cols, tile.rows, tile.cols)


# -- copies ------------------------------------------------------------------------------------------------


def copy_sizes() -> dict[str, int]:
    """Return for each level of memory the bytes of an array that, with its copy, stays in it.

    A cache whose size the system does not tell is left out: nobody knows what would fit in it.
    """
    caches = system.caches()
    sizes = {f"L{level}": size // 4 for level, size in sorted(caches.items())}
    return sizes | {"memory": max(64 << 20, 2 * max(caches.values(), default=64 << 20))}


Copy = Callable[[np.ndarray, np.ndarray, int], None]  # target, source, how many times over


def copy_speed(size: int, rounds: int = 7, ways: Collection[Copy] | None = None) -> float:
    """Measure the bytes a second, read and written, of copying an array of `size` bytes.

    Parameters
    ----------
    size, rounds : int
    ways : collection of callables, optional
        The fastest counts. By default memcpy and a plain loop: memcpy passes the caches by when an array is
        large, and it depends on the processor whether that helps or hurts.
    """
    source = np.ones(size // 4, np.float32)
    target = np.zeros_like(source)
    times = max(1, (16 << 20) // size)  # about 16 MiB a round: milliseconds
    best = np.inf
    for copy in copies(target, source, times, ways):
        seconds = timer(copy, warm=0)
        best = min(best, *(seconds() for _ in range(rounds)))
    return 2 * source.nbytes * times / best


def copies(
    target: np.ndarray,
    source: np.ndarray,
    times: int,
    ways: Collection[Copy] | None = None,
    pool: ThreadPoolExecutor | None = None,
    threads: int = 1,
) -> Iterator[Callable[[], object]]:
    """Yield for each way, when it is compiled, a function that copies an array so many times over.

    With a pool the array is cut into parts, and so many of its threads copy one each, at the same time.
    """
    parts = list(zip(np.array_split(target, threads), np.array_split(source, threads), strict=True))
    each = map if pool is None else pool.map
    for way in ways or (_copy, _scale):
        way(*parts[0], 1)
        yield partial(_all_parts, each, way, parts, times)


def _all_parts(each, way, parts, times) -> None:
    for _ in each(lambda part: way(*part, times), parts):
        pass


@njit
def _copy(target, source, times):
    for _ in range(times):
        copy_run(target, 0, source, 0, source.size)


@njit
def _scale(target, source, times):
    """Copy by a plain loop. It multiplies as well, or the compiler would make a memcpy of it."""
    for _ in range(times):
        for i in range(source.size):
            target[i] = np.float32(3) * source[i]
