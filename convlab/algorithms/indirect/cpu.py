"""Indirect convolution, the fast form: the register tile, whose rows begin where the table says.

    for a panel of filters, a tile of pixels:
        for each tap:                                            or each line of taps that lie side by side
            rows = x at the places of the tile's pixels          zeros where they fall on padding
            sums += rows @ the tap's weights of the panel

Of a picture with few channels a tap is a short sum, 3 numbers long in a first layer, and to find its pixels
takes as long as to multiply them. But taps of a line are neighbours in x too: 3 of them are a sum of 9. Only
at the left and right edge some fall on padding, and all go one by one.

A tap that falls on padding for all pixels of a tile is left out, where it has channels enough to ask for it.

Groups of few channels, with as many filters, are multiplied together: they lie side by side in a vector
(`convlab.cpu.group_lanes`).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from convlab.algorithms.indirect import buffer
from convlab.cpu.epilogue import begin, finish
from convlab.cpu.gemm import asked_for, pack_filters, share, whole_panels
from convlab.cpu.group_lanes import accumulate_groups
from convlab.cpu.jit import njit, prange
from convlab.cpu.product_tile import tile_across_groups
from convlab.cpu.register_tile import VectorTile, accumulate, listed, prefetch, store_listed
from convlab.cpu.threads import bound_for, parallel_for
from convlab.cpu.tile_size import TOGETHER
from convlab.problem import ConvProblem

WORTH_ASKING = 32  # channels: to ask whether a shorter tap is on padding takes longer than to add its zeros


def pack(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return the filters in panels as wide as the tile."""
    return pack_filters(problem, w, tile_across_groups(problem))


