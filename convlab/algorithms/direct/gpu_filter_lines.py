"""The last rung of `gpu_filter`: a warp goes down the picture, and the lines it needs are on their way.

A thread has 4 neighbouring columns of outputs. A line of pixels is part of R lines of outputs, so R sums of
each column are begun and not done:

    for each line of pixels:
        sums[i] = sums[i + 1] + the line, times row R - 1 - i of the filter      for every i; sums[R] is 0
        store sums[0], which is done

What is done moves out, and the others move up, for nothing: a multiply-add writes elsewhere than it reads. So
this is a loop, and a short one: its instructions stay where they are fetched from. Of the rung below no warp
executes any twice, and of a filter of 7 x 7 they are some 58 KB, while the nearest cache for instructions has
12 KiB on a V100 (Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018).

A line is copied to shared memory `AHEAD` lines before it is wanted: the copy is begun, and the thread goes on
(`cp.async`). What lies outside the picture is filled with zeros on the way, so there is no border to be
treated apart. And a block is one warp: nobody else reads its lines, so there is no barrier.

Whatever is no multiply-add takes a multiply-add's place. So the loop does `TURN` lines at a time and waits
once for both; no thread asks if a copy is its own, for who has none fills with zeros what nobody reads; and
places are counted up, not worked out: a turn of a filter of 7 x 7 has 392 multiply-adds and some 50 others.
"""

from __future__ import annotations

from functools import lru_cache

from convlab.algorithms.direct import gpu_filter_patch
from convlab.algorithms.direct.gpu_filter_patch import WIDE, loads_for
from convlab.gpu.device import current, device_speeds, lacks_ampere
from convlab.gpu.gemm.launch import wide
from convlab.gpu.kernels import device_function, kernel
from convlab.gpu.numba_cuda import cuda, number_type, uint64
from convlab.gpu.occupancy import occupancy
from convlab.gpu.ptx import load4
from convlab.gpu.tensor_cores.mma import cp_async16_zfill, cp_async_commit, cp_async_wait
from convlab.gpu.unroll import unrolled
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div

LANES = 32  # threads of a block
ACROSS = LANES * WIDE  # outputs of a line of a block
LEAST, MOST = 16, 128  # lines of outputs of a block
TURN = 2  # lines of pixels that are added between two waits
AHEAD = 6  # lines on their way
RING = AHEAD + TURN  # lines in shared memory
LINE = 2 * ACROSS  # numbers of a line there: each thread copies four, and four more
REGISTERS = 128


def refuses(problem: ConvProblem) -> str | None:
    """Say if lines cannot be copied 16 bytes at a time, if the filter is too large, or the GPU too old."""
    if problem.dtype != "float32" or problem.W % 4:
        return f"dtype={problem.dtype}, W={problem.W}; copies of 16 bytes need float32, four by four"
    numbers = problem.R * (problem.S + WIDE) + 4 * loads_for(problem.S, problem.padding[1][0])
    if numbers > 100:
        return f"the {problem.R}x{problem.S} weights, and the sums, do not fit in the registers of a thread"
    return lacks_ampere()


