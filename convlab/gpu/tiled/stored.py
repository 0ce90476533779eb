"""A as a matrix that lies in memory, row by row: what im2row and pointwise multiply.

A[m, k] = a[first + m*step + k]
"""

from __future__ import annotations

from convlab.checked import Computed, Count, kept
from convlab.gpu._cuda import cuda
from convlab.gpu._cuda import uint32 as U
from convlab.gpu.tiled.kernel import Source
from convlab.gpu.tiled.moving import mover
from convlab.gpu.tiled.tile import Tile

START = 0  # of a row: where in a the number lies that is loaded next
COLUMN = 0  # where the thread is along K


@kept
def stored(tile: Tile, width: Count, dtype: Computed) -> Source:
    """Return the `Source` whose shape is (step, K): how far rows lie apart, and how long they are."""
    take, _, clear = mover(width, dtype)
    loads, lanes, threads, block_k = tile.loads_a(width), tile.lanes(width), tile.threads, tile.block_k

    @cuda.jit(device=True)
    def begin(rows, at, table, thread, m, M, first, k, shape):
        column = U(k + U(U(thread % U(lanes)) * U(width)))
        for load in range(loads):
            # Rows past the last one repeat it: their sums are not stored.
            row = min(U(m + U(U(thread // U(lanes)) + U(load * (threads // lanes)))), U(M - U(1)))
            rows[U(load), U(START)] = U(U(first + U(row * shape[0])) + column)
        at[U(COLUMN)] = column

    @cuda.jit(device=True)
    def fetch(a, rows, at, registers, shape):
        for load in range(loads):
            if at[U(COLUMN)] < shape[1]:
                take(a, rows[U(load), U(START)], registers, U(load * width))
            else:
                clear(registers, U(load * width))

    @cuda.jit(device=True)
    def advance(rows, at, table, M, shape):
        at[U(COLUMN)] = U(at[U(COLUMN)] + U(block_k))
        for load in range(loads):
            rows[U(load), U(START)] = U(rows[U(load), U(START)] + U(block_k))

    return Source(begin, fetch, advance)
