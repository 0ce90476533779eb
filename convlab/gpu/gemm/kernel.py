"""The kernel: what a block of threads does, piece by piece.

    one buffer                          two buffers
    for every piece:                    fetch, stash the first piece
        fetch  to registers             for every piece:
        stash  in shared memory             fetch  the next one to registers
        wait   for each other               add    this one's products
        add    its products                 stash  the next one in the other buffer
        wait   for each other               wait   for each other
    store                               store

A load takes hundreds of cycles to arrive. With two buffers, the multiply-adds of one piece stand between
the loads of the next one and the first use of what they bring; and one barrier a piece is enough.

How A is loaded, a `Loader` says: three device functions. So the same kernel multiplies a matrix that lies in
memory, one that an index map describes (`implicit_gemm`), and one that a table leads to (`indirect`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from convlab.gpu.gemm.outer_product import outer_products, thread_corner
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.gemm.tile_io import stash_pieces, store_sums, weights
from convlab.gpu.kernels import device_function, kernel
from convlab.gpu.numba_cuda import cuda, launch_bounds, number_type, uint32
from convlab.support.checked import Computed, Count, kept

STATE = 4  # numbers a loader keeps for each of a thread's rows, and for where it is along K


class Loader(NamedTuple):
    """Where the numbers of A come from.

    A thread has `loads_a` rows of the piece, and of each the same few neighbouring columns.

    Attributes
    ----------
    begin : device function
        ``begin(rows, at, table, thread, m, M, first, k, shape)``: take the block's first row m and first
        column k apart, once; everything begins at x[first]. Fills rows (loads_a, STATE) and at (STATE,),
        which are the loader's own.
    fetch : device function
        ``fetch(x, rows, at, registers, shape)``: the thread's numbers of this piece, zeros on padding.
    advance : device function
        ``advance(rows, at, table, M, shape)``: on to the next piece.
    """

    begin: Callable
    fetch: Callable
    advance: Callable


@kept
def tiled_product(
    tile: Tile, loader: Callable, x_width: Count, y_width: Count, dtype: Computed, columns: Count = 1
):
    """Return the kernel(x, table, w, y, shape, matrix).

    Parameters
    ----------
    tile : Tile
    loader : callable
        ``loader(tile, x_width, dtype)`` returns the `Loader`.
    x_width, y_width : int
        Numbers of one load of x and of one store to y: 1 or 4, as their rows allow.
    dtype : str
    columns : int
        A power of two: blocks are counted so many along N, then down M, see `launch.grid`.

    Notes
    -----
    x, w and y are flat; `table` and `shape`, a tuple of uint32, are the loader's. `matrix` is a tuple of
    uint32: M, N, K, the distance of two rows of w and of y, the pieces of K to add up; and for slices, of
    which blockIdx.z counts those after the `first`: how far x, w, k and y begin after those of the slice
    before. A slice is a group of channels, a part of K, or one product of many.
    """
    begin, fetch, advance = loader(tile, x_width, dtype)
    begin_b, fetch_b = weights(tile, dtype)
    stash_a, stash_b = stash_pieces(tile, x_width, dtype)
    add, store = outer_products(tile, dtype), store_sums(tile, y_width, dtype)
    corner, number = thread_corner(tile), number_type(dtype)
    block_m, block_n, block_k, row = tile.block_m, tile.block_n, tile.block_k, tile.row
    thread_m, thread_n, cells = tile.thread_m, tile.thread_n, tile.thread_m * tile.thread_n
    loads_a, loads_b, buffers = tile.loads_a(x_width), tile.loads_b, tile.buffers
    size_a, size_b = loads_a * x_width, loads_b * tile.width

    @device_function
    def bring(a, b, buffer, new_a, new_b, thread):
        stash_a(a, buffer, new_a, thread)
        stash_b(b, buffer, new_b, thread)
        cuda.syncthreads()

    @kernel(**launch_bounds(tile.threads, tile.resident))
    def product(x, table, w, y, shape, matrix):
        a = cuda.shared.array((buffers, block_k, row), number, alignment=16)
        b = cuda.shared.array((buffers, block_k, block_n), number, alignment=16)
        sums = cuda.local.array(cells, number)
        column = cuda.local.array(thread_m, number)
        line = cuda.local.array(thread_n, number)
        new_a = cuda.local.array(size_a, number)
        new_b = cuda.local.array(size_b, number)
        rows = cuda.local.array((loads_a, STATE), uint32)
        at = cuda.local.array(STATE, uint32)
        line_b = cuda.local.array(2, uint32)

        M, N, K, row_w, row_y, pieces, first, step_x, step_w, step_k, step_y = matrix
        thread, slice_ = cuda.threadIdx.x, cuda.blockIdx.z + first
        block, strip = cuda.blockIdx.x, cuda.blockIdx.y
        m = block // columns * block_m
        n = (strip * columns + block % columns) * block_n
        if n >= N:  # the last strip may be narrower
            return
        k = slice_ * step_k
        top, left = corner(thread)
        for i in range(cells):
            sums[i] = number(0)

        begin(rows, at, table, thread, m, M, slice_ * step_x, k, shape)
        begin_b(line_b, thread, slice_ * step_w, k, n, row_w)
        if buffers == 1:
            while pieces > 0:
                pieces -= 1
                fetch(x, rows, at, new_a, shape)
                fetch_b(w, line_b, new_b, K, row_w)
                bring(a, b, 0, new_a, new_b, thread)
                add(a, b, 0, top, left, column, line, sums)
                cuda.syncthreads()
                advance(rows, at, table, M, shape)
        else:
            fetch(x, rows, at, new_a, shape)
            fetch_b(w, line_b, new_b, K, row_w)
            bring(a, b, 0, new_a, new_b, thread)
            while True:
                # Twice the same, so that the compiler knows which buffer is which. The last time brings
                # one piece too many, of zeros or of the next part: cheaper than a case of its own.
                advance(rows, at, table, M, shape)
                fetch(x, rows, at, new_a, shape)
                fetch_b(w, line_b, new_b, K, row_w)
                add(a, b, 0, top, left, column, line, sums)
                bring(a, b, 1, new_a, new_b, thread)
                pieces -= 1
                if pieces == 0:
                    break
                advance(rows, at, table, M, shape)
                fetch(x, rows, at, new_a, shape)
                fetch_b(w, line_b, new_b, K, row_w)
                add(a, b, 1, top, left, column, line, sums)
                bring(a, b, 0, new_a, new_b, thread)
                pieces -= 1
                if pieces == 0:
                    break

        store(y, sums, m + top, n + left, M, N, slice_ * step_y, row_y)

    return product
