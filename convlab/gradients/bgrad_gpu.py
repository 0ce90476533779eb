"""bgrad on a GPU: the columns of a matrix with a row for each output pixel are added up, in float64.

A thread adds one column of its part of the rows, neighbouring threads neighbouring columns; a second kernel
adds the parts (`launch.reduce`), from the first to the last: the same bits from run to run.
"""

from __future__ import annotations

import numpy as np

from convlab.gpu.device import current
from convlab.gpu.gemm.launch import reduce
from convlab.gpu.kernels import kernel
from convlab.gpu.numba_cuda import cuda, float64
from convlab.support.integers import ceil_div

THREADS = 256
ENOUGH = 1024  # threads of a multiprocessor


@kernel
def add_columns(dy, partials, rows, columns, each, total):
    """One thread a column and `each` rows."""
    i = cuda.grid(1)
    if i < total:
        part, column = divmod(i, columns)
        added = float64(0)
        for row in range(part * each, min(part * each + each, rows)):
            added += dy[row * columns + column]
        partials[i] = added


def parts_of(rows: int, columns: int, multiprocessors: int) -> int:
    """Return into how many parts the rows are cut: as many as keep the multiprocessors busy."""
    parts = min(rows, ceil_div(multiprocessors * ENOUGH, columns))
    return ceil_div(rows, ceil_div(rows, parts))


def run(dy, partials, db) -> None:
    """Fill db (K,) with the sums of dy (N, P, Q, K) over all pixels; partials is float64 (parts, K)."""
    parts, columns = partials.shape
    rows = dy.size // columns
    sizes = rows, columns, ceil_div(rows, parts), partials.size
    blocks, arrays = ceil_div(partials.size, THREADS), (dy.reshape(-1), partials.reshape(-1))
    current().launch(add_columns, blocks, THREADS, *arrays, *sizes)
    reduce(partials, db, columns, parts)


def bgrad(dy):
    """Return the gradient of the bias, (K,), of an array of the device, (N, P, Q, K)."""
    device, columns = current(), dy.shape[3]
    parts = parts_of(dy.size // columns, columns, device.multiprocessors)
    db = device.empty(columns, dy.dtype)
    run(dy, device.empty((parts, columns), np.float64), db)
    return db