def tall_for(problem: ConvProblem) -> int:
    """Return the lines of outputs of a block: as few as let all blocks be held at once, within limits."""
    strips, speeds = problem.N * ceil_div(problem.Q, ACROSS), device_speeds()  # each of a block's width
    held = occupancy(speeds.arch, LANES, REGISTERS, RING * LINE * problem.itemsize).blocks
    down = max(1, held * speeds.multiprocessors // strips)
    return min(max(LEAST, ceil_div(problem.P, down)), MOST)


@lru_cache
def lines(R: int, S: int, left: int, store: int):
    """Return the kernel for filters of R x S and `left` columns of padding; x, w and y are flat.

    `store` is how many numbers are stored at once: 4 if Q is a multiple of 4, else 1.
    """
    number = number_type("float32")
    skip = -left % 4  # pixels that come along unused
    ahead = left + skip  # how far left of an output its first pixel begins
    loads = loads_for(S, left)
    width, size, taps = 4 * loads, R * WIDE, R * S
    begin, store_line = gpu_filter_patch.begins(number, taps, size), gpu_filter_patch.stores(store)
    more = loads - 1  # copies of a line beside one of each thread
    ring_size, later = RING * LINE, AHEAD // TURN - 1  # numbers; turns that are still on their way

    @device_function(forceinline=True)
    def bring(x, ring, to, at, row, bottom, col, behind, W):
        for i in range(TURN):
            inside = row + i < bottom  # a row above the picture is a very large one
            cp_async16_zfill(ring, to + i * LINE, x, at, inside and col < W)
            cp_async16_zfill(ring, to + i * LINE + ACROSS, x, at + ACROSS, inside and behind < W)
            at += W
        cp_async_commit()
        return at

    @device_function(forceinline=True)
    def add(i, pixels, sums, weights):
        for j in range(WIDE):
            total = sums[(i + 1) * WIDE + j] if i + 1 < R else number(0)
            for s in range(S):
                total += pixels[skip + j + s] * weights[(R - 1 - i) * S + s]
            sums[i * WIDE + j] = total

    add_everywhere = unrolled(add, R)

    @device_function(forceinline=True)
    def add_line(i, ring, here, pixels, sums, weights, y, to, q, Q, done, tall):
        for k in range(loads):
            a, b, c, d = load4(ring, here + i * LINE + 4 * k)
            pixels[4 * k] = a
            pixels[4 * k + 1] = b
            pixels[4 * k + 2] = c
            pixels[4 * k + 3] = d
        add_everywhere(0, pixels, sums, weights)
        if done + i < tall:
            store_line(y, to + i * Q, q, Q, sums, 0)

    add_lines = unrolled(add_line, TURN)

    @kernel(max_registers=REGISTERS)
    def lines(x, w, y, H, W, P, Q, top, across, down, tall):
        ring = cuda.shared.array(ring_size, number, alignment=16)
        sums = cuda.local.array(size, number)
        pixels = cuda.local.array(width, number)
        weights = cuda.local.array(taps, number)
        rest, tile_q = divmod(cuda.blockIdx.x, across)
        n, tile_p = divmod(rest, down)
        p, q = tile_p * tall, tile_q * ACROSS + cuda.threadIdx.x * WIDE  # my first output
        tall = min(tall, P - p)
        count = tall + R - 1  # lines of pixels
        row, col = p - top, q - ahead  # the first pixel that I copy; very large if there is none
        behind = col + ACROSS if cuda.threadIdx.x < more else W
        bottom = min(row + count, H)
        # 64 bits: lines lie a constant apart, and above the first picture a place is truly below 0.
        at = uint64(n * H + p) * W + q - uint64(top * W + ahead)
        here = uint64(cuda.threadIdx.x * WIDE)
        read = here + AHEAD * LINE  # what has been read, and is filled anew
        for line in range(0, AHEAD, TURN):
            at = bring(x, ring, here + line * LINE, at, row + line, bottom, col, behind, W)
        begin(w, weights, sums)
        to = (n * P + p) * Q + q - (R - 1) * Q
        if q >= Q:
            tall = 0  # none of these is mine
        line = 0
        while line < count:
            cp_async_wait(later)
            cuda.syncwarp()  # all lanes have these lines, and nobody reads those before them any more
            at = bring(x, ring, read, at, row + line + AHEAD, bottom, col, behind, W)
            add_lines(0, ring, here, pixels, sums, weights, y, to, q, Q, line - (R - 1), tall)
            read, here = here, (here + TURN * LINE) % ring_size
            to += TURN * Q
            line += TURN
        cp_async_wait(0)  # those begun last: zeros, but who ends must have no copy on its way

    return lines


def run(problem, x, w, workspace, y, threads):
    """Fill y (N, P, Q, 1) with the convolution of x (N, H, W, 1) and w (1, R, S, 1)."""
    if wide(4, problem.W, x) != 4:  # no copy of 16 bytes can begin at lines that lie badly
        gpu_filter_patch.run(problem, x, w, workspace, y, threads)
        return
    tall, ((top, _), (left, _)) = tall_for(problem), problem.padding
    across, down = ceil_div(problem.Q, ACROSS), ceil_div(problem.P, tall)
    kernel = lines(problem.R, problem.S, left, wide(4, problem.Q, y))
    x, w, y = (array.reshape(-1) for array in (x, w, y))
    sizes = problem.H, problem.W, problem.P, problem.Q
    current().launch(kernel, problem.N * down * across, LANES, x, w, y, *sizes, top, across, down, tall)
