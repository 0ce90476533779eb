"""Kernels with one mistake each, and the words in which `check` must name it."""

from __future__ import annotations

from convlab.gpu.numba_cuda import cuda, float32


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


@cuda.jit
def naive_without_guard(x, w, y):
    q, p = cuda.grid(2)
    total = float32(0)
    for r in range(w.shape[0]):
        for s in range(w.shape[1]):
            total += x[p + r, q + s] * w[r, s]
    y[p, q] = total


@cuda.jit
def naive_flipped(x, w, y):
    q, p = cuda.grid(2)
    if p < y.shape[0] and q < y.shape[1]:
        total = float32(0)
        for r in range(w.shape[0]):
            for s in range(w.shape[1]):
                total += x[p + r, q + s] * w[w.shape[0] - 1 - r, w.shape[1] - 1 - s]
        y[p, q] = total


@cuda.jit
def naive_in_memory(x, w, y):
    q, p = cuda.grid(2)
    if p < y.shape[0] and q < y.shape[1]:
        for r in range(w.shape[0]):
            for s in range(w.shape[1]):
                y[p, q] += x[p + r, q + s] * w[r, s]


@cuda.jit
def naive_written_again(x, w, y):
    q, p = cuda.grid(2)
    if p < y.shape[0] and q < y.shape[1]:
        y[p, q] = 0
        for r in range(w.shape[0]):
            for s in range(w.shape[1]):
                y[p, q] += x[p + r, q + s] * w[r, s]


@cuda.jit
def naive_rows_for_lanes(x, w, y):
    row0, col0 = cuda.grid(2)
    rows, cols = cuda.gridsize(2)
    for p in range(row0, y.shape[0], rows):
        for q in range(col0, y.shape[1], cols):
            total = float32(0)
            for r in range(w.shape[0]):
                for s in range(w.shape[1]):
                    total += x[p + r, q + s] * w[r, s]
            y[p, q] = total


@cuda.jit
def naive_one_tap_short(x, w, y):
    q, p = cuda.grid(2)
    if p < y.shape[0] and q < y.shape[1]:
        total = float32(0)
        for r in range(w.shape[0]):
            for s in range(1, w.shape[1]):
                total += x[p + r, q + s] * w[r, s]
        y[p, q] = total


@cuda.jit
def tail_returns_early(x, y):
    tile = cuda.shared.array(64, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    count = min(64, x.size - cuda.blockIdx.x * 64)
    if t >= count:
        return
    tile[t] = x[i]
    cuda.syncthreads()
    y[i] = tile[count - 1 - t]


@cuda.jit
def tail_without_guard(x, y):
    tile = cuda.shared.array(64, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = x[i]
    cuda.syncthreads()
    y[i] = tile[63 - t]


@cuda.jit
def tail_guards_the_load(x, y):
    tile = cuda.shared.array(64, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if i < x.size:
        tile[t] = x[i]
    cuda.syncthreads()
    y[i] = tile[63 - t]


@cuda.jit
def tail_as_if_whole(x, y):
    tile = cuda.shared.array(64, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if i < x.size:
        tile[t] = x[i]
    cuda.syncthreads()
    if i < x.size:
        y[i] = tile[63 - t]


@cuda.jit
def tail_without_barrier(x, y):
    tile = cuda.shared.array(64, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    count = min(64, x.size - cuda.blockIdx.x * 64)
    if t < count:
        tile[t] = x[i]
        y[i] = tile[count - 1 - t]


def tile_kernel(halo=2, barrier=True, guard=True, stage=True):
    """Return a kernel for the last exercise, with a mistake or without."""

    @cuda.jit
    def my_tile(x, w, y):
        patch = cuda.shared.array((10, 34), float32)
        q0, p0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 8
        for at in range(cuda.threadIdx.y * 32 + cuda.threadIdx.x, (8 + halo) * (32 + halo), 256):
            row, col = divmod(at, 32 + halo)
            if not guard or (p0 + row < x.shape[0] and q0 + col < x.shape[1]):
                patch[row, col] = x[p0 + row, q0 + col]
        if barrier:
            cuda.syncthreads()
        q, p = q0 + cuda.threadIdx.x, p0 + cuda.threadIdx.y
        if p < y.shape[0] and q < y.shape[1]:
            total = float32(0)
            for r in range(3):
                for s in range(3):
                    if stage:
                        total += patch[cuda.threadIdx.y + r, cuda.threadIdx.x + s] * w[r, s]
                    else:
                        total += x[p + r, q + s] * w[r, s]
            y[p, q] = total

    return my_tile


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
        "pads by two": (turn_two_more, "tile takes 2 for each of 32 requests"),
        "goes without shared memory": (turn_without_shared, "1024 sectors for reading, where 128"),
        "copies": (turn_copies, "numbers differ"),
    },
    "filter_naive": {
        "has no tail guard": (naive_without_guard, "out of bounds: x["),
        "flips the filter": (naive_flipped, "numbers differ"),
        "sums in memory that holds nothing": (naive_in_memory, "unwritten read: y[0, 0]"),
        "sums in memory": (naive_written_again, "sectors for writing, where"),
        "lets lanes go down the columns": (naive_rows_for_lanes, "x takes"),
        "skips the first taps": (naive_one_tap_short, "numbers differ"),
    },
    "tail": {
        "returns before the barrier": (tail_returns_early, "divergent barrier"),
        "has no guard": (tail_without_guard, "out of bounds: x[104]"),
        "guards the load only": (tail_guards_the_load, "of 4"),
        "turns the last run as if it were whole": (tail_as_if_whole, "unwritten read: tile[63]"),
        "has no barrier": (tail_without_barrier, "with no barrier between"),
    },
    "filter_tile": {
        "forgets the halo": (tile_kernel(halo=0), "unwritten read: patch["),
        "has half of the halo": (tile_kernel(halo=1), "unwritten read: patch["),
        "has no barrier": (tile_kernel(barrier=False), "with no barrier between"),
        "reads beyond the picture": (tile_kernel(guard=False), "out of bounds: x["),
        "stages, and does not use it": (tile_kernel(stage=False), "sectors for reading, where"),
    },
}
