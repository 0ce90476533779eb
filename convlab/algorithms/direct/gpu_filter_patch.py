"""The fourth rung of `gpu_filter`: a thread computes a patch of outputs in its registers.

A thread has `tall` x 4 outputs. It walks down the tall + R - 1 lines of pixels under them; each line is
loaded once, four numbers at a time, and added to every sum that wants it:

    sums[i, j] += pixels[j + s] * w[r, s]        for every r and s, where i + r is this line

The weights stay in registers too. All loops are written out (`convlab.gpu.unroll`), so that a line of a 7x7
filter is 3 loads and 196 multiply-adds: there is one kernel for each size of filter.

Loads begin at multiples of four, as they must. So up to three pixels left of the window come along unused.
"""

from __future__ import annotations

from functools import lru_cache

from convlab.gpu.device import current
from convlab.gpu.gemm.launch import wide
from convlab.gpu.kernels import device_function, kernel
from convlab.gpu.numba_cuda import cuda, number_type, uint64
from convlab.gpu.ptx import load4, store4
from convlab.gpu.unroll import unrolled
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div

BLOCK = (32, 8)  # threads of a block: along a line, and down
WIDE = 4  # outputs of a thread along a line: one store
BUDGETS = (100, 128), (200, 255)  # numbers that a thread keeps, and the registers that they need


def plan_for(problem: ConvProblem) -> tuple[int, int] | None:
    """Return (tall, registers): the most lines of outputs whose numbers all fit in registers; or None."""
    pixels = 4 * loads_for(problem.S, problem.padding[1][0])
    for limit, registers in BUDGETS:
        for tall in (8, 4, 2):
            numbers = problem.R * problem.S + pixels + tall * WIDE
            if numbers * problem.itemsize // 4 <= limit:
                return tall, registers
    return None


def loads_for(S: int, left: int) -> int:
    """Return how many loads of four pixels cover the windows of four outputs."""
    return ceil_div(-left % 4 + WIDE + S - 1, 4)


def refuses(problem: ConvProblem) -> str | None:
    """Say if the filter is too large."""
    if plan_for(problem) is None:
        return f"the {problem.R}x{problem.S} weights do not fit in the registers of a thread"
    return None


def begins(number, taps: int, size: int):
    """Return the device function with which a thread begins: its `taps` weights loaded, its `size` sums 0."""
    fours = taps // 4 * 4

    @device_function(forceinline=True)
    def begin(w, weights, sums):
        for t in range(0, fours, 4):
            a, b, c, d = load4(w, t)
            weights[t] = a
            weights[t + 1] = b
            weights[t + 2] = c
            weights[t + 3] = d
        for t in range(fours, taps):
            weights[t] = w[t]
        for i in range(size):
            sums[i] = number(0)

    return begin


def stores(store: int):
    """Return the device function that stores `WIDE` sums at once if `store` is 4, or those that y has."""

    @device_function(forceinline=True)
    def store_line(y, at, q, Q, sums, s):
        if store == 4:
            store4(y, at, sums[s], sums[s + 1], sums[s + 2], sums[s + 3])
        else:
            for j in range(WIDE):
                if q + j < Q:
                    y[at + j] = sums[s + j]

    return store_line


