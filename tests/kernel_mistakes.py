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
    row0, col0 = cuda.grid(2)
    rows, cols = cuda.gridsize(2)
    for row in range(row0, x.shape[0], rows):
        for col in range(col0, x.shape[1], cols):
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
        "has no tail guard": (copy_without_guard, "out of bounds: x[3, 0] is outside of x"),
        "guards one axis": (copy_guards_one_axis, "out of bounds: x[0, 40] is outside of x"),
        "walks down the columns": (copy_down_the_columns, "128 sectors for reading, where 16 are enough"),
        "uses the first block only": (copy_first_block_only, "race: y[0, 0] is written by thread"),
    },
    "reverse": {
        "has no barrier": (reverse_no_barrier, "with no barrier between"),
        "has no barrier after": (reverse_no_barrier_after, "Case 2 of 3"),
        "has no barrier before": (reverse_no_barrier_before, "unwritten read: tile[63]"),
        "reads one too far": (reverse_one_too_far, "out of bounds: tile[64] is outside of tile"),
        "has a barrier for one warp only": (reverse_divergent, "divergent barrier"),
    },
    "turn": {
        "keeps the conflict": (turn_conflict, "1024 passes over shared memory for reading, where 32"),
        "moves the conflict to the writes": (turn_conflict_writing, "over shared memory for writing"),
        "pads by two": (turn_two_more, "tile takes 2 for each request"),
        "goes without shared memory": (turn_without_shared, "1024 sectors for reading, where 128"),
        "copies": (turn_copies, "numbers differ"),
    },
}
