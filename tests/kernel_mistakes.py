"""Kernels with one mistake each, and the words in which `check` must name it."""

from __future__ import annotations

from convlab.gpu._cuda import cuda, float32


@cuda.jit
def copy_without_guard(x, y):
    col, row = cuda.grid(2)
    y[row, col] = x[row, col]


@cuda.jit
def copy_guards_one_axis(x, y):
    col, row = cuda.grid(2)
    if row < x.shape[0]:
        y[row, col] = x[row, col]


@cuda.jit
def copy_down_the_columns(x, y):
    row = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    first = cuda.threadIdx.y + cuda.blockIdx.y == 0
    for col in range(x.shape[1]):
        if first and row < x.shape[0]:
            y[row, col] = x[row, col]


@cuda.jit
def copy_first_block_only(x, y):
    col, row = cuda.threadIdx.x, cuda.threadIdx.y
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] = x[row, col]


@cuda.jit
def reverse_no_barrier(x, y):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    for start in range(0, x.size, 64):
        tile[t] = x[start + t]
        y[start + t] = tile[63 - t]


@cuda.jit
def reverse_no_barrier_after(x, y):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    for start in range(0, x.size, 64):
        tile[t] = x[start + t]
        cuda.syncthreads()
        y[start + t] = tile[63 - t]


@cuda.jit
def reverse_no_barrier_before(x, y):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    for start in range(0, x.size, 64):
        tile[t] = x[start + t]
        y[start + t] = tile[63 - t]
        cuda.syncthreads()


@cuda.jit
def reverse_one_too_far(x, y):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    for start in range(0, x.size, 64):
        tile[t] = x[start + t]
        cuda.syncthreads()
        y[start + t] = tile[64 - t]
        cuda.syncthreads()


@cuda.jit
def reverse_divergent(x, y):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    for start in range(0, x.size, 64):
        tile[t] = x[start + t]
        if t < 32:
            cuda.syncthreads()
        y[start + t] = tile[63 - t]
        cuda.syncthreads()


@cuda.jit
def turn_conflict(x, y):
    tile = cuda.shared.array((32, 32), float32)
    lane = cuda.threadIdx.x
    for row in range(32):
        tile[row, lane] = x[row, lane]
    cuda.syncthreads()
    for row in range(32):
        y[row, lane] = tile[lane, row]


@cuda.jit
def turn_conflict_writing(x, y):
    tile = cuda.shared.array((32, 32), float32)
    lane = cuda.threadIdx.x
    for row in range(32):
        tile[lane, row] = x[row, lane]
    cuda.syncthreads()
    for row in range(32):
        y[row, lane] = tile[row, lane]


@cuda.jit
def turn_two_more(x, y):
    tile = cuda.shared.array((32, 34), float32)
    lane = cuda.threadIdx.x
    for row in range(32):
        tile[row, lane] = x[row, lane]
    cuda.syncthreads()
    for row in range(32):
        y[row, lane] = tile[lane, row]


@cuda.jit
def turn_without_shared(x, y):
    lane = cuda.threadIdx.x
    for row in range(32):
        y[row, lane] = x[lane, row]


@cuda.jit
def turn_copies(x, y):
    lane = cuda.threadIdx.x
    for row in range(32):
        y[row, lane] = x[row, lane]


# exercise -> {name of the mistake: (the kernel, words of the note)}
KERNELS = {
    "copy": {
        "has no tail guard": (copy_without_guard, "simulator stopped"),
        "guards one axis": (copy_guards_one_axis, "simulator stopped"),
        "walks down the columns": (copy_down_the_columns, "sectors for"),
        "uses the first block only": (copy_first_block_only, "blocks run in any order"),
    },
    "reverse": {
        "has no barrier": (reverse_no_barrier, "simulator stopped"),
        "has no barrier after": (reverse_no_barrier_after, "simulator stopped"),
        "has no barrier before": (reverse_no_barrier_before, "simulator stopped"),
        "reads one too far": (reverse_one_too_far, "simulator stopped"),
        "has a barrier for one warp only": (reverse_divergent, "simulator stopped"),
    },
    "turn": {
        "keeps the conflict": (turn_conflict, "passes over shared memory for reading, where"),
        "moves the conflict to the writes": (turn_conflict_writing, "passes over shared memory for writing"),
        "pads by two": (turn_two_more, "passes over shared memory for reading"),
        "goes without shared memory": (turn_without_shared, "sectors for reading, where"),
        "copies": (turn_copies, "numbers differ"),
    },
}
