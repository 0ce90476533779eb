"""Indirect convolution, the fast form: the register tile, whose rows begin where the table says.

    for a panel of filters, a tile of pixels:
        for each tap:
            rows = x at the places of the tile's pixels          zeros where they fall on padding
            sums += rows @ the tap's weights of the panel

A tap that falls on padding for all pixels of a tile is left out, where it has channels enough to ask for it.
"""

from __future__ import annotations

from math import prod

import numpy as np

from convlab.algorithms.indirect.buffer import indirection_buffer, resize
from convlab.cpu.epilogue import begin, finish
from convlab.cpu.gemm import asked_for, pack_filters, share, whole_panels
from convlab.cpu.jit import njit, prange
from convlab.cpu.register_tile import accumulate, listed, prefetch, store_listed, tile_for
from convlab.cpu.threads import bound_for, in_turn, parallel_for
from convlab.cpu.tile_size import TOGETHER
from convlab.problem import ConvProblem

__all__ = ["allocate", "bind", "pack", "resize", "run"]

pack = pack_filters
WORTH_ASKING = 32  # channels: to ask whether a shorter tap is on padding takes longer than to add its zeros


def allocate(problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    """Return the workspace: the table in tiles of as many pixels as the register tile, and zeros, (C/G,)."""
    outside = np.zeros(problem.C // problem.groups, problem.dtype)  # what a tap on padding reads
    return {"offsets": indirection_buffer(problem, tile_for(problem.dtype).rows), "outside": outside}


def run(problem, x, panels, workspace, out, threads):
    """Fill out.y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    _launch(parallel_for, problem, x, panels, workspace, out, threads)


def bind(problem, x, panels, workspace, out, threads):
    """Return `run` with these arguments, as a function of nothing: only kernels are left to call."""
    return in_turn(_launch(bound_for, problem, x, panels, workspace, out, threads))


def _launch(launch, problem, x, panels, workspace, out, threads):
    outside = None if problem.padding == ((0, 0), (0, 0)) else workspace["outside"]
    offsets, filters = workspace["offsets"], problem.K // problem.groups
    made = problem.P * problem.Q, filters
    return multiply(x, offsets, outside, panels, out, None, made, threads, launch)


def multiply(
    x, offsets, outside, panels, out, places, made: tuple[int, int], threads: int, launch=parallel_for
) -> list:
    """Fill some pixels of y, so many of each image, with the sums of x that the table of places asks for.

    Returned is what `launch` returns for each group.

    Parameters
    ----------
    x : ndarray, (N, H, W, C)
    offsets : ndarray of int32, (tiles, taps, rows)
        From `indirection_buffer`.
    outside : ndarray, (channels of a group,), or None
        Zeros, for taps on padding; None if there are none.
    panels : ndarray, (groups, numbers)
        From `convlab.cpu.gemm.pack`.
    out : Output
        Of y (N, P, Q, K).
    places : (int, ndarray of int32 (tiles * rows,)), or None
        How many numbers an image of y has, and where in one each pixel lies; None if one after another.
    made : (int, int)
        Pixels of an image of y that are made, and filters of a group.
    threads : int
    launch : callable
        `parallel_for`, or `bound_for`.
    """
    (N, *image), (tiles, taps, _), (pixels, filters) = x.shape, offsets.shape, made
    tile, groups = tile_for(x.dtype, columns=filters), len(panels)
    sizes = prod(image), pixels, taps, image[-1] // groups, filters
    arrays, after = (tile, x, offsets, outside, panels, out, places), asked_for(panels)
    sides = (N * tiles, 1), (filters, tile.cols)
    return [launch(threads, *sides, _indirect, _shared, *arrays, g, sizes, after) for g in range(groups)]


@njit
def _indirect(first, end, left, right, tile, x, offsets, outside, panels, out, places, g, sizes, after):
    whole, rest = whole_panels(right, tile), (x, offsets, outside, panels, out, places, g, sizes, after)
    together = TOGETHER // tile.rows  # tiles
    for low in range(first, end, together):
        _block(low, min(low + together, end), left, whole, tile, *rest)
        _block(low, min(low + together, end), whole, right, tile.narrow, *rest)


@njit
def _block(low, high, left, right, tile, x, offsets, outside, panels, out, places, g, sizes, after):
    (image, pixels, taps, channels, filters), tiles = sizes, len(offsets)  # of one image
    asks = channels >= WORTH_ASKING
    for k in range(left, right, tile.cols):
        n, i = divmod(low, tiles)  # tile i of image n
        if after is not None:
            wanted = (k + tile.cols if k + tile.cols < right else left) * taps * channels
            wanted += g * panels.shape[1]
            apart = share(tile, (high - low) * tile.rows)
        for _ in range(low, high):
            m, column = i * tile.rows, g * filters + k
            sums = begin(tile, out, n * pixels + m, column, pixels - m, filters - k)
            q = g * panels.shape[1] + k * taps * channels
            for t in range(taps):
                if outside is not None and asks and _all_outside(offsets, i, t, tile.rows):  # adds nothing
                    q += channels * tile.cols
                    continue
                rows = listed(tile, x, n * image + g * channels, offsets, (i * taps + t) * tile.rows, outside)
                for c in range(channels):
                    sums = accumulate(tile, sums, rows, c, panels, q)
                    q += tile.cols
                    if after is not None:
                        prefetch(panels, wanted)
                        wanted += apart
            if places is None:
                finish(tile, sums, out, n * pixels + m, column, pixels - m, filters - k)
            else:
                y_image, spots = places
                store_listed(tile, sums, out.y, n * y_image + column, spots, m, pixels - m, filters - k)
            n, i = (n, i + 1) if i + 1 < tiles else (n + 1, 0)


@njit
def _all_outside(offsets, i, t, rows):
    inside = False
    for j in range(rows):  # not offsets[i, t].max(): that takes longer than a short sum
        inside |= offsets[i, t, j] >= 0
    return not inside


@njit(parallel=True)
def _shared(parts, tile, x, offsets, outside, panels, out, places, g, sizes, after):
    for i in prange(len(parts)):
        first, end, left, right = parts[i, 0], parts[i, 1], parts[i, 2], parts[i, 3]
        _indirect(first, end, left, right, tile, x, offsets, outside, panels, out, places, g, sizes, after)
