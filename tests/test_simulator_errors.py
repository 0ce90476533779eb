"""Planted bugs: each is found with its own words at the line marked below, and gone once it is mended."""

import inspect

import numpy as np
import pytest
from effort import sampled
from greenlet import greenlet

from convlab import ConvError
from convlab.gpu import simulator
from convlab.gpu.numba_cuda import cuda, float32, uint32
from convlab.gpu.ptx import load4, store2, store4
from convlab.gpu.simulator import thread_block
from convlab.gpu.tensor_cores.mma import (
    cp_async16_zfill,
    cp_async16_zfill_cached,
    cp_async_commit,
    cp_async_wait,
    held,
    mma_m16n8k8_tf32,
)

BUGS = {}


def bug(kind, words, grid=1, block=64, dtype=np.float32, size=64):
    """Enter a factory in the table: ``factory(wrong)`` returns the kernel with its bug, or without."""

    def enter(factory):
        BUGS[factory.__name__.replace("_", " ")] = (factory, kind, words, grid, block, dtype, size)
        return factory

    return enter


def launch(factory, wrong, grid, block, dtype, size, traced=True):
    """Run a kernel on x, numbers that count upwards, and on y, which nobody has written."""
    x = np.arange(size).astype(dtype)
    trace = simulator.run(factory(wrong), grid, block, x, simulator.poisoned(size, dtype), traced=traced)
    trace.check()


def marked_line(factory):
    """Return the number of the line that a factory marks, or the kernel that it gets from another one."""
    for function in factory, factory(True).py_func:
        lines, first = inspect.getsourcelines(function)
        for i, text in enumerate(lines):
            if "# here" in text:
                return first + i
    raise AssertionError(f"{factory.__name__} marks no line")


# -- races -------------------------------------------------------------------------------------------------


