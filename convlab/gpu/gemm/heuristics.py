"""Which tile for which product: the one whose launches are predicted to be over first.

    time  =  seconds of all launches of `work.product_works`, by the model of `convlab.gpu.model.work`

A 128 x 128 tile needs the fewest fetches for a multiply-add, and a thread with 16 x 8 sums the fewest
instructions. But a picture of 14 x 14 pixels is two tiles high, and most multiprocessors would have nothing
to do. Smaller tiles are more blocks; and where even they are too few, the sums are cut: each block adds up a
part of K, and a second kernel adds the parts (split-K). What is best depends on the speeds of the GPU too:
those of the device that kernels run on here.

The choice decides on speed, and of the result on the last bits alone, through the order of the sums.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from convlab.gpu.device import device_speeds
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.gemm.work import convolution_works, product_works
from convlab.gpu.model.speeds import GpuSpeeds
from convlab.gpu.model.work import Work, time_of
from convlab.problem import ConvProblem
from convlab.support.checked import Count, checked, kept
from convlab.support.checks import COMPUTES, check_dtype
from convlab.support.integers import ceil_div

PARTS = 1, 2, 3, 4, 6, 8, 12, 16, 24, 32
PARTS_OF_PIXELS = *PARTS, 48, 64, 96, 128, 192, 256  # where the sums run over all pixels
LEAST = 4  # pieces of a part
BLOCKS = 4  # of a multiprocessor, where pixels are cut: more would move more partial sums than they save time

# Large to small, each as deep as its registers allow: none spills. (A thread with 16 x 8 sums takes all the
# registers that there are: on an H100 so few warps could not hide what they wait for.) Without 4-wide loads a
# thread has more rows of x to look after: fewer sums leave room.
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
    seconds : float
        Of all launches, as predicted.
    """

    tile: Tile
    parts: int
    blocks: int
    rounds: int
    used: float
    seconds: float


@checked
def choose_tile(
    problem: ConvProblem,
    given: tuple[int | None, int | None, int | None] = (None, None, None),
    speeds: GpuSpeeds | None = None,
) -> TileChoice:
    """Return the tile and the parts that are expected to be the fastest.

    Parameters
    ----------
    problem : ConvProblem
    given : tuple
        block_m, block_n and block_k that somebody wants; None leaves one to the library. K is not cut then.
    speeds : GpuSpeeds, optional
        Of the GPU; by default those of the device that kernels run on here.

    Raises
    ------
    ParameterError
        If there is no such tile.
    """
    return _chosen(problem, given, speeds or device_speeds())


@kept
def _chosen(
    problem: ConvProblem, given: tuple[Count | None, Count | None, Count | None], speeds: GpuSpeeds
) -> TileChoice:
    tiles = _tiles(problem, _width(problem.C // problem.groups))
    choices = [_estimate(problem, tile, parts, speeds) for tile in tiles for parts in PARTS]
    best = min(choices, key=lambda choice: choice.seconds)
    if not any(given):
        return best
    usual = best.tile.block_m, best.tile.block_n, best.tile.block_k
    tile = tile_of(*(block or other for block, other in zip(given, usual, strict=True)))
    tile.check(problem.dtype)
    return _estimate(problem, tile, 1, speeds)


@checked
def estimate(
    problem: ConvProblem, tile: Tile, parts: Count = 1, speeds: GpuSpeeds | None = None
) -> TileChoice:
    """Return what the model says of a tile and of so many parts of K, or fewer where those would be short."""
    return _estimate(problem, tile, parts, speeds or device_speeds())


def _estimate(problem: ConvProblem, tile: Tile, parts: int, speeds: GpuSpeeds) -> TileChoice:
    parts = 1 if problem.groups > 1 else _none_empty(problem.gemm[2], tile, parts)
    works = convolution_works(problem, tile, parts)
    return _judged(works, problem.gemm[:2], problem.groups, tile, parts, speeds)


@checked
def choose_for_sums_of_pixels(problem: ConvProblem, speeds: GpuSpeeds | None = None) -> TileChoice:
    """Return the tile and the parts for the gradient of the weights, whose sums run over all output pixels.

    Its y is small, a row for each filter and a column for each of its numbers. So the sums are cut, where
    there are too few tiles for the multiprocessors: into as many parts as the model finds the fastest, but no
    more than leave a multiprocessor `BLOCKS` blocks.

    Parameters
    ----------
    problem : ConvProblem
        The forward convolution.
    speeds : GpuSpeeds, optional
        As in `choose_tile`.
    """
    return _for_sums_of_pixels(problem, speeds or device_speeds())


@lru_cache
def _for_sums_of_pixels(problem: ConvProblem, speeds: GpuSpeeds) -> TileChoice:
    (pixels, filters, taps), channels = problem.gemm, problem.C // problem.groups
    choices = []
    for tile in _tiles(problem, min(_width(filters), _width(channels))):
        for wanted in PARTS_OF_PIXELS:
            parts = _none_empty(pixels, tile, wanted)
            works = product_works(
                (filters, taps, pixels),
                problem.groups,
                tile,
                parts,
                x_width=tile.width,
                apart=problem.C,
                dtype=problem.dtype,
                cold=problem.x_bytes,
            )
            choices.append(_judged(works, (filters, taps), problem.groups, tile, parts, speeds))
    few = (one for one in choices if one.parts == 1 or one.blocks <= BLOCKS * speeds.multiprocessors)
    return min(few, key=lambda choice: choice.seconds)


def _tiles(problem: ConvProblem, width: int) -> tuple[Tile, ...]:
    """Return the tiles there are for loads of so many numbers; refuse numbers that no kernel multiplies."""
    return TILES[check_dtype(problem.dtype, COMPUTES), width]


def _none_empty(length: int, tile: Tile, parts: int) -> int:
    """Return the parts that sums of this length are cut into: none is empty, none is shorter than `LEAST`."""
    pieces = ceil_div(length, tile.block_k)
    return ceil_div(pieces, ceil_div(pieces, max(1, min(parts, pieces // LEAST))))


def _judged(
    works: tuple[Work, ...], sides: tuple[int, int], groups: int, tile: Tile, parts: int, speeds: GpuSpeeds
) -> TileChoice:
    (M, N), blocks = sides, works[0].blocks
    used = M * N * groups * parts / (blocks * tile.block_m * tile.block_n)
    rounds = ceil_div(blocks, speeds.multiprocessors)
    return TileChoice(tile, parts, blocks, rounds, used, sum(time_of(one, speeds).seconds for one in works))


def _width(numbers: int) -> int:
    """Return how many numbers a load can take at once, of rows of so many."""
    return 1 if numbers % 4 else 4


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
