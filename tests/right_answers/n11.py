"""Notebook 11: a second right answer to each exercise."""

from convlab.gpu.numba_cuda import cuda, float32


@cuda.jit
def filter_naive(x, w, y):
    """Early return, and the taps in the other order: nobody waits here."""
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    col = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if row >= y.shape[0] or col >= y.shape[1]:
        return
    acc = 0.0
    for s in range(w.shape[1]):
        for r in range(w.shape[0]):
            acc += w[r, s] * x[row + r, col + s]
    y[row, col] = acc


@cuda.jit
def tail(x, y):
    """Turned at the write, and what is missing is filled up: nobody asks twice."""
    buffer = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    first = cuda.blockIdx.x * cuda.blockDim.x
    end = min(first + cuda.blockDim.x, x.shape[0])
    place = end - 1 - first - t
    if place >= 0:
        buffer[place] = x[first + t]
    else:
        buffer[t] = float32(0)
    cuda.syncthreads()
    if first + t < end:
        y[first + t] = buffer[t]


@cuda.jit
def filter_tile(x, w, y):
    """Stage row by row: nested loops, a thread for each column."""
    tile = cuda.shared.array((10, 34), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * cuda.blockDim.y, cuda.blockIdx.x * cuda.blockDim.x
    for i in range(ty, 10, cuda.blockDim.y):
        for j in range(tx, 34, cuda.blockDim.x):
            inside = top + i < x.shape[0] and left + j < x.shape[1]
            tile[i, j] = x[top + i, left + j] if inside else float32(0)
    cuda.syncthreads()
    if top + ty < y.shape[0] and left + tx < y.shape[1]:
        acc = float32(0)
        for s in range(3):
            for r in range(3):
                acc += w[r, s] * tile[ty + r, tx + s]
        y[top + ty, left + tx] = acc


RIGHT = {"filter_naive": filter_naive, "tail": tail, "filter_tile": filter_tile}