@bug("race", "s[0] is written by thread (0, 0, 0) and read by thread (63, 0, 0) of block (0, 0, 0)")
def no_barrier_before_reading(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array(64, float32)
        i = cuda.threadIdx.x
        s[i] = x[i]  # here
        if not wrong:
            cuda.syncthreads()
        y[i] = s[63 - i]

    return kernel


@bug("race", "s[", block=32)
def no_barrier_before_writing_again(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array(32, float32)
        i = cuda.threadIdx.x
        for start in range(0, 64, 32):
            s[i] = x[start + i]  # here
            cuda.syncthreads()
            y[start + i] = s[31 - i]
            if not wrong:
                cuda.syncthreads()

    return kernel


@bug("race", "t[0] is written by thread (0, 0, 0) and written by thread (1, 0, 0)")
def two_threads_write_one_element(wrong):
    @cuda.jit
    def kernel(x, y):
        t = cuda.shared.array(64, float32)
        i = cuda.threadIdx.x
        t[i // 2 if wrong else i] = x[i]  # here
        y[i] = x[i]

    return kernel


@bug("race", "y[0] is written by thread (0, 0, 0) and read by thread (1, 0, 0)", dtype=np.int32)
def sum_without_atomic(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        if i == 0:
            y[0] = 0
        cuda.syncthreads()
        if wrong:
            y[0] += x[i]  # here
        else:
            cuda.atomic.add(y, 0, x[i])

    return kernel


@bug("race", "changed atomically", dtype=np.int32)
def plain_store_among_atomics(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        if i == 0:
            y[0] = 0  # here
        if not wrong:
            cuda.syncthreads()
        cuda.atomic.add(y, 0, x[i])

    return kernel


@bug("race", "and written by block (0, 0, 0): blocks run in any order", grid=2, block=32)
def blocks_write_one_element(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x if wrong else cuda.grid(1)
        y[i] = x[cuda.grid(1)]  # here

    return kernel


@bug(
    "race", "is read by thread (0, 0, 0) of block (1, 0, 0), and written by block (0, 0, 0)", grid=2, block=32
)
def block_reads_what_another_wrote(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.grid(1)
        y[i] = x[i]
        cuda.syncthreads()
        if i >= 32:
            y[i] = y[i - 32 if wrong else i]  # here

    return kernel


@bug("race", "y[32] is written by thread (0, 0, 0) of block (1, 0, 0)", grid=2, block=32)
def four_at_once_where_one_is_meant(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.grid(1)
        a, b, c, d = load4(x, i // 4 * 4)
        if i == 28 and wrong:
            store4(y, 32, a, b, c, d)
        y[i] = x[i]  # here

    return kernel


@bug("race", "s[0] is written by thread (0, 0, 0) and read by thread (1, 0, 0)", block=32)
def no_syncwarp(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array(32, float32)
        i = cuda.threadIdx.x
        s[i] = x[i]  # here
        if not wrong:
            cuda.syncwarp()
        y[i] = s[i ^ 1]

    return kernel


@bug("race", "is written by thread (1, 0, 0) and read by thread (32, 0, 0)")
def syncwarp_where_the_block_is_meant(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array(64, float32)
        i = cuda.threadIdx.x
        s[i] = x[i]  # here
        if wrong:
            cuda.syncwarp()
        else:
            cuda.syncthreads()
        y[i] = s[(i + 33) % 64]

    return kernel


# -- barriers ----------------------------------------------------------------------------------------------


@bug("divergent barrier", "thread (0, 0, 0) waits at one barrier, thread (32, 0, 0) at another")
def barrier_for_half_of_the_block(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        if i < 32 or not wrong:
            cuda.syncthreads()  # here
        y[i] = x[i]
        cuda.syncthreads()

    return kernel


@bug("divergent barrier", "thread (0, 0, 0) waits at one barrier, thread (1, 0, 0) at another")
def two_barriers_that_look_the_same(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        if i % 2 == 0 or not wrong:
            y[i] = x[i]
            cuda.syncthreads()  # here
        else:
            y[i] = -x[i]
            cuda.syncthreads()

    return kernel


@bug("divergent barrier", "24 of 64 threads have already returned, thread (40, 0, 0) among them")
def return_before_the_barrier(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        if wrong and i >= 40:
            return
        if i < 40:
            y[i] = x[i]
        cuda.syncthreads()  # here

    return kernel


@bug("divergent barrier", "waits here in one iteration of a loop, thread (1, 0, 0) in another")
def barrier_skipped_in_one_iteration(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        for step in range(3):
            if wrong and step == 0 and i == 1:
                continue
            cuda.syncthreads()  # here
        y[i] = x[i]

    return kernel


# -- out of bounds, misaligned, unwritten ------------------------------------------------------------------


@bug("out of bounds", "x[64] is outside of x, whose axis 0 has 64 elements (thread (63, 0, 0)")
def one_too_far(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        y[i] = x[i + 1 if wrong else i]  # here

    return kernel


@bug("negative index", "x[-1]: an index below zero")
def one_before_the_first(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        left = x[i - 1] if wrong or i > 0 else float32(0)  # here
        y[i] = left + x[i]

    return kernel


@bug("out of bounds", "(4294967295 is -1 as a uint32)")
def unsigned_below_zero(wrong):
    @cuda.jit
    def kernel(x, y):
        i = uint32(cuda.threadIdx.x)
        left = x[uint32(i - uint32(1))] if wrong or i > 0 else float32(0)  # here
        y[i] = left + x[i]

    return kernel


@bug("out of bounds", "block (1, 0, 0)", grid=2, block=32, size=50)
def no_guard_at_the_tail(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.grid(1)
        if wrong or i < x.size:
            y[i] = x[i]  # here

    return kernel


@bug("out of bounds", "s[0, 32] is outside of s, whose axis 1 has 32 elements")
def beyond_a_row_of_shared_memory(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array((2, 32), float32)
        i = cuda.threadIdx.x
        s[i // 32, i % 32 + wrong] = x[i]  # here
        y[i] = x[i]

    return kernel


@bug("out of bounds", "a[4] is outside of a")
def beyond_a_local_array(wrong):
    @cuda.jit
    def kernel(x, y):
        a = cuda.local.array(4, float32)
        for j in range(5 if wrong else 4):
            a[j] = x[j]  # here
        y[cuda.threadIdx.x] = a[0]

    return kernel


@bug("out of bounds", "x[64] is outside", block=16)
def four_beyond_the_end(wrong):
    @cuda.jit
    def kernel(x, y):
        i = 4 * cuda.threadIdx.x + 4 * wrong
        a, b, c, d = load4(x, i)  # here
        store4(y, i, a, b, c, d)

    return kernel


@bug("out of bounds", "x[63] is outside of x, whose axis 0 has 62 elements", block=16)
def the_last_four_half_outside(wrong):
    @cuda.jit
    def kernel(x, y):
        i = 4 * cuda.threadIdx.x
        part = x[: 62 if wrong else 64]
        a, b, c, d = load4(part, i)  # here
        store4(y, i, a, b, c, d)

    return kernel


@bug(
    "misaligned access",
    "x[1] begins at byte 4 of x; 16 bytes at once must begin at a multiple of 16",
    block=15,
)
def four_from_the_second_on(wrong):
    @cuda.jit
    def kernel(x, y):
        i = 4 * cuda.threadIdx.x
        a, b, c, d = load4(x, i + wrong)  # here
        store4(y, i, a, b, c, d)

    return kernel


@bug(
    "misaligned access",
    "y[1] begins at byte 4 of y; 8 bytes at once must begin at a multiple of 8",
    block=31,
)
def two_from_the_second_on(wrong):
    @cuda.jit
    def kernel(x, y):
        i = 2 * cuda.threadIdx.x
        store2(y, i + wrong, x[i], x[i + 1])  # here

    return kernel


@bug("out of bounds", "y[64] is outside", block=32)
def two_beyond_the_end(wrong):
    @cuda.jit
    def kernel(x, y):
        i = 2 * cuda.threadIdx.x
        store2(y, i + 2 * wrong, x[i], x[i + 1])  # here

    return kernel


@bug("unwritten read", "s[40], in shared memory, is read before anything was written there")
def shared_never_written(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array(64, uint32)
        i = cuda.threadIdx.x
        if i < 40 or not wrong:
            s[i] = i
        cuda.syncthreads()
        y[i] = s[i]  # here

    return kernel


@bug("unwritten read", "y[1], in global memory", dtype=np.int64)
def global_never_written(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        if i % 2 == 0 or not wrong:
            y[i] = x[i]
        y[i] += 1  # here

    return kernel


@bug("unwritten read", "a[3], a local array")
def local_never_written(wrong):
    @cuda.jit
    def kernel(x, y):
        a = cuda.local.array(4, float32)
        for j in range(3 if wrong else 4):
            a[j] = x[j]
        y[cuda.threadIdx.x] = a[3]  # here

    return kernel


@bug("unwritten read", "y[0]", dtype=np.int32)
def atomic_on_what_nobody_cleared(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        if not wrong and i == 0:
            y[0] = 0
        cuda.syncthreads()
        cuda.atomic.max(y, 0, x[i])  # here

    return kernel


@bug("unwritten read", "s[0], in shared memory", grid=2, block=32)
def shared_memory_of_another_block(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array(32, float32)
        i = cuda.threadIdx.x
        if cuda.blockIdx.x == 0 or not wrong:
            s[i] = x[i]
        y[cuda.grid(1)] = s[i]  # here

    return kernel


@bug("too much memory", "the block takes 53248 bytes of shared memory; it can have 49152")
def more_shared_memory_than_there_is(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        a = cuda.shared.array((64, 16), float32)
        b = cuda.shared.array((64, 192 if wrong else 64), float32)  # here
        a[i, 0] = b[i, 0] = y[i] = x[i]

    return kernel


@bug("too much memory", "numbers takes 65540 bytes of constant memory; there are 65536", size=1)
def more_constant_memory_than_there_is(wrong):
    table = np.zeros((64 << 8) + wrong, np.float32)

    @cuda.jit
    def kernel(x, y):
        numbers = cuda.const.array_like(table)  # here
        if cuda.threadIdx.x == 0:
            y[0] = numbers[0]

    return kernel


# -- warps and copies --------------------------------------------------------------------------------------


@bug(
    "divergent warp",
    "lane 16 waits here for lanes 0, 1, 2, 3 ... of its warp, named in its mask 0xffffffff",
    block=32,
)
def shuffle_in_a_branch(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        y[i] = x[i]
        if i >= 16:
            y[i] = cuda.shfl_xor_sync(0xFFFFFFFF if wrong else 0xFFFF0000, x[i], 1)  # here
        cuda.syncthreads()

    return kernel


@bug("divergent warp", "lane 15 asks for the value of lane 16, which takes no part", block=32)
def shuffle_from_a_lane_that_is_gone(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        if i >= 16:
            return
        y[i] = cuda.shfl_down_sync(0xFFFF, x[i], 1 if wrong else 16 * 2)  # here

    return kernel


@bug("divergent warp", "that does not name itself", block=32)
def shuffle_that_leaves_itself_out(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        y[i] = cuda.shfl_sync(0x7FFFFFFF if wrong else 0xFFFFFFFF, x[i], 0)  # here

    return kernel


@bug("divergent warp", "only 16 lanes of the warp multiply; it takes all 32", block=32)
def half_a_warp_multiplies(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        if wrong and i >= 16:
            return
        zero, one = uint32(0), float32(1)
        a, b, c, d = mma_m16n8k8_tf32(zero, zero, zero, zero, zero, zero, one, one, one, one)  # here
        y[i] = a + b + c + d

    return kernel


@bug("read before the copy arrived", "is read while cp.async still copies to it", block=16)
def no_wait_for_the_copy(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array(64, float32)
        i = 4 * cuda.threadIdx.x
        cp_async16_zfill(s, i, x, i, True)
        cp_async_commit()
        if not wrong:
            cp_async_wait(0)
        for j in range(4):
            y[i + j] = s[i + j]  # here

    return kernel


@bug("read before the copy arrived", "s[0]", block=16)
def no_wait_for_a_copy_by_way_of_the_cache(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array(64, float32)
        s = held(s)
        i = 4 * cuda.threadIdx.x
        cp_async16_zfill_cached(s, i, x, i, True)
        cp_async_commit()
        if not wrong:
            cp_async_wait(0)
        for j in range(4):
            y[i + j] = s[i + j]  # here

    return kernel


@bug("race", "s[0] is written by thread (0, 0, 0) and read by thread (63, 0, 0) of block (0, 0, 0)")
def no_barrier_before_an_array_that_is_held_is_read(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array(64, float32)
        same = held(s)
        i = cuda.threadIdx.x
        same[i] = x[i]  # here
        if not wrong:
            cuda.syncthreads()
        y[i] = s[63 - i]

    return kernel


@bug("read before the copy arrived", "s[32]", block=8)
def wait_for_one_group_too_few(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array(64, float32)
        i = 4 * cuda.threadIdx.x
        for half in range(2):
            cp_async16_zfill(s, 32 * half + i, x, 32 * half + i, True)
            cp_async_commit()
        if wrong:
            cp_async_wait(1)
        else:
            cp_async_wait(0)
        y[i] = s[i]
        y[32 + i] = s[32 + i]  # here

    return kernel


@bug("race", "s[0] is written by thread (0, 0, 0) and read by thread (15, 0, 0)", block=16)
def no_barrier_after_the_copy(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array(64, float32)
        i = 4 * cuda.threadIdx.x
        cp_async16_zfill(s, i, x, i, True)  # here
        cp_async_commit()
        cp_async_wait(0)
        if not wrong:
            cuda.syncthreads()
        for j in range(4):
            y[i + j] = s[63 - i - j]

    return kernel


@bug("race", "s[", block=8)
def copy_into_what_is_still_read(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array(32, float32)
        i = 4 * cuda.threadIdx.x
        for half in range(2):
            cp_async16_zfill(s, i, x, 32 * half + i, True)  # here
            cp_async_commit()
            cp_async_wait(0)
            cuda.syncthreads()
            y[32 * half + i] = s[31 - i]
            if not wrong:
                cuda.syncthreads()

    return kernel


# -- who waited for whom -------------------------------------------------------------------------------------


@bug("race", "written by thread (0, 0, 0) and read by thread (16, 0, 0) of block (0, 0, 0)", block=32)
def each_half_of_a_warp_waits_for_itself(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array(32, float32)
        i = cuda.threadIdx.x
        s[i] = x[i]  # here
        cuda.syncwarp(0xFFFF if i < 16 else 0xFFFF0000)
        y[i] = s[i ^ (16 if wrong else 1)]

    return kernel


@bug("race", "no syncwarp that both waited at", block=32)
def half_of_a_warp_waits(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array(32, float32)
        i = cuda.threadIdx.x
        s[i] = x[i]  # here
        if wrong:
            if i < 16:
                cuda.syncwarp(0xFFFF)
        else:
            cuda.syncwarp()
        if i < 16:
            y[i] = s[i + 16]

    return kernel


@bug("race", "and no syncwarp that both waited at", block=32)
def waited_often_but_not_for_each_other(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array(32, float32)
        i = cuda.threadIdx.x
        for start in range(0, 64, 32):
            s[i] = x[start + i]  # here
            mask = 0xFF << i // 8 * 8
            cuda.syncwarp(mask)
            y[start + i] = s[31 - i if wrong else i ^ 7]
            cuda.syncwarp(mask)

    return kernel


@bug("divergent warp", "lane 16 calls this with a mask, 0xffff, that does not name itself", block=32)
def waits_with_a_mask_of_others(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        y[i] = x[i]
        if i < (17 if wrong else 16):
            cuda.syncwarp(0xFFFF)  # here

    return kernel


@bug("divergent warp", "lane 0 waits here for lanes 12, 13, 14, 15 of its warp, named in its mask", block=32)
def named_lanes_never_come(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        y[i] = x[i]
        if i < (12 if wrong else 16):
            cuda.syncwarp(0xFFFF)  # here
        cuda.syncwarp()

    return kernel


def last_block(fence="before", plain=False, looked_at=True):
    """Return a kernel whose last block reads what all have written; x[63] counts, `plain`: y[4]."""

    @cuda.jit
    def kernel(x, y):
        last = cuda.shared.array(1, uint32)
        b, blocks = cuda.blockIdx.x, cuda.gridDim.x
        counter = y[blocks:]
        if cuda.threadIdx.x == 0:
            if b == 0 and plain:
                counter[0] = 0
            y[b] = x[b]  # here
            if fence == "before":
                cuda.threadfence()
            if plain:
                counter[0] += 1
                last[0] = counter[0] == blocks
            elif looked_at:
                last[0] = cuda.atomic.add(x, 63, 1) == 62 + blocks
            else:
                cuda.atomic.add(x, 63, 1)
                last[0] = b == blocks - 1
            if fence == "after":
                cuda.threadfence()
        cuda.syncthreads()
        if last[0] and cuda.threadIdx.x < blocks:
            y[8 + cuda.threadIdx.x] = y[cuda.threadIdx.x]

    return kernel


TELLS = "an atomic operation tells of what was written before it, but only if a threadfence() stands between"


@bug("race", TELLS, grid=4, block=32)
def last_block_without_a_fence(wrong):
    return last_block(fence="" if wrong else "before")


@bug("race", TELLS, grid=4, block=32)
def last_block_that_fences_too_late(wrong):
    return last_block(fence="after" if wrong else "before")


@bug("race", "blocks run in any order", grid=4, block=32)
def last_block_by_a_plain_counter(wrong):
    return last_block(plain=wrong)


@bug("race", "blocks run in any order", grid=4, block=32)
def last_block_by_its_number(wrong):
    return last_block(looked_at=not wrong)


@bug("race", "blocks run in any order", grid=2, block=64)
def fence_of_another_thread(wrong):
    @cuda.jit
    def kernel(x, y):
        last = cuda.shared.array(1, uint32)
        i = cuda.threadIdx.x
        if i < 4:
            y[4 * cuda.blockIdx.x + i] = x[i]  # here
        if not wrong:
            cuda.syncthreads()
        if i == 0:
            cuda.threadfence()
            last[0] = cuda.atomic.add(x, 63, 1) == 64
        cuda.syncthreads()
        if last[0] and i < 8:
            y[8 + i] = y[i]

    return kernel


@bug("race", "with no barrier between", block=64)
def last_warp_without_a_fence(wrong):
    @cuda.jit
    def kernel(x, y):
        s, count = cuda.shared.array(2, float32), cuda.shared.array(1, uint32)
        i = cuda.threadIdx.x
        if i == 0:
            count[0] = 0
        cuda.syncthreads()
        if i % 32 == 0:
            s[i // 32] = x[i]  # here
            if not wrong:
                cuda.threadfence_block()
            if cuda.atomic.add(count, 0, 1) == 1:
                y[0] = s[0] + s[1]

    return kernel


@bug("race", "blocks run in any order", grid=2, block=1)
def fence_that_reaches_the_block_only(wrong):
    @cuda.jit
    def kernel(x, y):
        y[cuda.blockIdx.x] = x[cuda.blockIdx.x]  # here
        if wrong:
            cuda.threadfence_block()
        else:
            cuda.threadfence()
        if cuda.atomic.add(x, 63, 1) == 64:
            y[2] = y[0] + y[1]

    return kernel


@bug(
    "race", "x[63] is read by thread (31, 0, 0) of block (1, 0, 0), and changed atomically", grid=2, block=32
)
def sum_read_while_others_add(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.grid(1)
        cuda.atomic.add(x, 63, 1)  # here
        if i == 63 and wrong:
            y[0] = x[63]
        y[i] = i

    return kernel


@bug("endless loop", "what it waits for does not happen meanwhile", grid=2, block=1)
def waits_for_a_block_that_comes_later(wrong):
    @cuda.jit
    def kernel(x, y):
        b = cuda.blockIdx.x
        if b == (0 if wrong else 1):
            while cuda.atomic.add(x, 0, 0) == 0:  # here
                pass
        cuda.atomic.add(x, 0, 1)
        y[b] = 1

    return kernel


@bug("endless loop", "this `while` has gone round 65536 times, and may never end", block=1)
def never_gets_there(wrong):
    @cuda.jit
    def kernel(x, y):
        i = 1
        while i != 8:  # here
            i += 2 if wrong else 1
        y[0] = x[i]

    return kernel


@bug("endless loop", "what it waits for does not happen", block=64)
def waits_for_a_flag_nobody_sets(wrong):
    @cuda.jit
    def kernel(x, y):
        flag = cuda.shared.array(1, uint32)
        i = cuda.threadIdx.x
        if i == 0:
            flag[0] = 0
        cuda.syncthreads()
        if i == 40 and not wrong:
            cuda.atomic.exch(flag, 0, 1)
        if i < 32:
            while cuda.atomic.max(flag, 0, 0) == 0:  # here
                pass
        y[i] = x[i]

    return kernel


# -- what an index is --------------------------------------------------------------------------------------


@bug("across the end of a row", "4 elements from s[0, 4] on go past the end of their row", block=1)
def four_across_the_end_of_a_row(wrong):
    columns = 6 if wrong else 8

    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array((8, columns), float32)
        for i in range(8):
            for j in range(columns):
                s[i, j] = x[8 * i + j]
        a, b, c, d = load4(s, (0, 4))  # here
        y[0] = a + b + c + d

    return kernel


@bug("across the end of a row", "4 elements from s[7, 0] on lie side by side in memory, but not along axis 1")
def four_down_a_column(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array((8, 8), float32)
        i = cuda.threadIdx.x
        s[i // 8, i % 8] = x[i]
        cuda.syncthreads()
        part = s[:, ::2] if wrong else s
        if i == 7:
            a, b, c, d = load4(part, (7, 0))  # here
            y[0] = a + b + c + d

    return kernel


@bug("across the end of a row", "go past the end of their row: axis 1 of s has 6 elements", block=1)
def copies_across_the_end_of_a_row(wrong):
    columns = 6 if wrong else 8

    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array((8, columns), float32)
        cp_async16_zfill(s, (0, 4), x, 0, True)  # here
        cp_async_commit()
        cp_async_wait(0)
        y[0] = s[0, 4]

    return kernel


@bug("index that is no whole number", "x[0.5]: an index is a whole number, and this is none (/ makes a float")
def half_an_index(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        y[i] = x[i]
        if i == 1:
            y[i] = x[i / 2 if wrong else i // 2]  # here

    return kernel


@bug("index that is no whole number", "x[2.0]")
def half_of_an_even_number(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        y[i] = x[i]
        half = i / 2 if wrong else i // 2
        if i == 4:
            y[i] = x[half]  # here

    return kernel


@bug("index that is no whole number", "x[slice(None, 4.0, None)]")
def half_an_end_of_a_slice(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        y[i] = x[i]
        if i == 0:
            part = x[: 8 / 2 if wrong else 8 // 2]  # here
            y[i] = part[0]

    return kernel


@bug("index that is no whole number", "a has the shape 4.0")
def half_a_size(wrong):
    @cuda.jit
    def kernel(x, y):
        a = cuda.local.array(8 / 2 if wrong else 8 // 2, float32)  # here
        i = cuda.threadIdx.x
        a[0] = x[i]
        y[i] = a[0]

    return kernel


@bug("index that is no whole number", "a[1.0]")
def half_an_index_of_a_local_array(wrong):
    @cuda.jit
    def kernel(x, y):
        a = cuda.local.array(4, float32)
        i = cuda.threadIdx.x
        a[0] = a[1] = x[i]
        y[i] = a[2 / 2 if wrong else 1]  # here

    return kernel


@bug("index that is no whole number", "x[0.0]")
def half_an_index_of_an_atomic(wrong):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        cuda.atomic.add(x, i / 32 if wrong else i // 32, 1)  # here
        y[i] = i

    return kernel


@bug("size known at run time only", "the shape of this shared array, n, is known at run time only")
def shared_size_from_an_argument(wrong):
    @cuda.jit
    def late(x, y):
        n = x.size
        s = cuda.shared.array(n, float32)  # here
        s[cuda.threadIdx.x] = y[cuda.threadIdx.x] = x[0]

    @cuda.jit
    def fixed(x, y):
        n = 64
        s = cuda.shared.array(n, float32)
        s[cuda.threadIdx.x] = y[cuda.threadIdx.x] = x[0]

    return late if wrong else fixed


@bug("size known at run time only", "the shape of this shared array, (2, cuda.blockDim.x), is known at run")
def shared_size_from_the_launch(wrong):
    @cuda.jit
    def late(x, y):
        s = cuda.shared.array((2, cuda.blockDim.x), float32)  # here
        s[0, cuda.threadIdx.x] = x[0]
        y[cuda.threadIdx.x] = 0

    @cuda.jit
    def fixed(x, y):
        s = cuda.shared.array((2, 64), float32)
        s[0, cuda.threadIdx.x] = x[0]
        y[cuda.threadIdx.x] = 0

    return late if wrong else fixed


@bug("size known at run time only", "the shape of this local array, size, is known at run time only")
def local_size_of_a_device_function(wrong):
    @cuda.jit(device=True)
    def late(x, size):
        a = cuda.local.array(size, float32)  # here
        a[0] = x[0]
        return a[0]

    @cuda.jit(device=True)
    def fixed(x, size):
        a = cuda.local.array(4, x.dtype)
        a[0] = x[0]
        return a[0]

    one = late if wrong else fixed

    @cuda.jit
    def kernel(x, y):
        y[cuda.threadIdx.x] = one(x, 4)

    return kernel


@bug(
    "size known at run time only", "the dtype of this shared array, kind, is known at run time only", block=1
)
def shared_type_from_an_argument(wrong):
    @cuda.jit(device=True)
    def late(x, kind):
        s = cuda.shared.array(4, kind)  # here
        s[0] = x[0]
        return s[0]

    @cuda.jit
    def kernel(x, y):
        y[0] = late(x, float32) if wrong else x[0]

    @cuda.jit
    def mended(x, y):
        y[0] = x[0]

    return kernel if wrong else mended


# -- unsigned numbers below zero ---------------------------------------------------------------------------


@bug(
    "wrapped below zero", "n - uint32(4) is -1: as an unsigned number it is 4294967295 (of 32 bits), and lets"
)
def bound_that_wraps(wrong):
    @cuda.jit
    def kernel(x, y):
        i, n = uint32(cuda.threadIdx.x), uint32(3 if wrong else 30)
        if i < n - uint32(4):  # here
            y[i] = x[i]

    return kernel


@bug("wrapped below zero", "n - 4 is -1")
def bound_that_is_cast(wrong):
    @cuda.jit
    def kernel(x, y):
        i, n = cuda.threadIdx.x, 3 if wrong else 30
        limit = uint32(n - 4)  # here
        while i < limit:
            y[i] = x[i]
            i += 64

    return kernel


@bug("wrapped below zero", "n - k is -2")
def bound_that_lets_nobody_return(wrong):
    @cuda.jit
    def kernel(x, y):
        n, k = uint32(3 if wrong else 30), uint32(5)
        n -= k  # here
        i = uint32(cuda.threadIdx.x)
        if i >= n:
            return
        y[i] = x[i]

    return kernel


@bug(
    "wrapped below zero",
    "i - uint32(1) is -1: as an unsigned number it is 4294967295 (of 32 bits), and is an index",
)
def index_that_wraps(wrong):
    @cuda.jit
    def kernel(x, y):
        i = uint32(cuda.threadIdx.x)
        left = uint32(i - uint32(1))  # here
        if wrong or left < x.size:
            y[i] = x[left]

    return kernel


@bug("wrapped below zero", "i - 1 is -1: a literal makes it a signed number, which no upper bound stops")
def below_zero_is_below_every_bound(wrong):
    @cuda.jit
    def kernel(x, y):
        i, n = uint32(cuda.threadIdx.x), uint32(x.size)
        if i - 1 < n if wrong else 0 <= i - 1 < n:  # here
            y[i] = x[i - 1]

    return kernel


@bug("index that is no whole number", "range() goes round 32.0 times", block=1)
def half_as_many_rounds(wrong):
    @cuda.jit
    def kernel(x, y):
        for i in range(x.size / 2 if wrong else x.size // 2):  # here
            y[i] = x[i]

    return kernel


@bug("wrapped below zero", "and is an index", block=1)
def counts_down_to_zero_and_on(wrong):
    @cuda.jit
    def kernel(x, y):
        i = uint32(63)
        while i >= uint32(0) if wrong else i > uint32(0):
            y[i] = x[i]
            i -= uint32(1)  # here

    return kernel


@bug("wrapped below zero", "and a loop goes round as often", block=1)
def rounds_that_wrap(wrong):
    @cuda.jit
    def kernel(x, y):
        n = uint32(3 if wrong else 30)
        for i in range(uint32(n - uint32(4))):  # here
            y[i] = x[i]

    return kernel


# -- copies in flight --------------------------------------------------------------------------------------


IN_FLIGHT = "written while a copy is in flight"


@bug(
    IN_FLIGHT,
    "x[1] is written by thread (0, 0, 0) of block (0, 0, 0) while cp.async still copies from it",
    block=16,
)
def source_overwritten_by_the_same_thread(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array(64, float32)
        i = 4 * cuda.threadIdx.x
        cp_async16_zfill(s, i, x, i, True)
        cp_async_commit()
        if not wrong:
            cp_async_wait(0)
        x[i + 1] = 0  # here
        cp_async_wait(0)
        y[i] = s[i]

    return kernel


@bug(
    IN_FLIGHT, "while cp.async still copies from it, for thread (15, 0, 0): wait for the copy first", block=16
)
def source_overwritten_by_another_thread(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array(64, float32)
        i = 4 * cuda.threadIdx.x
        cp_async16_zfill(s, i, x, i, True)
        cp_async_commit()
        if not wrong:
            cp_async_wait(0)
        cuda.syncthreads()
        x[63 - i] = 0  # here
        cuda.syncthreads()
        cp_async_wait(0)
        y[i] = s[i]

    return kernel


@bug("race", "x[3] is written by thread (15, 0, 0) and read by thread (0, 0, 0)", block=16)
def source_overwritten_before_a_barrier(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array(64, float32)
        i = 4 * cuda.threadIdx.x
        cp_async16_zfill(s, i, x, i, True)
        cp_async_commit()
        cuda.syncthreads()
        cp_async_wait(0)
        if not wrong:
            cuda.syncthreads()
        x[63 - i] = 0  # here
        y[i] = s[i]

    return kernel


@bug(
    IN_FLIGHT,
    "s[0] is written by thread (0, 0, 0) of block (0, 0, 0) while cp.async still copies to it",
    block=16,
)
def target_overwritten_in_flight(wrong):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array(64, float32)
        i = 4 * cuda.threadIdx.x
        cp_async16_zfill(s, i, x, i, True)
        cp_async_commit()
        if not wrong:
            cp_async_wait(0)
        s[i] = 0  # here
        cp_async_wait(0)
        y[i] = s[i]

    return kernel


# -- the tests ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BUGS)
def test_bug_is_found(name):
    factory, kind, words, *how = BUGS[name]
    with pytest.raises(simulator.KernelError) as caught:
        launch(factory, True, *how)
    found = [mistake for mistake in caught.value.mistakes if mistake.kind == kind]
    assert words in " ".join(str(mistake) for mistake in found), caught.value
    line = marked_line(factory)
    assert any(line in (m.line, m.other and m.other.line) for m in found), caught.value
    assert f"{__name__}.py:{line}   " in str(caught.value)
    assert isinstance(caught.value, ConvError)


@sampled(20)
@pytest.mark.parametrize("name", BUGS)
def test_bug_is_found_without_a_trace(name):
    factory, kind, _, *how = BUGS[name]
    with pytest.raises(simulator.KernelError) as caught:
        launch(factory, True, *how, traced=False)
    assert kind in {mistake.kind for mistake in caught.value.mistakes}


@pytest.mark.parametrize("name", ["shuffle in a branch", "waits for a flag nobody sets"])
def test_after_a_mistake_no_thread_waits_for_ever(name, monkeypatch):
    """Python would clear them away in the midst of anything: in Python 3.15 greenlet 3.5.6 crashes then."""
    threads = []

    class Kept(greenlet):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            threads.append(self)

    monkeypatch.setattr(thread_block, "greenlet", Kept)
    factory, _, _, *how = BUGS[name]
    with pytest.raises(simulator.KernelError):
        launch(factory, True, *how)
    assert len(threads) == how[1]
    assert not any(threads)  # a greenlet is true from its start to its end


@sampled(20)
@pytest.mark.parametrize("name", BUGS)
def test_mended_kernel_passes(name):
    factory, _, _, *how = BUGS[name]
    launch(factory, False, *how)


# -- what is right, but slow: counted, at its line ---------------------------------------------------------


def reads_down_a_column(slow):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        y[i] = x[32 * i] if slow else x[i]  # here

    return kernel


def all_lanes_in_one_bank(slow):
    @cuda.jit
    def kernel(x, y):
        s = cuda.shared.array((32, 32), float32)
        i = cuda.threadIdx.x
        for j in range(32):
            s[j, i] = x[i]
        cuda.syncthreads()
        y[i] = s[i, 3] if slow else s[3, i]  # here

    return kernel


def writes_beside_the_sectors(slow):
    @cuda.jit
    def kernel(x, y):
        i = cuda.threadIdx.x
        y[i + slow] = x[i]  # here

    return kernel


@pytest.mark.parametrize(
    ("factory", "kind", "name", "slow", "least"),
    [
        (reads_down_a_column, "ld", "sectors", 32, 4),
        (all_lanes_in_one_bank, "ld", "wavefronts", 32, 1),
        (writes_beside_the_sectors, "st", "sectors", 5, 4),
    ],
)
def test_slow_accesses_are_counted_at_their_line(factory, kind, name, slow, least):
    def count(wrong):
        trace = simulator.run(factory(wrong), 1, 32, np.ones(1024, np.float32), np.ones(33, np.float32))
        trace.check()
        sites = [site for site in trace.sites() if (site.line, site.kind) == (marked_line(factory), kind)]
        counts = [getattr(site, name) for site in sites if getattr(site, name)]
        assert {getattr(site, "ideal_" + name) for site in sites if getattr(site, name)} == {least}
        return sum(counts)

    assert (count(1), count(0)) == (slow, least)
