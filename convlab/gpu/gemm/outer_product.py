"""The sums: what a thread does with a piece of A and a piece of B in shared memory.

For every k of the piece a thread reads thread_m numbers of A's column k and thread_n of B's row k, and adds
all their products to its sums: an outer product, thread_m * thread_n multiply-adds for thread_m + thread_n
numbers read.
"""

from __future__ import annotations

from functools import lru_cache

from convlab.gpu.gemm.tile import Tile
from convlab.gpu.gemm.vector_io import mover
from convlab.gpu.kernels import device_function
from convlab.gpu.occupancy import WARP
from convlab.gpu.unroll import unrolled
from convlab.support.checked import Computed, kept


@kept
def outer_products(tile: Tile, dtype: Computed):
    """Return product(a, b, buffer, top, left, column, row, sums), which adds a whole piece to the sums.

    a: shared (buffers, block_k, tile.row); b: shared (buffers, block_k, block_n); top, left: what
    `thread_corner` gives; column (thread_m,), row (thread_n,), sums (thread_m * thread_n,): registers.
    """
    take, _, _ = mover(tile.width, dtype)
    width, thread_m, thread_n = tile.width, tile.thread_m, tile.thread_n
    step_m, step_n = tile.threads_m * width, tile.threads_n * width  # to a thread's next `width` numbers

    @device_function(forceinline=True)
    def step(k, a, b, buffer, top, left, column, row, sums):
        for i in range(thread_m // width):
            take(a, (buffer, k, top + i * step_m), column, i * width)
        for j in range(thread_n // width):
            take(b, (buffer, k, left + j * step_n), row, j * width)
        for i in range(thread_m):
            for j in range(thread_n):
                sums[i * thread_n + j] += column[i] * row[j]

    # A loop this long would stay one, and a third of its instructions would find out where it is.
    several = unrolled(step, tile.block_k)

    @device_function
    def product(a, b, buffer, top, left, column, row, sums):
        several(0, a, b, buffer, top, left, column, row, sums)

    return product


@lru_cache
def thread_corner(tile: Tile):
    """Return corner(thread), which gives (top, left): where in the block a thread's first sums lie.

    The threads of a warp lie 8 along a row of y and 4 down a column, see `Tile.warp_n`; row by row, or in
    pairs of rows, column by column, see `Tile.in_pairs`.
    """
    width, threads_n, warp_n = tile.width, tile.threads_n, tile.warp_n
    warps_n, warp_m = threads_n // warp_n, WARP // warp_n
    rows = 2 if tile.in_pairs else 1  # that lanes walk down before they go on to the right

    if warp_n == threads_n and not tile.in_pairs:

        @device_function
        def row_by_row(thread):
            return thread // threads_n * width, thread % threads_n * width

        return row_by_row

    @device_function
    def warp_by_warp(thread):
        warp, lane = thread // WARP, thread % WARP
        across = warp % warps_n * warp_n + lane // rows % warp_n
        along = warp // warps_n * warp_m + lane // (rows * warp_n) * rows + lane % rows
        return along * width, across * width

    return warp_by_warp
