"""Winograd's convolution, the fast form: a block of tiles goes through all three steps inside the cache.

    for each block of BLOCK tiles:
        V = the transform of the windows under them                read from x where they lie
        for each panel of filters, as wide as the register tile:
            M[:, e] = V[:, e] @ U[e]  for all places e             on the register tile
            y of these tiles = the transform of M, backwards

The formula, in `convlab.algorithms.winograd`, transforms all windows, then multiplies them all: V and M are
many times as large as the picture, and travel to the memory and back. Here a block's V and M stay. The
transforms happen in registers, on a vector of channels or filters (`convlab.cpu.small_matmul`). U is packed
in the order in which it is used, so all of it flows past as one stream: in the last layers of a network,
of many filters and few pixels, that is what takes the time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from convlab.algorithms.winograd.tiles import BLOCK, LANES, tile_count, window_cells
from convlab.algorithms.winograd.transforms import in_steps, matrices, transforms
from convlab.cpu.epilogue import Output
from convlab.cpu.epilogue_window import finish_window
from convlab.cpu.gemm import empty_panels, gemm_part
from convlab.cpu.jit import njit, prange
from convlab.cpu.pack_transformed import pack_transformed
from convlab.cpu.register_tile import tile_for
from convlab.cpu.small_matmul import Transform, both_sides, read, write
from convlab.cpu.threads import bound_for, parallel_for
from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty

WORTH_CUTTING = 4  # rows of register tiles for each thread: with fewer, threads share out the filters
FEW = 4  # tiles that are multiplied faster than their weights arrive: asking for those early gains nothing


class Sizes(NamedTuple):
    """The problem, as the kernel takes it."""

    H: int
    W: int
    C: int
    P: int
    Q: int
    K: int
    top: int
    left: int
    groups: int


def pack(m: int, problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return the transformed weights in panels, place after place: the order in which they are used."""
    groups, G, cols = problem.groups, _of_filters(m, problem.R), tile_for(w.dtype).cols
    panels = empty_panels(groups, problem.K // groups, len(G) ** 2 * w.shape[3], w.dtype, cols)
    pack_transformed(G, G, w, groups, panels, cols)
    return panels


@lru_cache
def _of_filters(m: int, r: int) -> np.ndarray:
    return matrices(m, r=r)[1]


def allocate(m: int, problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    """Return the workspace: V and M of a block of tiles for each thread, and zeros for what lies outside."""
    block, tile = window_cells(m, problem) * min(BLOCK, tile_count(m, problem)), tile_for(problem.dtype)
    return {
        "V": aligned_empty((threads, block * problem.C // problem.groups), problem.dtype),
        "M": aligned_empty((threads, block * tile.cols), problem.dtype),
        "outside": np.zeros(LANES, problem.dtype),
    }


def run(m, problem, x, panels, workspace, out, threads):
    """Fill out.y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    launched(parallel_for, m, problem, x, panels, workspace, out, threads)


def bind(m, problem, x, panels, workspace, out, threads):
    """Return `run` with these arguments, as a function of nothing: only the kernel is left to call."""
    return launched(bound_for, m, problem, x, panels, workspace, out, threads)


def launched(launch, m, problem, x, panels, workspace, out, threads):
    """Return what `launch` returns, `parallel_for` or `bound_for`, for the kernel and its arguments."""
    tiles, filters = tile_count(m, problem), problem.K // problem.groups
    tile = tile_for(problem.dtype, rows=tiles)
    kinds = tile, *_transforms_in_registers(m, problem.R, problem.dtype)
    arrays = x.reshape(-1), panels, workspace["outside"]
    sizes = Sizes(*x.shape[1:], *problem.y_shape[1:], *problem.geometry[1], problem.groups)
    # Of few tiles and many filters each thread takes its share of the filters, and transforms all windows for
    # itself: that is little beside the products. A handful of tiles would not divide evenly, and each thread
    # would read all weights for its part of them.
    by_filters = filters >= threads * 2 * tile.cols and tiles < threads * WORTH_CUTTING * tile.rows
    rows, cols = (tiles, tiles if by_filters else tile.rows), (filters, tile.cols if by_filters else filters)
    # One by one: in a tuple, Numba would look at what it does not know for 10 microseconds more.
    arrays = *kinds, arrays, out, sizes, workspace["V"], workspace["M"]
    return launch(threads, rows, cols, _convolve, _shared, *arrays)


@lru_cache
def _transforms_in_registers(m: int, r: int, dtype: str):
    """Return BT and AT as types for the kernels."""
    AT, _, BT = transforms(m, r=r)
    return tuple(Transform(in_steps(matrix), tile_for(dtype).lanes, dtype) for matrix in (BT, AT))


@njit
def _convolve(first, end, left, right, tile, forward, backward, arrays, out, sizes, V, M):
    """Compute the tiles first..end, counted through the whole batch, of the filters left..right."""
    V, M = V[0], M[0]  # this thread's
    x, panels, outside = arrays
    channels, filters = sizes.C // sizes.groups, sizes.K // sizes.groups
    places = forward.outputs**2
    a_row, m_row = places * channels, places * tile.cols
    block = BLOCK // tile.rows * tile.rows
    for g in range(sizes.groups):
        for low in range(first, end, block):
            count = min(block, end - low)
            _transform_windows(forward, backward, low, count, g * channels, channels, x, sizes, V, outside)
            for k in range(left, right, tile.cols):
                width = min(tile.cols, right - k)
                u = panels[g, k * a_row :]  # of these filters: all places, one after the other
                size = channels * (tile.cols if width > tile.narrow.cols else tile.narrow.cols)  # of one U[e]
                after = size if count > FEW else 0  # while U[e] is used again and again, U[e + 1] is fetched
                for e in range(places):  # M[:, e] = V[:, e] @ U[e]
                    factors = V[e * channels :], a_row, None, u[e * size :]
                    products = Output(M, m_row, None, None, None, 0), e * tile.cols  # as they are
                    gemm_part(0, count, 0, width, tile, *factors, *products, count, width, channels, after)
                column = g * filters + k
                _transform_products(backward, tile, low, count, column, width, M, out, sizes, outside)


@njit(inner=True)
def _transform_windows(forward, backward, low, count, first, channels, x, sizes, V, outside):
    """V[t, e, c] = (BT d B)[e], where d is the window under tile low + t; channels from `first` on."""
    H, W, C = sizes.H, sizes.W, sizes.C
    m, n = backward.outputs, forward.inputs
    down, across = -(-sizes.P // m), -(-sizes.Q // m)
    for t in range(count):
        image, place = divmod(low + t, down * across)
        row, col = place // across * m - sizes.top, place % across * m - sizes.left
        inside = -row, H - row, -col, W - col  # the rest of the window reads zeros
        start = ((image * H + row) * W + col) * C + first
        for c in range(0, channels, forward.lanes):
            cells = read(forward, x, start + c, W * C, C, inside, outside, channels - c)
            cells = both_sides(forward, cells)
            at = t * n * n * channels + c
            write(forward, cells, V, at, n * channels, channels, n, n, channels - c)


@njit(inner=True)
def _transform_products(backward, tile, low, count, k, width, M, out, sizes, outside):
    """Write y = AT M A for the filters k..k + width of the tiles, as far as they lie in the picture."""
    P, Q = sizes.P, sizes.Q
    m, n = backward.outputs, backward.inputs
    down, across = -(-P // m), -(-Q // m)
    everything = 0, n, 0, n
    for t in range(count):
        image, place = divmod(low + t, down * across)
        p, q = place // across * m, place % across * m
        pixel = (image * P + p) * Q + q
        for c in range(0, width, backward.lanes):
            at = t * n * n * tile.cols + c
            cells = read(backward, M, at, n * tile.cols, tile.cols, everything, outside, width - c)
            cells = both_sides(backward, cells)
            finish_window(backward, cells, out, pixel, k + c, Q, P - p, Q - q, width - c)


@njit(parallel=True)
def _shared(parts, tile, forward, backward, arrays, out, sizes, V, M):
    for i in prange(len(parts)):
        first, end, left, right = parts[i, 0], parts[i, 1], parts[i, 2], parts[i, 3]
        mine = V[i : i + 1], M[i : i + 1]
        _convolve(first, end, left, right, tile, forward, backward, arrays, out, sizes, *mine)
