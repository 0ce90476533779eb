"""Which tile for which product: big tiles multiply faster, small ones keep all of the GPU busy.

The unit of the model is the time of a multiply-add on one multiprocessor. The busiest one has

    rounds  =  blocks / multiprocessors, rounded up
    time    =  rounds * block_m * block_n * length of the sums
               * (instructions of a multiply-add  +  FETCH * (1/block_m + 1/block_n))
    instructions  =  1  +  reads of shared memory  +  OTHERS / multiply-adds of a thread in a piece

A 128 x 128 tile needs the fewest instructions and fetches. But a picture of 14 x 14 pixels is two tiles high,
and most multiprocessors would have nothing to do. Smaller tiles are more blocks; and where even they are too
few, the sums are cut: each block adds up a part of K, and a second kernel adds the parts (split-K).

The constants are guesses from the assembly and from data sheets. They decide on speed, and of
the result on the last bits alone, through the order of the sums.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from convlab.gpu.device import device_multiprocessors
from convlab.gpu.gemm.tile import Tile
from convlab.problem import ConvProblem
from convlab.support.checked import Count, checked, kept
from convlab.support.integers import ceil_div

FETCH = 16  # multiply-adds in the time of fetching a number: 128 a clock, against 32 bytes from the L2 cache
OTHERS = 50  # instructions for one piece beside multiplying and reading shared memory: addresses, barrier
ENOUGH = 8  # warps of a multiprocessor that hide each other's waiting
LAUNCH = 400_000  # multiply-adds in the time that a second kernel takes to start
PARTS = 1, 2, 3, 4, 6, 8, 12, 16, 24, 32
PARTS_OF_PIXELS = *PARTS, 48, 64, 96, 128, 192, 256  # where the sums run over all pixels
LEAST = 4  # pieces of a part
BLOCKS = 4  # of a multiprocessor, where pixels are cut: more would move more partial sums than they save time

# Large to small, each as deep as its registers allow: none spills. Without 4-wide loads of x a thread has
# more rows to look after: fewer sums leave room.
TILES = {
    ("float32", 4): (
        Tile(128, 128, 8, 8, 8),
        Tile(128, 64, 8, 8, 8),
        Tile(64, 64, 16, 8, 4),
        Tile(32, 32, 8, 4, 4),
    ),
    ("float32", 1): (
        Tile(128, 64, 8, 8, 4),
        Tile(64, 64, 8, 8, 4),
        Tile(32, 32, 8, 4, 4),
    ),
    ("float64", 4): (Tile(64, 64, 16, 4, 4), Tile(32, 32, 8, 4, 4)),
    ("float64", 1): (Tile(64, 64, 8, 4, 4), Tile(32, 32, 8, 4, 4)),
}


class TileChoice(NamedTuple):
    """A tile for a product, and the parts that K is cut into.

    Attributes
    ----------
    tile : Tile
    parts : int
    blocks, rounds : int
        Blocks of the launch, and those of the busiest multiprocessor.
    used : float
        Share of the tiles' cells that are cells of y, 0 to 1.
    time : float
        By the model above.
    """

    tile: Tile
    parts: int
    blocks: int
    rounds: int
    used: float
    time: float


@checked
def choose_tile(
    problem: ConvProblem,
    given: tuple[int | None, int | None, int | None] = (None, None, None),
    multiprocessors: Count | None = None,
) -> TileChoice:
    """Return the tile and the parts that are expected to be the fastest.

    Parameters
    ----------
    problem : ConvProblem
    given : tuple
        block_m, block_n and block_k that somebody wants; None leaves one to the library. K is not cut then.
    multiprocessors : int, optional
        How many the GPU has; by default those of the device that kernels run on here.

    Raises
    ------
    ParameterError
        If there is no such tile.
    """
    count = device_multiprocessors() if multiprocessors is None else multiprocessors
    return _chosen(problem, given, count)


@kept
def _chosen(
    problem: ConvProblem,
    given: tuple[Count | None, Count | None, Count | None],
    multiprocessors: Count,
) -> TileChoice:
    width = 1 if problem.C // problem.groups % 4 else 4
    tiles = TILES[problem.dtype, width]
    choices = [estimate(problem, tile, parts, multiprocessors) for tile in tiles for parts in PARTS]
    best = min(choices, key=lambda choice: choice.time)
    if not any(given):
        return best
    usual = best.tile.block_m, best.tile.block_n, best.tile.block_k
    tile = tile_of(*(block or other for block, other in zip(given, usual, strict=True)))
    tile.check(problem.dtype)
    return estimate(problem, tile, 1, multiprocessors)


@checked
def estimate(
    problem: ConvProblem, tile: Tile, parts: Count = 1, multiprocessors: Count | None = None
) -> TileChoice:
    """Return what the model says of a tile and of so many parts of K, or fewer where those would be short."""
    if multiprocessors is None:
        multiprocessors = device_multiprocessors()
    return _estimate(problem.gemm, problem.groups, tile, 1 if problem.groups > 1 else parts, multiprocessors)


@checked
def choose_for_sums_of_pixels(problem: ConvProblem, multiprocessors: Count | None = None) -> TileChoice:
    """Return the tile and the parts for the gradient of the weights, whose sums run over all output pixels.

    Its y is small, a row for each filter and a column for each of its numbers. So the sums are cut, where
    there are too few tiles for the multiprocessors: into as many parts as the model finds the fastest, but no
    more than leave a multiprocessor `BLOCKS` blocks.

    Parameters
    ----------
    problem : ConvProblem
        The forward convolution.
    multiprocessors : int, optional
        As in `choose_tile`.
    """
    return _for_sums_of_pixels(problem, multiprocessors or device_multiprocessors())


@lru_cache
def _for_sums_of_pixels(problem: ConvProblem, multiprocessors: int) -> TileChoice:
    pixels, filters, taps = problem.gemm
    width = 1 if filters % 4 or problem.C // problem.groups % 4 else 4
    choices = (
        _estimate((filters, taps, pixels), problem.groups, tile, parts, multiprocessors)
        for tile in TILES[problem.dtype, width]
        for parts in PARTS_OF_PIXELS
    )
    few = (one for one in choices if one.parts == 1 or one.blocks <= BLOCKS * multiprocessors)
    return min(few, key=lambda choice: choice.time)


def _estimate(
    gemm: tuple[int, int, int], groups: int, tile: Tile, parts: int, multiprocessors: int
) -> TileChoice:
    M, N, K = gemm
    pieces = ceil_div(K, tile.block_k)
    parts = max(1, min(parts, pieces // LEAST))
    length = ceil_div(pieces, parts)
    parts = ceil_div(pieces, length)  # none is empty
    tiles, cells = ceil_div(M, tile.block_m) * ceil_div(N, tile.block_n) * groups, tile.block_m * tile.block_n
    rounds = ceil_div(tiles * parts, multiprocessors)
    fetches = FETCH * (1 / tile.block_m + 1 / tile.block_n)
    waiting = max(1, ENOUGH / (rounds * tile.warps))
    time = rounds * cells * length * tile.block_k * (instructions(tile) + fetches) * waiting
    if parts > 1:  # each is written and read again, and their sum is written
        time += LAUNCH + FETCH * (2 * parts + 1) * M * N * groups / multiprocessors
    return TileChoice(tile, parts, tiles * parts, rounds, M * N * groups / (tiles * cells), time)


def instructions(tile: Tile) -> float:
    """Return the instructions for each multiply-add of the main loop, by the model above."""
    reads = (1 / tile.thread_m + 1 / tile.thread_n) / tile.width
    return 1 + reads + OTHERS / (tile.thread_m * tile.thread_n * tile.block_k)


def tile_of(block_m: int, block_n: int, block_k: int) -> Tile:
    """Return a tile of these sizes: 8 x 8 sums a thread where they go into it, four numbers an access."""
    thread_m, thread_n = (int(np.gcd(block, 8)) for block in (block_m, block_n))
    while (block_m // thread_m) * (block_n // thread_n) < 64 and thread_m * thread_n > 16:
        if thread_m >= thread_n:
            thread_m //= 2
        else:
            thread_n //= 2
    wide = all(size % 4 == 0 for size in (block_n, block_k, thread_m, thread_n))
    tile = Tile(block_m, block_n, block_k, thread_m, thread_n, width=4 if wide else 1)
    return tile if tile.threads >= 64 else replace(tile, buffers=1)
