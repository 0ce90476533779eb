"""The library's own answers to the exercises whose answer is a kernel."""

from __future__ import annotations

from convlab.gpu.numba_cuda import cuda, float32

RUN = 64  # threads of a block, and numbers that are turned around together
TALL, WIDE = 8, 32  # outputs of a block, and its threads


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


@cuda.jit
def tail(x, y):
    tile = cuda.shared.array(RUN, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    start = cuda.blockIdx.x * RUN
    count = min(RUN, x.size - start)  # of this block: the last one may have fewer
    if t < count:
        tile[t] = x[i]
    cuda.syncthreads()  # outside of every `if`: all threads come by
    if t < count:
        y[i] = tile[count - 1 - t]


@cuda.jit
def filter_naive(x, w, y):
    q, p = cuda.grid(2)  # neighbouring threads: neighbouring pixels of a line
    if p < y.shape[0] and q < y.shape[1]:
        total = float32(0)
        for r in range(w.shape[0]):
            for s in range(w.shape[1]):
                total += x[p + r, q + s] * w[r, s]
        y[p, q] = total


@cuda.jit
def filter_tile(x, w, y):
    patch = cuda.shared.array((TALL + 2, WIDE + 2), float32)  # the block's pixels, and the halo
    q0, p0 = cuda.blockIdx.x * WIDE, cuda.blockIdx.y * TALL
    for at in range(cuda.threadIdx.y * WIDE + cuda.threadIdx.x, (TALL + 2) * (WIDE + 2), TALL * WIDE):
        row, col = divmod(at, WIDE + 2)
        if p0 + row < x.shape[0] and q0 + col < x.shape[1]:
            patch[row, col] = x[p0 + row, q0 + col]
    cuda.syncthreads()
    q, p = q0 + cuda.threadIdx.x, p0 + cuda.threadIdx.y
    if p < y.shape[0] and q < y.shape[1]:
        total = float32(0)
        for r in range(3):
            for s in range(3):
                total += patch[cuda.threadIdx.y + r, cuda.threadIdx.x + s] * w[r, s]
        y[p, q] = total


@cuda.jit
def register_tile(a, b, y):
    sums = cuda.local.array((4, 4), float32)
    column, line = cuda.local.array(4, float32), cuda.local.array(4, float32)
    n, m = cuda.threadIdx.x, cuda.threadIdx.y  # its rows are m, m + 8, ...: neighbours read neighbours
    for i in range(4):
        for j in range(4):
            sums[i, j] = 0
    for k in range(a.shape[1]):
        for i in range(4):
            column[i] = a[m + 8 * i, k]
            line[i] = b[k, n + 8 * i]
        for i in range(4):
            for j in range(4):
                sums[i, j] += column[i] * line[j]
    for i in range(4):
        for j in range(4):
            y[m + 8 * i, n + 8 * j] = sums[i, j]


@cuda.jit
def gather(x, table, y):
    m, c = cuda.blockIdx.x, cuda.threadIdx.x
    for tap in range(table.shape[1]):
        place = table[m, tap]  # the same for the whole block: one request, one sector
        y[m, tap, c] = x[place + c] if place >= 0 else float32(0)


@cuda.jit
def build_table(y, H, W, C, P, Q, R, S, stride, padding):
    i = cuda.grid(1)  # neighbours write neighbours: the pixels of a tile are innermost
    if i < y.size:
        rest, row = divmod(i, 32)
        rest, s = divmod(rest, S)
        tile, r = divmod(rest, R)
        p, q = divmod(min(tile * 32 + row, P * Q - 1), Q)
        h, w = p * stride + r - padding, q * stride + s - padding
        inside = 0 <= h < H and 0 <= w < W
        y[i] = (h * W + w) * C if inside else -1