@lru_cache
def patch(dtype: str, R: int, S: int, left: int, tall: int, registers: int, load: int, store: int):
    """Return the kernel for filters of R x S and `left` columns of padding; x, w and y are flat.

    `load` and `store` are how many numbers are moved at once: 4 if W, or Q, is a multiple of 4, else 1.
    """
    number = number_type(dtype)
    skip = -left % 4  # pixels that come along unused
    ahead = left + skip  # how far left of an output its first load begins
    loads = loads_for(S, left)
    width, size, taps, lines = 4 * loads, tall * WIDE, R * S, tall + R - 1
    begin, store_line = begins(number, taps, size), stores(store)

    @device_function(forceinline=True)
    def four_inside(x, at, row, col, H, W):
        if load == 4:
            return load4(x, at)
        return x[at], x[at + 1], x[at + 2], x[at + 3]

    @device_function(forceinline=True)
    def four_if_inside(x, at, row, col, H, W):
        zero = number(0)
        if load == 4:
            return load4(x, at) if col < W else (zero, zero, zero, zero)
        a = x[at] if col < W else zero
        b = x[at + 1] if col + 1 < W else zero
        c = x[at + 2] if col + 2 < W else zero
        d = x[at + 3] if col + 3 < W else zero
        return a, b, c, d

    @device_function(forceinline=True)
    def add(r, line, sums, pixels, weights):
        i = line - r  # the outputs that meet this line of pixels with row r of the filter
        if i < tall:
            for s in range(S):
                for j in range(WIDE):
                    sums[i * WIDE + j] += pixels[skip + j + s] * weights[r * S + s]

    add_everywhere = unrolled(add, R)

    def walk(four, outside):
        """Return the device function that adds line after line, loaded by `four`; some may lie `outside`."""

        @device_function(forceinline=True)
        def add_line(line, x, at, row, col, H, W, sums, pixels, weights):
            if not outside or row + line < H:
                for k in range(loads):
                    a, b, c, d = four(x, at + line * W + 4 * k, row, col + 4 * k, H, W)
                    pixels[4 * k] = a
                    pixels[4 * k + 1] = b
                    pixels[4 * k + 2] = c
                    pixels[4 * k + 3] = d
                add_everywhere(0, line, sums, pixels, weights)

        return unrolled(add_line, lines)

    inside, border = walk(four_inside, False), walk(four_if_inside, True)

    @device_function(forceinline=True)
    def put(i, y, at, p, q, P, Q, sums):
        if p + i < P:
            store_line(y, at + i * Q, q, Q, sums, i * WIDE)

    put_all = unrolled(put, tall)

    @kernel(max_registers=registers)
    def patch(x, w, y, H, W, P, Q, top, across, down):
        sums = cuda.local.array(size, number)
        pixels = cuda.local.array(width, number)
        weights = cuda.local.array(taps, number)
        rest, tile_q = divmod(cuda.blockIdx.x, across)
        n, tile_p = divmod(rest, down)
        p = (tile_p * 8 + cuda.threadIdx.y) * tall  # my first output
        q = (tile_q * 32 + cuda.threadIdx.x) * WIDE
        if p < P and q < Q:
            begin(w, weights, sums)
            row, col = p - top, q - ahead  # the first pixel loaded; very large if there is none
            # 64 bits: lines lie a constant apart, and above the first picture a place is truly below 0.
            at = uint64(n * H + p) * W + q - uint64(top * W + ahead)
            if row < H and row + lines <= H and col < W and col + width <= W:
                inside(0, x, at, row, col, H, W, sums, pixels, weights)
            else:
                border(0, x, at, row, col, H, W, sums, pixels, weights)
            put_all(0, y, (n * P + p) * Q + q, p, q, P, Q, sums)

    return patch


def run(problem, x, w, workspace, y, threads):
    """Fill y (N, P, Q, 1) with the convolution of x (N, H, W, 1) and w (1, R, S, 1)."""
    (top, _), (left, _) = problem.padding
    tall, registers = plan_for(problem)
    across, down = ceil_div(problem.Q, WIDE * BLOCK[0]), ceil_div(problem.P, tall * BLOCK[1])
    load, store = wide(4, problem.W, x), wide(4, problem.Q, y)
    kernel = patch(problem.dtype, problem.R, problem.S, left, tall, registers, load, store)
    x, w, y = (array.reshape(-1) for array in (x, w, y))
    sizes = problem.H, problem.W, problem.P, problem.Q
    current().launch(kernel, problem.N * down * across, BLOCK, x, w, y, *sizes, top, across, down)
