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

What A is, a `Source` says: three device functions. So the same kernel multiplies a matrix that lies in
memory, one that an index map describes (`implicit_gemm`), and one that a table leads to (`indirect`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from convlab.gpu import _cuda
from convlab.gpu._cuda import cuda, launch_bounds
from convlab.gpu._cuda import uint32 as U
from convlab.gpu.tiled.moves import fetch_weights, stash_pieces, store_sums
from convlab.gpu.tiled.product import outer_products, place
from convlab.gpu.tiled.tile import Tile

STATE = 4  # numbers a source keeps for each of a thread's rows, and for where it is along K


class Source(NamedTuple):
    """Where the numbers of A come from.

    A thread has `loads_a` rows of the piece, and of each the same few neighbouring columns.

    Attributes
    ----------
    begin : device function
        ``begin(rows, at, table, thread, m, M, group, k, shape)``: take the block's first row m and first
        column k apart, once. Fills rows (loads_a, STATE) and at (STATE,), which are the source's own.
    fetch : device function
        ``fetch(x, rows, at, registers, shape)``: the thread's numbers of this piece, zeros on padding.
    advance : device function
        ``advance(rows, at, table, shape)``: on to the next piece.
    """

    begin: Callable
    fetch: Callable
    advance: Callable


@lru_cache
def tiled_product(tile: Tile, source: Callable, x_width: int, y_width: int, dtype: str):
    """Return the kernel(x, table, w, y, shape, matrix).

    Parameters
    ----------
    tile : Tile
    source : callable
        ``source(tile, x_width, dtype)`` returns the `Source`.
    x_width, y_width : int
        Numbers of one load of x and of one store to y: 1 or 4, as their rows allow.
    dtype : str

    Notes
    -----
    x, w and y are flat; `table` and `shape`, a tuple of uint32, are the source's. `matrix` is (M, N, K, row
    of w, row of y, blocks along M, blocks along N, parts of K, length of a part), uint32. Part i of K goes
    to y[i * M * row of y] and following.
    """
    begin, fetch, advance = source(tile, x_width, dtype)
    fetch_b = fetch_weights(tile, dtype)
    stash_a, stash_b = stash_pieces(tile, x_width, dtype)
    add, store = outer_products(tile, dtype), store_sums(tile, y_width, dtype)
    corner, number = place(tile), getattr(_cuda, dtype)
    block_m, block_n, block_k, row = tile.block_m, tile.block_n, tile.block_k, tile.row
    thread_m, thread_n, cells = tile.thread_m, tile.thread_n, tile.thread_m * tile.thread_n
    loads_a, buffers = tile.loads_a(x_width), tile.buffers
    size_a, size_b = loads_a * x_width, tile.loads_b * tile.width

    @cuda.jit(**launch_bounds(tile.threads, tile.resident))
    def product(x, table, w, y, shape, matrix):
        a = cuda.shared.array((buffers, block_k, row), number, alignment=16)
        b = cuda.shared.array((buffers, block_k, block_n), number, alignment=16)
        sums = cuda.local.array(cells, number)
        column = cuda.local.array(thread_m, number)
        line = cuda.local.array(thread_n, number)
        new_a = cuda.local.array(size_a, number)
        new_b = cuda.local.array(size_b, number)
        rows = cuda.local.array((loads_a, STATE), U)
        at = cuda.local.array(STATE, U)

        M, N, K, row_w, row_y, blocks_m, blocks_n, parts, length = matrix
        thread, block = U(cuda.threadIdx.x), U(cuda.blockIdx.x)
        # Neighbouring blocks share rows of A: they find them in the L2 cache.
        n, block = U(U(block % blocks_n) * U(block_n)), U(block // blocks_n)
        m, block = U(U(block % blocks_m) * U(block_m)), U(block // blocks_m)
        part, group = U(block % parts), U(block // parts)
        k, first = U(part * length), U(U(group * K) * row_w)  # first: of this group's weights
        end = min(U(k + length), K)
        top, left = corner(thread)
        for i in range(cells):
            sums[U(i)] = number(0)

        begin(rows, at, table, thread, m, M, group, k, shape)
        if buffers == 1:
            while k < end:
                fetch(x, rows, at, new_a, shape)
                fetch_b(w, new_b, thread, first, k, K, n, row_w)
                stash_a(a, U(0), new_a, thread)
                stash_b(b, U(0), new_b, thread)
                cuda.syncthreads()
                add(a, b, U(0), top, left, column, line, sums)
                cuda.syncthreads()
                advance(rows, at, table, shape)
                k = U(k + U(block_k))
        else:
            buffer = U(0)
            fetch(x, rows, at, new_a, shape)
            fetch_b(w, new_b, thread, first, k, K, n, row_w)
            stash_a(a, buffer, new_a, thread)
            stash_b(b, buffer, new_b, thread)
            cuda.syncthreads()
            while k < end:
                advance(rows, at, table, shape)
                k = U(k + U(block_k))
                fetch(x, rows, at, new_a, shape)  # one piece too many at the end: no case of its own
                fetch_b(w, new_b, thread, first, k, K, n, row_w)
                add(a, b, buffer, top, left, column, line, sums)
                buffer = U(buffer ^ U(1))
                stash_a(a, buffer, new_a, thread)
                stash_b(b, buffer, new_b, thread)
                cuda.syncthreads()

        to = U(U(part * U(M * row_y)) + U(group * N))
        store(y, sums, U(m + top), U(n + left), M, N, to, row_y)

    return product
