"""What is moved besides A: weights to registers, pieces to shared memory, sums to y."""

from __future__ import annotations

from functools import lru_cache

from convlab.gpu.gemm.tile import Tile
from convlab.gpu.gemm.vector_io import mover
from convlab.gpu.kernels import device_function
from convlab.gpu.numba_cuda import uint64

ROW, PLACE = 0, 1  # of a thread's first number of B: its row, and where in w it lies


@lru_cache
def weights(tile: Tile, dtype: str):
    """Return (begin_b, fetch_b), which bring the pieces of B to a thread's registers, one after the other.

    ``begin_b(line, thread, first, k, left, row_w)`` stands at row k and column `left` of a matrix whose
    row 0 begins at w[first] and whose rows are `row_w` numbers apart; line (2,) is its own.
    ``fetch_b(w, line, registers, K, row_w)`` loads a piece to the registers (loads_b * width,), zeros from
    row K on and from column `row_w` on, and goes on to the next one.
    """
    take, _, clear = mover(tile.width, dtype)
    loads, width, block_k = tile.loads_b, tile.width, tile.block_k
    lanes, rows = tile.lanes_b, tile.threads // tile.lanes_b  # a load of all threads: so many rows

    @device_function
    def begin_b(line, thread, first, k, left, row_w):
        row, column = k + thread // lanes, left + thread % lanes * width
        line[ROW] = row if column < row_w else 1 << 31  # never below K
        line[PLACE] = first + row * row_w + column

    @device_function
    def fetch_b(w, line, registers, K, row_w):
        for load in range(loads):
            if line[ROW] + load * rows < K:
                take(w, line[PLACE] + load * rows * row_w, registers, load * width)
            else:
                clear(registers, load * width)
        line[ROW] += block_k
        line[PLACE] += block_k * row_w

    return begin_b, fetch_b


@lru_cache
def stash_pieces(tile: Tile, x_width: int, dtype: str):
    """Return (stash_a, stash_b), which bring a thread's registers to shared memory.

    A lies in memory row by row, a thread has `x_width` neighbouring k of each of its rows. In shared memory
    it lies column by column, as the sums want it.
    """
    _, put, _ = mover(tile.width, dtype)
    lanes_a, lanes_b = tile.lanes(x_width), tile.lanes_b
    loads_a, loads_b = tile.loads_a(x_width), tile.loads_b
    width, threads, block_m, block_k = tile.width, tile.threads, tile.block_m, tile.block_k
    whole_a = loads_a * threads == block_m * lanes_a
    whole_b = loads_b * threads == block_k * lanes_b

    @device_function
    def stash_a(a, buffer, registers, thread):
        # Counted in 64 bits: the compiler then sees that neighbours lie a constant apart.
        k, row = uint64(thread % lanes_a * x_width), thread // lanes_a
        for load in range(loads_a):
            m = row + load * (threads // lanes_a)
            if whole_a or m < block_m:
                for i in range(x_width):
                    a[buffer, k + i, m] = registers[load * x_width + i]

    @device_function
    def stash_b(b, buffer, registers, thread):
        for load in range(loads_b):
            place = thread + load * threads
            row, column = place // lanes_b, place % lanes_b * width
            if whole_b or row < block_k:
                put(b, (buffer, row, column), registers, load * width)

    return stash_a, stash_b


@lru_cache
def store_sums(tile: Tile, y_width: int, dtype: str):
    """Return store(y, sums, m, n, M, N, first, row_y): a thread's sums, its first for row m, column n.

    Row 0 begins at y[first], rows are `row_y` numbers apart; rows from M and columns from N are left out.
    """
    _, put, _ = mover(y_width, dtype)
    width, thread_m, thread_n = tile.width, tile.thread_m, tile.thread_n
    down, right = tile.threads_m * width, tile.threads_n * width

    @device_function
    def store(y, sums, m, n, M, N, first, row_y):
        for i in range(thread_m):
            row = m + i // width * down + i % width
            if row < M:
                start = first + row * row_y
                for j in range(0, thread_n, y_width):
                    column = n + j // width * right + j % width
                    if column < N:
                        put(y, start + column, sums, i * thread_n + j)

    return store
