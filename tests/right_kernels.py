"""Kernels that are right, of every kind that is usual: the simulator must say nothing about them."""

from __future__ import annotations

import numpy as np

from convlab.gpu.numba_cuda import cuda, float32, int32, uint32
from convlab.gpu.ptx import load4, store2, store4
from convlab.gpu.tensor_cores.mma import (
    cp_async16_zfill,
    cp_async16_zfill_cached,
    cp_async_commit,
    cp_async_wait,
    held,
)

ALL = 0xFFFFFFFF
RIGHT = {}  # name -> (kernel, grid, block, arguments, what the last of them is afterwards)


def right(grid, block, *arguments, expected):
    """Enter a kernel in the table; its last argument is an output."""

    def enter(function):
        RIGHT[function.__name__.replace("_", " ")] = (cuda.jit(function), grid, block, arguments, expected)
        return function

    return enter


def numbers(*shape, dtype=np.float32):
    """Return small whole numbers, whose sums are exact."""
    return np.random.default_rng(3).integers(0, 9, shape).astype(dtype)


X, BINS = numbers(256), numbers(256, dtype=np.int32)
PICTURE = numbers(32, 40)


def empty(*shape, dtype=np.float32):
    """Return an output to fill: nothing is in it yet."""
    return ("empty", shape, dtype)


def zeros(*shape, dtype=np.float32):
    """Return an output to add to."""
    return np.zeros(shape, dtype)


# -- sums ----------------------------------------------------------------------------------------------------


@right(1, 256, X, empty(1), expected=[X.sum()])
def sum_in_shared_memory(x, y):
    s = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    step = 128
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        y[0] = s[0]


@right(1, 256, X, empty(1), expected=[X.sum()])
def sum_that_ends_in_one_warp(x, y):
    s = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    for step in (128, 64, 32):
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
    if t < 32:
        value = s[t]
        for step in (16, 8, 4, 2, 1):
            value += s[t + step]
            cuda.syncwarp()
            s[t] = value
            cuda.syncwarp()
        if t == 0:
            y[0] = s[0]


