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

How x is loaded, a `Loader` says: three device functions. So the same kernel multiplies a matrix that lies in
memory, one that an index map describes (`implicit_gemm`), and one that a table leads to (`indirect`). That
matrix is A, and w is B; in the gradient of the weights it is B, and A is the other one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, NamedTuple

from convlab.gpu.gemm.outer_product import outer_products, thread_corner
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.gemm.tile_io import matrix_rows, stash_rows, stash_turned, store_sums
from convlab.gpu.kernels import device_function, kernel
from convlab.gpu.numba_cuda import cuda, launch_bounds, number_type, uint32
from convlab.support.checked import Computed, Count, kept
from convlab.support.checks import check_choice

STATE = 4  # numbers a loader keeps for each of a thread's rows, and for where it is along K


Slices = Annotated[str, partial(check_choice, words=("groups", "parts", "both"))]


class Loader(NamedTuple):
    """Where the numbers of A come from, which lie along k side by side; or of B, which lie along n.

    A thread has some rows of the piece, and of each the same few neighbouring columns.

    Attributes
    ----------
    begin : device function
        ``begin(rows, at, table, thread, m, M, first, k, shape)``: take the block's first row m and first
        column k apart, once; everything begins at x[first]. Fills rows (loads, STATE) and at (STATE,),
        which are the loader's own. Of B it is column n of N, and row k.
    fetch : device function
        ``fetch(x, rows, at, registers, shape)``: the thread's numbers of this piece, zeros on padding.
    advance : device function
        ``advance(rows, at, table, M, shape)``: on to the next piece.
    of_b : bool
        It is B that comes from x; then w is A, column by column.
    """

    begin: Callable
    fetch: Callable
    advance: Callable
    of_b: bool = False


@kept
def tiled_product(
    tile: Tile,
    loader: Callable,
    x_width: Count,
    y_width: Count,
    dtype: Computed,
    columns: Count = 1,
    w_width: Count | None = None,
    apart: bool = False,
    slices: Slices = "groups",
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
    w_width : int, optional
        Numbers of one load of w; by default the tile's.
    apart : bool
        Rows of y do not follow each other: see `tile_io.place_of`.
    slices : str
        What blockIdx.z counts: "groups", "parts" of the one group's sums, or "both": a division tells them
        apart.

    Notes
    -----
    x, w and y are flat; `table` and `shape`, a tuple of uint32, are the loader's. `matrix` is a tuple of
    uint32: 0 M, 1 N, 2 K, 3-4 the distance of two rows of w and of y, 5 the pieces of K to add up, 6 the
    first slice, 7 the groups; 8-10 how far x, w and y begin after those of the group before, 11-12 k and y
    after those of the part before; from 13 on, where rows of y lie. A slice is a part of K of a group of
    channels, or of one product of many: blockIdx.z counts those after the `first`, group by group, then part
    by part.
    """
    begin, fetch, advance, of_b = loader(tile, x_width, dtype)
    w_width, size_w = w_width or tile.width, tile.block_m if of_b else tile.block_n
    begin_w, fetch_w = matrix_rows(tile, size_w, w_width, dtype)
    stash_w = stash_rows(tile, size_w, w_width, dtype)
    stash_x = stash_rows(tile, tile.block_n, x_width, dtype) if of_b else stash_turned(tile, x_width, dtype)
    add, store = outer_products(tile, dtype), store_sums(tile, y_width, dtype, apart)
    corner, number = thread_corner(tile), number_type(dtype)
    block_m, block_n, block_k, row = tile.block_m, tile.block_n, tile.block_k, tile.row
    thread_m, thread_n, cells = tile.thread_m, tile.thread_n, tile.thread_m * tile.thread_n
    loads_x = tile.loads_across(block_n, x_width) if of_b else tile.loads_a(x_width)
    many_x, many_w = loads_x * x_width, tile.loads_across(size_w, w_width) * w_width
    buffers = tile.buffers

    @device_function
    def bring(a, b, buffer, new_x, new_w, thread):
        if of_b:
            stash_x(b, buffer, new_x, thread)
            stash_w(a, buffer, new_w, thread)
        else:
            stash_x(a, buffer, new_x, thread)
            stash_w(b, buffer, new_w, thread)
        cuda.syncthreads()

    @kernel(**launch_bounds(tile.threads, tile.resident))
    def product(x, table, w, y, shape, matrix):
        a = cuda.shared.array((buffers, block_k, row), number, alignment=16)
        b = cuda.shared.array((buffers, block_k, block_n), number, alignment=16)
        sums = cuda.local.array(cells, number)
        column = cuda.local.array(thread_m, number)
        line = cuda.local.array(thread_n, number)
        new_x = cuda.local.array(many_x, number)
        new_w = cuda.local.array(many_w, number)
        rows = cuda.local.array((loads_x, STATE), uint32)
        at = cuda.local.array(STATE, uint32)
        line_w = cuda.local.array(2, uint32)

        M, N, K, row_w, row_y, pieces, first, groups = matrix[:8]
        step_x, step_w, step_y, part_k, part_y = matrix[8:13]
        where = matrix[13:]
        thread, slice_ = cuda.threadIdx.x, cuda.blockIdx.z + first
        if slices == "both":
            part, group = divmod(slice_, groups)
        elif slices == "parts":
            part, group = slice_, uint32(0)
        else:
            part, group = uint32(0), slice_
        block, strip = cuda.blockIdx.x, cuda.blockIdx.y
        m = block // columns * block_m
        n = (strip * columns + block % columns) * block_n
        if n >= N:  # the last strip may be narrower
            return
        k = part * part_k
        top, left = corner(thread)
        for i in range(cells):
            sums[i] = number(0)

        if of_b:
            begin(rows, at, table, thread, n, N, group * step_x, k, shape)
            begin_w(line_w, thread, group * step_w, k, m, row_w, M)
        else:
            begin(rows, at, table, thread, m, M, group * step_x, k, shape)
            begin_w(line_w, thread, group * step_w, k, n, row_w, row_w)
        if buffers == 1:
            while pieces > 0:
                pieces -= 1
                fetch(x, rows, at, new_x, shape)
                fetch_w(w, line_w, new_w, K, row_w)
                bring(a, b, 0, new_x, new_w, thread)
                add(a, b, 0, top, left, column, line, sums)
                cuda.syncthreads()
                advance(rows, at, table, M, shape)
        else:
            fetch(x, rows, at, new_x, shape)
            fetch_w(w, line_w, new_w, K, row_w)
            bring(a, b, 0, new_x, new_w, thread)
            while True:
                # Twice the same, so that the compiler knows which buffer is which. The last time brings
                # one piece too many, of zeros or of the next part: cheaper than a case of its own.
                advance(rows, at, table, M, shape)
                fetch(x, rows, at, new_x, shape)
                fetch_w(w, line_w, new_w, K, row_w)
                add(a, b, 0, top, left, column, line, sums)
                bring(a, b, 1, new_x, new_w, thread)
                pieces -= 1
                if pieces == 0:
                    break
                advance(rows, at, table, M, shape)
                fetch(x, rows, at, new_x, shape)
                fetch_w(w, line_w, new_w, K, row_w)
                add(a, b, 1, top, left, column, line, sums)
                bring(a, b, 0, new_x, new_w, thread)
                pieces -= 1
                if pieces == 0:
                    break

        store(y, sums, m + top, n + left, M, N, group * step_y + part * part_y, row_y, where)

    return product
