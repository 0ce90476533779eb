"""A as a matrix that lies in memory, row by row: what im2row and pointwise multiply.

    A[m, k] = a[first + m*step + k]

For each of its rows a thread keeps where in a the number lies that it loads next.
"""

from __future__ import annotations

from convlab.gpu.gemm.kernel import Loader
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.gemm.vector_io import mover
from convlab.gpu.kernels import device_function
from convlab.support.checked import Computed, Count, kept

START = 0  # of a row: where in a the number lies that is loaded next
COLUMN = 0  # where the thread is along K


@kept
def matrix_loader(tile: Tile, width: Count, dtype: Computed) -> Loader:
    """Return the `Loader` whose shape is (step, K): how far rows lie apart, and how long they are."""
    take, _, clear = mover(width, dtype)
    loads, lanes, threads, block_k = tile.loads_a(width), tile.lanes(width), tile.threads, tile.block_k

    @device_function
    def begin(rows, at, table, thread, m, M, first, k, shape):
        column = k + thread % lanes * width
        for load in range(loads):
            # Rows past the last one repeat it: their sums are not stored.
            row = min(m + thread // lanes + load * (threads // lanes), M - 1)
            rows[load, START] = first + row * shape[0] + column
        at[COLUMN] = column

    @device_function
    def fetch(a, rows, at, registers, shape):
        for load in range(loads):
            if at[COLUMN] < shape[1]:
                take(a, rows[load, START], registers, load * width)
            else:
                clear(registers, load * width)

    @device_function
    def advance(rows, at, table, M, shape):
        at[COLUMN] += block_k
        for load in range(loads):
            rows[load, START] += block_k

    return Loader(begin, fetch, advance)
