"""The library's own answers to the exercises whose answer is a kernel."""

from __future__ import annotations

from convlab.gpu._cuda import cuda, float32

RUN = 64  # threads of a block, and numbers that are turned around together


@cuda.jit
def copy(x, y):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] = x[row, col]


@cuda.jit
def reverse(x, y):
    tile = cuda.shared.array(RUN, float32)
    t = cuda.threadIdx.x
    for start in range(0, x.size, RUN):
        tile[t] = x[start + t]
        cuda.syncthreads()  # nobody reads before all have written
        y[start + t] = tile[RUN - 1 - t]
        cuda.syncthreads()  # nobody writes the next run before all have read this one


@cuda.jit
def turn(x, y):
    tile = cuda.shared.array((32, 33), float32)  # one number more in a row: a column meets all the banks
    lane = cuda.threadIdx.x
    for row in range(32):
        tile[row, lane] = x[row, lane]
    cuda.syncthreads()
    for row in range(32):
        y[row, lane] = tile[lane, row]