def allocate(problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    """Return the workspace: the table in tiles as tall as the register tile, its runs, and zeros."""
    tile = tile_across_groups(problem)
    return {
        "offsets": buffer.indirection_buffer(problem, tile.rows),
        "runs": buffer.runs_of(problem, tile.rows),
        "outside": nothing(problem.S * problem.C // problem.groups, tile),
    }


def nothing(numbers: int, tile: VectorTile) -> np.ndarray:
    """Return the zeros that padding reads: so many, or two vectors of them where groups lie side by side."""
    return np.zeros(max(numbers, 2 * tile.lanes) if tile.group else numbers, tile.dtype)


def resize(old: ConvProblem, new: ConvProblem, workspace: dict) -> tuple[dict[str, np.ndarray], str]:
    """Return the workspace for a picture of another size, and how much of it had to be made anew."""
    rows = tile_across_groups(new).rows
    if tile_across_groups(old).rows != rows:
        return allocate(new, threads=1), "all"
    resized, how_much = buffer.resize(old, new, workspace)
    if resized is not workspace:  # not only another batch
        resized["runs"] = buffer.runs_of(new, rows)
    return resized, how_much


def run(problem, x, panels, workspace, out, threads):
    """Fill out.y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    _launch(parallel_for, problem, x, panels, workspace, out, threads)


def bind(problem, x, panels, workspace, out, threads):
    """Return `run` with these arguments, as a function of nothing: only the kernel is left to call."""
    return _launch(bound_for, problem, x, panels, workspace, out, threads)


def _launch(launch, problem, x, panels, workspace, out, threads):
    outside = None if problem.padding == ((0, 0), (0, 0)) else workspace["outside"]
    arrays = x, workspace["offsets"], workspace["runs"], outside, panels, out, None
    made = problem.P * problem.Q, problem.K // len(panels)
    return multiply(tile_across_groups(problem), *arrays, made, threads, launch)


def multiply(
    tile: VectorTile,
    x,
    offsets,
    runs,
    outside,
    panels,
    out,
    targets,
    made: tuple[int, int],
    threads: int,
    launch=parallel_for,
) -> Callable[[], None] | None:
    """Fill some pixels of y, so many of each image, with the sums of x that the table of places asks for.

    Returned is what `launch` returns.

    Parameters
    ----------
    tile : VectorTile
        That the table was made for, and the weights were packed for.
    x : ndarray, (N, H, W, C)
    offsets : ndarray of int32, (tiles, taps, rows)
        From `indirection_buffer`.
    runs : ndarray of int32, (tiles,), or None
        From `runs_of`; None if taps go one by one.
    outside : ndarray, (numbers of a run,), or None
        Zeros, for taps on padding; None if there are none.
    panels : ndarray, (groups, numbers)
        From `convlab.cpu.gemm.pack`.
    out : Output
        Of y (N, P, Q, K).
    targets : (int, ndarray of int32 (tiles * rows,)), or None
        How many numbers an image of y has, and where in one each pixel lies; None if one after another.
    made : (int, int)
        Pixels of an image of y that are made, and filters in a row of panels.
    threads : int
    launch : callable
        `parallel_for`, or `bound_for`.
    """
    (N, *image), (tiles, taps, _), (pixels, filters) = x.shape, offsets.shape, made
    sizes = prod(image), pixels, taps, tile.group or image[-1] // len(panels), filters
    arrays = tile, x, offsets, runs, outside, panels, out, targets, sizes, asked_for(panels)
    return launch(threads, (N * tiles, 1), (filters, tile.cols), _indirect, _shared, *arrays)


@njit
def _indirect(first, end, left, right, tile, x, offsets, runs, outside, panels, out, targets, sizes, after):
    """Compute the tiles first..end of pixels and the filters left..right of each group."""
    whole, together = whole_panels(right, tile), TOGETHER // tile.rows  # tiles
    for g in range(len(panels)):
        rest = x, offsets, runs, outside, panels, out, targets, g, sizes, after
        for low in range(first, end, together):
            _block(low, min(low + together, end), left, whole, tile, *rest)
            _block(low, min(low + together, end), whole, right, tile.narrow, *rest)


@njit(inner=True)
def _block(low, high, left, right, tile, x, offsets, runs, outside, panels, out, targets, g, sizes, after):
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
            t, run = 0, 1 if runs is None else runs[i]  # taps that lie side by side
            weight = g * panels.shape[1] + k * taps * channels  # where the next row of them lies
            first_channel = k if tile.group else g * channels
            while t < taps:
                if outside is not None and asks and _all_outside(offsets, i, t, tile.rows):
                    weight += run * channels * tile.cols  # adds nothing
                else:
                    at = (i * taps + t) * tile.rows
                    rows = listed(tile, x, n * image + first_channel, offsets, at, outside)
                    if tile.group:
                        sums = accumulate_groups(tile, sums, rows, panels, weight, filters - k)
                        weight += channels * tile.cols
                    else:
                        for c in range(run * channels):
                            sums = accumulate(tile, sums, rows, c, panels, weight)
                            weight += tile.cols
                            if after is not None:
                                prefetch(panels, wanted)
                                wanted += apart
                t += run
            if targets is None:
                finish(tile, sums, out, n * pixels + m, column, pixels - m, filters - k)
            else:
                y_image, spots = targets
                store_listed(tile, sums, out.y, n * y_image + column, spots, m, pixels - m, filters - k)
            n, i = (n, i + 1) if i + 1 < tiles else (n + 1, 0)


@njit(inner=True)
def _all_outside(offsets, i, t, rows):
    inside = False
    for j in range(rows):  # not offsets[i, t].max(): that takes longer than a short sum
        inside |= offsets[i, t, j] >= 0
    return not inside


@njit(parallel=True)
def _shared(parts, tile, x, offsets, runs, outside, panels, out, targets, sizes, after):
    for i in prange(len(parts)):
        first, end, left, right = parts[i, 0], parts[i, 1], parts[i, 2], parts[i, 3]
        rest = x, offsets, runs, outside, panels, out, targets, sizes, after
        _indirect(first, end, left, right, tile, *rest)