@right(2, 128, X, zeros(1), expected=[X.sum()])
def sum_with_shuffles_and_an_atomic(x, y):
    partial = cuda.shared.array(4, float32)
    t = cuda.threadIdx.x
    value = x[cuda.grid(1)]
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(ALL, value, step)
    if t % 32 == 0:
        partial[t // 32] = value
    cuda.syncthreads()
    if t < 32:
        value = partial[t] if t < 4 else float32(0)
        for step in (2, 1):
            value += cuda.shfl_xor_sync(ALL, value, step)
        if t == 0:
            cuda.atomic.add(y, 0, value)


@right(8, 32, X, zeros(1, dtype=np.int32), empty(8), empty(1), expected=[X.sum()])
def sum_by_the_last_block(x, count, partial, y):
    last = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    value = x[cuda.grid(1)]
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(ALL, value, step)
    if t == 0:
        partial[cuda.blockIdx.x] = value
        cuda.threadfence()
        last[0] = cuda.atomic.add(count, 0, 1) == cuda.gridDim.x - 1
    cuda.syncthreads()
    if last[0]:
        value = partial[t] if t < cuda.gridDim.x else float32(0)
        for step in (16, 8, 4, 2, 1):
            value += cuda.shfl_down_sync(ALL, value, step)
        if t == 0:
            y[0] = value
            count[0] = 0  # for the next launch


@right(4, 64, X, zeros(1, dtype=np.int32), empty(256), empty(64), expected=X.reshape(4, 64).sum(0))
def last_block_where_all_threads_fence(x, count, partial, y):
    last = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    partial[cuda.grid(1)] = x[cuda.grid(1)]
    cuda.threadfence()
    cuda.syncthreads()
    if t == 0:
        last[0] = cuda.atomic.add(count, 0, 1) == cuda.gridDim.x - 1
    cuda.syncthreads()
    if last[0]:
        total = float32(0)
        for block in range(cuda.gridDim.x):
            total += partial[64 * block + t]
        y[t] = total


@right(4, 64, X, zeros(1, dtype=np.int32), empty(256), empty(64), expected=X.reshape(4, 64).sum(0))
def last_block_where_one_thread_fences_for_all(x, count, partial, y):
    last = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    partial[cuda.grid(1)] = x[cuda.grid(1)]
    cuda.syncthreads()
    if t == 0:
        cuda.threadfence()
        ticket = cuda.atomic.inc(count, 0, cuda.gridDim.x)
        last[0] = ticket == cuda.gridDim.x - 1
    cuda.syncthreads()
    if last[0]:
        cuda.threadfence()
        total = float32(0)
        for block in range(cuda.gridDim.x):
            total += partial[64 * block + t]
        y[t] = total


@right(1, 128, X, empty(1), expected=[X[:128].sum()])
def last_warp_of_a_block(x, y):
    partial, count = cuda.shared.array(4, float32), cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        count[0] = 0
    cuda.syncthreads()
    value = x[t]
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(ALL, value, step)
    if t % 32 == 0:
        partial[t // 32] = value
        cuda.threadfence_block()
        if cuda.atomic.add(count, 0, 1) == 3:
            y[0] = partial[0] + partial[1] + partial[2] + partial[3]


@right(4, 32, X, zeros(1, dtype=np.int32), zeros(1), expected=[X[:4].sum()])
def sum_under_a_lock(x, lock, y):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
        y[0] += x[cuda.blockIdx.x]
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)


@right(4, 64, X, zeros(5, dtype=np.int32), zeros(5), expected=[0, *np.cumsum(X[:256:64])])
def blocks_in_a_chain(x, ready, y):
    b = cuda.blockIdx.x
    if cuda.threadIdx.x == 0:
        while b > 0 and cuda.atomic.add(ready, b, 0) == 0:
            pass
        y[b + 1] = y[b] + x[64 * b]
        cuda.threadfence()
        cuda.atomic.exch(ready, b + 1, 1)


@right(2, 32, X, numbers(256), zeros(1), expected=[(X * X).sum()])
def dot_product(x, w, y):
    total = float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[i] * w[i]
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(ALL, total, step)
    if cuda.laneid == 0:
        cuda.atomic.add(y, 0, total)


# -- scans, sorting, counting --------------------------------------------------------------------------------


@right(1, 64, X, empty(64), expected=np.cumsum(X[:64]))
def inclusive_scan(x, y):
    s = cuda.shared.array((2, 64), float32)
    t, now = cuda.threadIdx.x, 0
    s[0, t] = x[t]
    cuda.syncthreads()
    step = 1
    while step < 64:
        s[1 - now, t] = s[now, t] + (s[now, t - step] if t >= step else float32(0))
        now = 1 - now
        cuda.syncthreads()
        step *= 2
    y[t] = s[now, t]


@right(1, 32, X, empty(64), expected=np.cumsum(X[:64]) - X[:64])
def exclusive_scan_up_and_down(x, y):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[2 * t], s[2 * t + 1] = x[2 * t], x[2 * t + 1]
    step, active = 1, 32
    while active > 0:
        cuda.syncthreads()
        if t < active:
            s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1]
        step *= 2
        active //= 2
    if t == 0:
        s[63] = 0
    active = 1
    while active < 64:
        step //= 2
        cuda.syncthreads()
        if t < active:
            low, high = step * (2 * t + 1) - 1, step * (2 * t + 2) - 1
            kept = s[low]
            s[low] = s[high]
            s[high] += kept
        active *= 2
    cuda.syncthreads()
    y[2 * t], y[2 * t + 1] = s[2 * t], s[2 * t + 1]


@right(1, 32, X, empty(32), expected=np.cumsum(X[:32]))
def scan_of_a_warp(x, y):
    lane = cuda.laneid
    value, step = x[lane], 1
    while step < 32:
        below = cuda.shfl_up_sync(ALL, value, step)
        if lane >= step:
            value += below
        step *= 2
    y[lane] = value


