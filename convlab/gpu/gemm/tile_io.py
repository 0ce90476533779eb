"""What is moved besides x: rows of a matrix to registers, pieces to shared memory, sums to y."""

from __future__ import annotations

from functools import lru_cache

from convlab.gpu.gemm.tile import Tile
from convlab.gpu.gemm.vector_io import mover
from convlab.gpu.kernels import device_function
from convlab.gpu.numba_cuda import uint64

ROW, PLACE = 0, 1  # of a thread's first number of w: its row, and where in w it lies
# Rows of w at most. A thread that has no column counts on from row 2^31, piece after piece and one too many:
# it must neither begin below the last row, nor come by 2^32 and begin anew.
SUMMED = (1 << 31) - (1 << 10)


@lru_cache
def matrix_rows(tile: Tile, size: int, width: int, dtype: str):
    """Return (begin_w, fetch_w), which bring pieces of a matrix to a thread's registers, one after the other.

    A piece is `block_k` rows of it, `size` numbers of each.
    ``begin_w(line, thread, first, k, left, row_w, columns)`` stands at row k and column `left` of a matrix
    whose row 0 begins at w[first] and whose rows are `row_w` numbers apart; line (2,) is its own.
    ``fetch_w(w, line, registers, K, row_w)`` loads a piece, `width` numbers a load, zeros from row K on and
    from column `columns` on, and goes on to the next one.
    """
    take, _, clear = mover(width, dtype)
    loads, block_k, lanes = tile.loads_across(size, width), tile.block_k, size // width
    rows = tile.threads // lanes  # a load of all threads: so many rows

    @device_function
    def begin_w(line, thread, first, k, left, row_w, columns):
        row, column = k + thread // lanes, left + thread % lanes * width
        line[ROW] = row if column < columns else 1 << 31  # never below K, see SUMMED
        line[PLACE] = first + row * row_w + column

    @device_function
    def fetch_w(w, line, registers, K, row_w):
        for load in range(loads):
            if line[ROW] + load * rows < K:
                take(w, line[PLACE] + load * rows * row_w, registers, load * width)
            else:
                clear(registers, load * width)
        line[ROW] += block_k
        line[PLACE] += block_k * row_w

    return begin_w, fetch_w


@lru_cache
def stash_turned(tile: Tile, width: int, dtype: str):
    """Return stash(piece, buffer, registers, thread), which brings a piece of A to shared memory.

    A lies in memory row by row, a thread has `width` neighbouring k of each of its rows. In shared memory it
    lies column by column, as the sums want it.
    """
    lanes, loads, threads, block_m = tile.lanes(width), tile.loads_a(width), tile.threads, tile.block_m
    whole = loads * threads == block_m * lanes

    @device_function
    def stash(a, buffer, registers, thread):
        # Counted in 64 bits: the compiler then sees that neighbours lie a constant apart.
        k, row = uint64(thread % lanes * width), thread // lanes
        for load in range(loads):
            m = row + load * (threads // lanes)
            if whole or m < block_m:
                for i in range(width):
                    a[buffer, k + i, m] = registers[load * width + i]

    return stash


@lru_cache
def stash_rows(tile: Tile, size: int, width: int, dtype: str):
    """Return the same for a piece that lies in shared memory as in memory, in rows of `size` numbers."""
    _, put, _ = mover(width, dtype)
    lanes, loads, threads, block_k = size // width, tile.loads_across(size, width), tile.threads, tile.block_k
    whole = loads * threads == block_k * lanes

    @device_function
    def stash(piece, buffer, registers, thread):
        for load in range(loads):
            place = thread + load * threads
            row, column = place // lanes, place % lanes * width
            if whole or row < block_k:
                put(piece, (buffer, row, column), registers, load * width)

    return stash


@lru_cache
def place_of(apart: bool):
    """Return place(row, row_y, where): where in y a row begins.

    Rows lie `row_y` numbers apart; or they are some pixels of pictures, (images, lines, columns): `where` is
    then (lines, columns, where the first begins, and how far images, lines and columns lie apart).
    """

    @device_function
    def side_by_side(row, row_y, where):
        return row * row_y

    @device_function
    def scattered(row, row_y, where):
        lines, columns, first, next_image, next_line, next_column = where
        line = row // columns
        n = line // lines
        p, q = line - n * lines, row - line * columns
        return first + n * next_image + p * next_line + q * next_column

    return scattered if apart else side_by_side


@lru_cache
def store_sums(tile: Tile, y_width: int, dtype: str, apart: bool = False):
    """Return store(y, sums, m, n, M, N, first, row_y, where): a thread's sums, its first for row m, column n.

    The group's numbers begin at y[first], and rows where `place_of` says; rows from M and columns from N are
    left out.
    """
    _, put, _ = mover(y_width, dtype)
    width, thread_m, thread_n = tile.width, tile.thread_m, tile.thread_n
    step_m, step_n, place = tile.threads_m * width, tile.threads_n * width, place_of(apart)

    @device_function
    def store(y, sums, m, n, M, N, first, row_y, where):
        for i in range(thread_m):
            row = m + i // width * step_m + i % width
            if row < M:
                start = first + place(row, row_y, where)
                for j in range(0, thread_n, y_width):
                    column = n + j // width * step_n + j % width
                    if column < N:
                        put(y, start + column, sums, i * thread_n + j)

    return store
