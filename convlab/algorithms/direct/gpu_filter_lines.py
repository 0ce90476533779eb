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
"""

from __future__ import annotations

from functools import lru_cache

from convlab.algorithms.direct import gpu_filter_patch
from convlab.algorithms.direct.gpu_filter_patch import WIDE, loads_for
from convlab.gpu.device import current
from convlab.gpu.gemm.launch import wide
from convlab.gpu.kernels import device_function, kernel
from convlab.gpu.numba_cuda import cuda, number_type, uint64
from convlab.gpu.ptx import load4
from convlab.gpu.tensor_cores.mma import cp_async16_zfill, cp_async_commit, cp_async_wait
from convlab.gpu.unroll import unrolled
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div

LANES = 32  # threads of a block
ACROSS, DOWN = LANES * WIDE, 64  # outputs of a block: of a line, and lines
AHEAD = 6  # lines on their way
RING = 8  # lines in shared memory: those, the one that is read, and one that may still be read by others
REGISTERS = 128


def refuses(problem: ConvProblem) -> str | None:
    """Say if lines cannot be copied 16 bytes at a time, or if the filter is too large."""
    if problem.dtype != "float32" or problem.W % 4:
        return f"dtype={problem.dtype}, W={problem.W}; copies of 16 bytes need float32, four by four"
    numbers = problem.R * (problem.S + WIDE) + 4 * loads_for(problem.S, problem.padding[1][0])
    if numbers > 100:
        return f"the {problem.R}x{problem.S} weights, and the sums, do not fit in the registers of a thread"
    return None


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
    copies = LANES - 1 + loads  # of a line, 16 bytes each
    line_size = 4 * copies
    ring_size = RING * line_size

    @device_function(forceinline=True)
    def bring(line, x, ring, first, row, col, H, W):
        """Begin to copy the line-th of a block's lines; `first` is where the picture begins."""
        inside = row + line < H  # a row above the picture is a very large one
        at = first + uint64(row + line) * W
        to = line % RING * line_size
        for part in range(0, copies, LANES):
            copy = part + cuda.threadIdx.x
            if copy < copies:
                place = col + 4 * copy  # left of the picture a very large one, too
                cp_async16_zfill(ring, to + 4 * copy, x, at + uint64(place), inside and place < W)

    @device_function(forceinline=True)
    def add(i, pixels, sums, weights):
        for j in range(WIDE):
            total = sums[(i + 1) * WIDE + j] if i + 1 < R else number(0)
            for s in range(S):
                total += pixels[skip + j + s] * weights[(R - 1 - i) * S + s]
            sums[i * WIDE + j] = total

    add_everywhere = unrolled(add, R)

    @kernel(max_registers=REGISTERS)
    def lines(x, w, y, H, W, P, Q, top, across, down):
        ring = cuda.shared.array(ring_size, number, alignment=16)
        sums = cuda.local.array(size, number)
        pixels = cuda.local.array(width, number)
        weights = cuda.local.array(taps, number)
        rest, tile_q = divmod(cuda.blockIdx.x, across)
        n, tile_p = divmod(rest, down)
        p, q = tile_p * DOWN, tile_q * ACROSS
        row, col = p - top, q - ahead  # the first pixel; very large if there is none
        first = uint64(n * H) * W
        count = (DOWN if p + DOWN < P else P - p) + R - 1  # lines of pixels
        for line in range(AHEAD):
            if line < count:
                bring(line, x, ring, first, row, col, H, W)
            cp_async_commit()
        begin(w, weights, sums)
        q += cuda.threadIdx.x * WIDE  # mine
        to = uint64(n * P + p) * Q + q
        for line in range(count):
            if line + AHEAD < count:
                bring(line + AHEAD, x, ring, first, row, col, H, W)
            cp_async_commit()  # of no copies at the end: so a line is a group
            cp_async_wait(AHEAD)
            cuda.syncwarp()  # all lanes have this line, and nobody reads the one before the last any more
            here = line % RING * line_size + cuda.threadIdx.x * WIDE
            for k in range(loads):
                a, b, c, d = load4(ring, here + 4 * k)
                pixels[4 * k] = a
                pixels[4 * k + 1] = b
                pixels[4 * k + 2] = c
                pixels[4 * k + 3] = d
            add_everywhere(0, pixels, sums, weights)
            if line + 1 >= R:
                if q < Q:
                    store_line(y, to, q, Q, sums, 0)
                to += Q

    return lines


def run(problem, x, w, workspace, y, threads):
    """Fill y (N, P, Q, 1) with the convolution of x (N, H, W, 1) and w (1, R, S, 1)."""
    if wide(4, problem.W, x) != 4:  # x lies so that no copy of 16 bytes can begin at its lines
        gpu_filter_patch.run(problem, x, w, workspace, y, threads)
        return
    (top, _), (left, _) = problem.padding
    across, down = ceil_div(problem.Q, ACROSS), ceil_div(problem.P, DOWN)
    kernel = lines(problem.R, problem.S, left, wide(4, problem.Q, y))
    x, w, y = (array.reshape(-1) for array in (x, w, y))
    sizes = problem.H, problem.W, problem.P, problem.Q
    current().launch(kernel, problem.N * down * across, LANES, x, w, y, *sizes, top, across, down)