@right(1, 64, X, empty(64), expected=np.sort(X[:64]))
def bitonic_sort(x, y):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    size = 2
    while size <= 64:
        step = size // 2
        while step > 0:
            other = t ^ step
            if other > t:
                up = t & size == 0
                if (s[t] > s[other]) == up:
                    kept = s[t]
                    s[t] = s[other]
                    s[other] = kept
            cuda.syncthreads()
            step //= 2
        size *= 2
    y[t] = s[t]


@right(4, 64, BINS, zeros(9, dtype=np.int32), expected=np.bincount(BINS, minlength=9))
def histogram_with_global_atomics(x, y):
    cuda.atomic.add(y, x[cuda.grid(1)], 1)


@right(2, 64, BINS, zeros(9, dtype=np.int32), expected=np.bincount(BINS, minlength=9))
def histogram_with_shared_atomics(x, y):
    mine = cuda.shared.array(9, int32)
    t = cuda.threadIdx.x
    if t < 9:
        mine[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()
    if t < 9:
        cuda.atomic.add(y, t, mine[t])


@right(4, 64, BINS, empty(256, dtype=np.int32), zeros(1, dtype=np.int32), expected=[(BINS > 4).sum()])
def compaction(x, kept, y):
    value = x[cuda.grid(1)]
    if value > 4:
        kept[cuda.atomic.add(y, 0, 1)] = value


@right(4, 64, BINS, empty(256, dtype=np.int32), zeros(1, dtype=np.int32), expected=[(BINS > 4).sum()])
def compaction_by_a_leader(x, kept, y):
    value, start = x[cuda.grid(1)], 0
    mask = cuda.ballot_sync(ALL, value > 4)
    if cuda.laneid == 0:
        start = cuda.atomic.add(y, 0, cuda.popc(mask))
    start = cuda.shfl_sync(ALL, start, 0)
    if value > 4:
        kept[start + cuda.popc(mask & cuda.lanemask_lt())] = value


@right(1, 32, BINS, empty(32, dtype=np.int32), expected=(BINS[:32, None] == BINS[:32]).sum(1))
def like_ones_of_a_warp(x, y):
    value = x[cuda.laneid]
    some, every = cuda.any_sync(ALL, value > 4), cuda.all_sync(ALL, value < 9)
    y[cuda.laneid] = cuda.popc(cuda.match_any_sync(ALL, value)) if some and every else -1


@right(2, 32, uint32(7), empty(64, dtype=np.uint32), expected=None)
def random_numbers(seed, y):
    state = uint32(seed + uint32(cuda.grid(1)))
    for _ in range(8):
        state = uint32(state ^ uint32(state << uint32(13)))
        state = uint32(state - uint32(state >> uint32(7)))
        state = uint32(uint32(1664525) * state - uint32(1013904223))
    if state < uint32(1 << 31):
        y[cuda.grid(1)] = state
    else:
        y[cuda.grid(1)] = uint32(state - uint32(1 << 31))


# -- warps ---------------------------------------------------------------------------------------------------


@right(1, 64, X, empty(64), expected=X[:64].reshape(4, 16)[:, ::-1].reshape(-1))
def halves_of_warps_on_their_own(x, y):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    if t % 32 < 16:
        cuda.syncwarp(0xFFFF)
    else:
        cuda.syncwarp(0xFFFF0000)
    y[t] = s[t // 16 * 16 + 15 - t % 16]


@right(1, 32, X, empty(32), expected=X[:32][np.arange(32) ^ 31])
def exchange_in_two_steps(x, y):
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncwarp(0xFF << t // 8 * 8)
    value = s[t ^ 7]
    cuda.syncwarp()
    s[t] = value
    cuda.syncwarp()
    y[t] = s[t ^ 24]


@right(1, 64, X, empty(32), expected=2 * X[:32])
def one_warp_waits_for_another(x, y):
    s, ready = cuda.shared.array(32, float32), cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        ready[0] = 0
    cuda.syncthreads()
    if t < 32:
        while cuda.atomic.add(ready, 0, 0) < 32:
            pass
        y[t] = s[31 - t] + x[t]
    else:
        s[63 - t] = x[t - 32]
        cuda.threadfence_block()
        cuda.atomic.add(ready, 0, 1)


# -- pictures and matrices -----------------------------------------------------------------------------------


@right((2, 1), (32, 8), PICTURE, empty(40, 32), expected=PICTURE.T)
def transpose_with_padding(x, y):
    tile = cuda.shared.array((32, 33), float32)
    col, row = cuda.blockIdx.x * 32 + cuda.threadIdx.x, cuda.blockIdx.y * 32
    for i in range(cuda.threadIdx.y, 32, 8):
        if row + i < x.shape[0] and col < x.shape[1]:
            tile[i, cuda.threadIdx.x] = x[row + i, col]
    cuda.syncthreads()
    for i in range(cuda.threadIdx.y, 32, 8):
        to = cuda.blockIdx.x * 32 + i
        if to < y.shape[0] and row + cuda.threadIdx.x < y.shape[1]:
            y[to, row + cuda.threadIdx.x] = tile[cuda.threadIdx.x, i]


@right(4, 64, X, empty(256), expected=np.convolve(X, np.ones(5), "same"))
def stencil_with_halo(x, y):
    s = cuda.shared.array(68, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    s[t + 2] = x[i]
    if t < 2:
        s[t] = x[i - 2] if i >= 2 else float32(0)
        s[t + 66] = x[i + 64] if i + 64 < x.size else float32(0)
    cuda.syncthreads()
    total = float32(0)
    for k in range(5):
        total += s[t + k]
    y[i] = total


def _blurred():
    padded = np.pad(PICTURE, 1)
    return sum(padded[r : r + 32, s : s + 40] for r in range(3) for s in range(3))


@right((3, 2), (16, 16), PICTURE, empty(32, 40), expected=_blurred())
def stencil_in_two_directions(x, y):
    s = cuda.shared.array((18, 18), float32)
    x0, y0 = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
    for at in range(cuda.threadIdx.y * 16 + cuda.threadIdx.x, 18 * 18, 256):
        i, j = divmod(at, 18)
        row, col = uint32(y0 + i - 1), uint32(x0 + j - 1)  # both bounds at once: -1 is a large number
        if row < uint32(x.shape[0]) and col < uint32(x.shape[1]):
            s[i, j] = x[row, col]
        else:
            s[i, j] = 0
    cuda.syncthreads()
    col, row = cuda.grid(2)
    if row < y.shape[0] and col < y.shape[1]:
        total = float32(0)
        for r in range(3):
            for c in range(3):
                total += s[cuda.threadIdx.y + r, cuda.threadIdx.x + c]
        y[row, col] = total


@right(4, 64, uint32(256), X, empty(256), expected=np.append(0, X[:-1]))
def neighbour_by_unsigned_numbers(n, x, y):
    i = uint32(cuda.grid(1))
    left = i - uint32(1)
    y[i] = x[left] if left < n else float32(0)


@right(1, 64, uint32(60), uint32(64), X, empty(64), expected=np.append(X[:60] + X[4:64], X[60:64]))
def bound_that_is_looked_at_first(n, size, x, y):
    i, shift = uint32(cuda.threadIdx.x), uint32(size - n)
    if size > shift and i < size - shift:
        y[i] = x[i] + x[i + shift]
    elif i - uint32(1) < size:
        y[i] = x[i - uint32(1) + uint32(1)]


def product_in_tiles(padding):
    """Return the kernel of a matrix product in tiles of 16 x 16; rows in shared memory are so much longer."""

    @cuda.jit
    def multiply(a, b, c):
        tile_a = cuda.shared.array((16, 16 + padding), float32)
        tile_b = cuda.shared.array((16, 16 + padding), float32)
        j, i = cuda.threadIdx.x, cuda.threadIdx.y
        col, row = cuda.grid(2)
        total = float32(0)
        for start in range(0, a.shape[1], 16):
            tile_a[i, j] = a[row, start + j]
            tile_b[i, j] = b[start + i, col]
            cuda.syncthreads()
            for n in range(16):
                total += tile_a[i, n] * tile_b[n, j]
            cuda.syncthreads()
        c[row, col] = total

    return multiply


_SQUARE = PICTURE[:, :32]
RIGHT["matrix product in tiles"] = (
    product_in_tiles(1),
    (2, 2),
    (16, 16),
    (_SQUARE, _SQUARE, empty(32, 32)),
    _SQUARE @ _SQUARE,
)


# -- copies --------------------------------------------------------------------------------------------------


@right(2, 32, X, empty(256), expected=X)
def grid_stride_with_four_at_once(x, y):
    for i in range(4 * cuda.grid(1), x.size, 4 * cuda.gridsize(1)):
        a, b, c, d = load4(x, i)
        store4(y, i, a, b, c, d)


@right(2, 32, X, empty(256), expected=X.reshape(128, 2)[:, ::-1].reshape(256))
def neighbours_exchanged_and_stored_two_at_once(x, y):
    for i in range(2 * cuda.grid(1), x.size, 2 * cuda.gridsize(1)):
        store2(y, i, x[i + 1], x[i])


@right(1, 16, X.reshape(4, 64), empty(4, 64), expected=X.reshape(4, 64)[:, ::-1])
def rows_by_four_at_once(x, y):
    s = cuda.shared.array((4, 64), float32)
    t = cuda.threadIdx.x
    for row in range(4):
        a, b, c, d = load4(x, (row, 4 * t))
        store4(s, (row, 4 * t), a, b, c, d)
    cuda.syncthreads()
    for row in range(4):
        for j in range(t, 64, 16):
            y[row, j] = s[row, 63 - j]


def pipeline(stages):
    """Return a kernel that copies ahead, so many pieces at a time, and adds up what has arrived."""

    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array((stages, 64), float32)
        t, pieces = cuda.threadIdx.x, x.size // 64
        for piece in range(stages - 1):
            cp_async16_zfill(s, (piece, 4 * t), x, 64 * piece + 4 * t, True)
            cp_async_commit()
        total = float32(0)
        for piece in range(pieces):
            cp_async_wait(stages - 2)
            cuda.syncthreads()
            ahead = piece + stages - 1
            wanted = ahead < pieces
            cp_async16_zfill(s, (ahead % stages, 4 * t), x, 64 * ahead + 4 * t if wanted else 0, wanted)
            cp_async_commit()
            for j in range(64):
                total += s[piece % stages, j]
        cp_async_wait(0)
        y[t] = total

    return kernel


for _stages, _name in ((2, "double buffer"), (3, "triple buffer")):
    RIGHT[_name] = (pipeline(_stages), 1, 16, (X, empty(16)), np.full(16, X.sum()))


@right(1, 16, X, empty(64), expected=X[:64] + 1)
def source_changed_after_the_copy_arrived(x, y):
    s = cuda.shared.array(64, float32)
    i = 4 * cuda.threadIdx.x
    cp_async16_zfill(s, i, x, i, True)
    cp_async_commit()
    cp_async_wait(0)
    cuda.syncthreads()
    x[63 - i] = 0
    for j in range(4):
        y[i + j] = s[i + j] + 1


@right(1, 16, X, empty(128), expected=np.append(X[:96], np.zeros(32)))
def copies_by_way_of_the_first_cache_to_an_array_that_is_held(x, y):
    s = held(cuda.shared.array(128, float32))
    i = 4 * cuda.threadIdx.x
    for half in range(2):
        at = 64 * half + i
        cp_async16_zfill_cached(s, at, x, at, at < 96)
    cp_async_commit()
    cp_async_wait(0)
    cuda.syncthreads()
    for j in range(8):
        y[2 * i + j] = s[2 * i + j]


@right(1, 32, X, empty(64), expected=X[:64] + X[63::-1])
def two_arrays_that_are_held_and_one_that_is_not(x, y):
    first = cuda.shared.array(64, float32)
    a, b = held(first), held(cuda.shared.array(64, float32))
    i = cuda.threadIdx.x
    for j in range(i, 64, 32):
        a[j] = x[j]
        b[63 - j] = x[j]
    cuda.syncthreads()
    for j in range(i, 64, 32):
        y[63 - j] = first[63 - j] + b[63 - j]
