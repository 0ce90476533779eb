"""Precomputed implicit GEMM, the fast form: the walk as a loop around the register tile.

    for a panel of filters, a tile of pixels:
        for a block of channels, r, s:                     one step of the walk
            rows = x at starts + distance                  zeros where the mask says so
            sums += rows @ the next weights of the panel
            distance += next_s, next_r or next_c

A row costs one addition for each step, however many channels the step multiplies. Where a tap falls on
padding for all pixels of a tile, the step is left out. Starts, masks and deltas are those of
`convlab.algorithms.precomputed_gemm.offsets`.
"""

from __future__ import annotations

import numpy as np

from convlab.algorithms.precomputed_gemm.offsets import BLOCK_C, deltas_of, pieces, tables
from convlab.cpu.epilogue import begin, finish
from convlab.cpu.gemm import asked_for, empty_panels, put, share, whole_panels
from convlab.cpu.jit import njit, prange
from convlab.cpu.product_tile import tile_of
from convlab.cpu.register_tile import accumulate, masked, prefetch
from convlab.cpu.threads import bound_for, in_turn, parallel_for
from convlab.cpu.tile_size import TOGETHER
from convlab.problem import ConvProblem


def pack(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return the weights in panels, a filter's numbers in the order of the walk."""
    (_, filters, taps), cols = problem.gemm, tile_of(problem).cols
    panels = empty_panels(problem.groups, filters, taps, w.dtype, cols)
    for k, piece in pieces(problem, w, BLOCK_C):
        put(panels, taps, piece, cols, k)
    return panels


def allocate(problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    """Return the workspace: starts and masks in tiles as tall as the register tile, and zeros."""
    outside = np.zeros(min(BLOCK_C, problem.C // problem.groups), problem.dtype)  # what padding reads
    return tables(problem, tile_of(problem).rows) | {"outside": outside}


def run(problem, x, panels, workspace, out, threads):
    """Fill out.y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    _launch(parallel_for, problem, x, panels, workspace, out, threads)


def bind(problem, x, panels, workspace, out, threads):
    """Return `run` with these arguments, as a function of nothing: only kernels are left to call."""
    return in_turn(_launch(bound_for, problem, x, panels, workspace, out, threads))


def _launch(launch, problem, x, panels, workspace, out, threads):
    M, filters, _ = problem.gemm
    tile, calls = tile_of(problem), []
    tables = workspace["starts"], workspace["masks"], workspace["outside"]
    channels = problem.C // problem.groups
    tiles = len(workspace["masks"])
    for g in range(problem.groups):
        arrays = x.reshape(-1)[g * channels :], *tables, panels[g], out
        sizes = M, problem.R, problem.S, channels, filters, g * filters
        rest = sizes, BLOCK_C, deltas_of(problem, BLOCK_C), asked_for(panels)
        sides = (tiles, 1), (filters, tile.cols)
        calls.append(launch(threads, *sides, _precomputed, _shared, tile, *arrays, *rest))
    return calls


@njit
def _precomputed(
    first, end, left, right, tile, x, starts, masks, outside, panels, out, sizes, block_c, steps, after
):
    whole = whole_panels(right, tile)
    together = TOGETHER // tile.rows  # tiles
    for low in range(first, end, together):
        high = min(low + together, end)
        rest = x, starts, masks, outside, panels, out, sizes, block_c, steps, after
        _block(low, high, left, whole, tile, *rest)
        _block(low, high, whole, right, tile.narrow, *rest)


@njit(inner=True)
def _block(
    low, high, left, right, tile, x, starts, masks, outside, panels, out, sizes, block_c, steps, after
):
    M, R, S, channels, filters, column = sizes
    next_s, next_r, next_c = steps
    for k in range(left, right, tile.cols):  # a panel of filters
        if after is not None:  # the next one is asked for meanwhile, after the last one the first
            wanted = (k + tile.cols if k + tile.cols < right else left) * R * S * channels
            apart = share(tile, (high - low) * tile.rows)
        for i in range(low, high):  # a tile of pixels
            m = i * tile.rows
            sums = begin(tile, out, m, column + k, M - m, filters - k)
            distance, q = 0, k * R * S * channels
            for c0 in range(0, channels, block_c):
                width = min(block_c, channels - c0)
                for r in range(R):
                    for s in range(S):
                        bits = masks[i, r * S + s]
                        if bits == 0:  # padding for the whole tile: nothing but zeros to add
                            q += width * tile.cols
                        else:
                            rows = masked(tile, x, distance, starts, m, bits, outside)
                            for c in range(width):
                                sums = accumulate(tile, sums, rows, c, panels, q)
                                q += tile.cols
                                if after is not None:
                                    prefetch(panels, wanted)
                                    wanted += apart
                        distance += next_s if s < S - 1 else next_r if r < R - 1 else next_c
            finish(tile, sums, out, m, column + k, M - m, filters - k)


@njit(parallel=True)
def _shared(parts, tile, x, starts, masks, outside, panels, out, sizes, block_c, steps, after):
    for i in prange(len(parts)):
        first, end, left, right = parts[i, 0], parts[i, 1], parts[i, 2], parts[i, 3]
        rest = x, starts, masks, outside, panels, out, sizes, block_c, steps, after
        _precomputed(first, end, left, right, tile, *rest)
