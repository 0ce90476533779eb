"""The last rung of `convlab.algorithms.direct.gpu`: what a block needs is fetched once, into shared memory.

    for a piece of the channels:
        patch   = x under the block's tile of pixels, with the halo      all threads copy
        weights = those of the block's filters
        sums   += patch * weights                                        each thread for its output

A thread still computes one output. But a number of x is fetched once a block instead of once for each window
and filter it is in. The price is shared memory, and two waits for each piece.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from convlab.gpu.device import current
from convlab.gpu.kernels import kernel
from convlab.gpu.model.work import Demand, Work
from convlab.gpu.numba_cuda import cuda, number_type
from convlab.gpu.occupancy import WARP
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div

LANES = 32  # filters of a block
TILE = (2, 4)  # output pixels of a block: rows, columns
SHARED = 20 * 1024  # bytes for the patch of x, and as many for the weights
STEP, FETCH = 17, 30  # instructions of a multiply-add, and of a number that is fetched


@lru_cache
def staged(dtype: str, shared: int = SHARED):
    """Return the kernel for TILE output pixels a block, with twice `shared` bytes of shared memory.

    A block computes LANES filters of a tile of pixels, a piece of the channels after the other: `chunk` of
    them at once, as many as fit.
    """
    number = number_type(dtype)
    tile_p, tile_q = TILE
    size = shared // np.dtype(dtype).itemsize
    threads = LANES * tile_p * tile_q

    @kernel
    def direct(x, w, y, stride, corner, dilation, chunk):
        patch = cuda.shared.array(size, number)  # (rows, cols, width) of x
        weights = cuda.shared.array(size, number)  # (R, S, width, LANES)
        H, W, P, Q = x.shape[1], x.shape[2], y.shape[1], y.shape[2]
        R, S, channels, filters = w.shape[1:]
        rows = (tile_p - 1) * stride[0] + (R - 1) * dilation[0] + 1  # of the patch under a tile
        cols = (tile_q - 1) * stride[1] + (S - 1) * dilation[1] + 1
        rest, tile_col = divmod(cuda.blockIdx.x, (Q + tile_q - 1) // tile_q)
        n, tile_row = divmod(rest, (P + tile_p - 1) // tile_p)
        g, f0 = divmod(cuda.blockIdx.y, (filters + LANES - 1) // LANES)
        f0 *= LANES
        top = tile_row * tile_p * stride[0] - corner[0]
        left = tile_col * tile_q * stride[1] - corner[1]
        lane = cuda.threadIdx.x  # my filter
        i, j = divmod(cuda.threadIdx.y, tile_q)  # my output in the tile
        me = cuda.threadIdx.y * LANES + lane
        total = number(0)
        for c0 in range(0, channels, chunk):
            width = min(chunk, channels - c0)
            for at in range(me, rows * cols * width, threads):
                rest, c = divmod(at, width)
                row, col = divmod(rest, cols)
                row += top
                col += left
                if row < H and col < W:  # above the picture, or left of it, they are very large
                    patch[at] = x[n, row, col, g * channels + c0 + c]
                else:
                    patch[at] = number(0)
            for at in range(me, R * S * width * LANES, threads):
                rest, f = divmod(at, LANES)
                tap, c = divmod(rest, width)
                if f0 + f < filters:
                    weights[at] = w[g, tap // S, tap % S, c0 + c, f0 + f]
            cuda.syncthreads()  # all is there before anybody reads it
            if f0 + lane < filters:
                for r in range(R):
                    for s in range(S):
                        row, col = i * stride[0] + r * dilation[0], j * stride[1] + s * dilation[1]
                        pixel, tap = (row * cols + col) * width, (r * S + s) * width
                        for c in range(width):
                            total += patch[pixel + c] * weights[(tap + c) * LANES + lane]
            cuda.syncthreads()  # all have read before anybody writes the next piece
        p, q = tile_row * tile_p + i, tile_col * tile_q + j
        if p < P and q < Q and f0 + lane < filters:
            y[n, p, q, g * filters + f0 + lane] = total

    return direct


def chunk_of(problem: ConvProblem, shared: int = SHARED) -> int:
    """Return how many channels of the patch and of the weights fit in `shared` bytes each; maybe none."""
    (sp, sq), (dr, ds) = problem.stride, problem.dilation
    rows, cols = (TILE[0] - 1) * sp + (problem.R - 1) * dr + 1, (TILE[1] - 1) * sq + (problem.S - 1) * ds + 1
    widest = max(rows * cols, problem.R * problem.S * LANES)
    return min(shared // problem.itemsize // widest, problem.C // problem.groups)


def refuses(problem):
    if chunk_of(problem) == 0:
        return "one channel of the patch under a tile, or of the weights, does not fit in shared memory"
    return None


def works(problem: ConvProblem) -> tuple[Work, ...]:
    """Return what the launch of `run_staged` asks of a GPU."""
    chunk, pixels = chunk_of(problem), TILE[0] * TILE[1]
    threads, taps, b = LANES * pixels, problem.R * problem.S, problem.itemsize
    (sp, sq), (dr, ds) = problem.stride, problem.dilation
    rows, cols = (TILE[0] - 1) * sp + (problem.R - 1) * dr + 1, (TILE[1] - 1) * sq + (problem.S - 1) * ds + 1
    fetched = (rows * cols + taps * LANES) * chunk  # numbers of a piece
    blocks = problem.N * ceil_div(problem.P, TILE[0]) * ceil_div(problem.Q, TILE[1])
    blocks *= problem.groups * ceil_div(problem.K // problem.groups, LANES)
    turns, warps, steps = problem.C / problem.groups / chunk, threads // WARP, fetched / WARP
    return (
        Work(
            "seven loops",
            blocks,
            threads,
            64,
            turns,
            warps * taps * chunk * Demand(STEP, 1, 2, 2),
            Demand(FETCH * steps, 0, 2 * steps, 2 * steps),
            2 * SHARED,
            waits=ceil_div(steps, warps),  # a thread's numbers come one after the other
            l2_bytes=blocks * turns * fetched * b,
            cold=problem.x_bytes + problem.w_bytes + problem.y_bytes,
        ),
    )


def run_staged(problem, x, w, workspace, y, threads, shared=SHARED):
    """Run `staged`, with more or less shared memory."""
    N, P, Q, _ = problem.y_shape
    filters = problem.K // problem.groups
    grid = N * -(-P // TILE[0]) * -(-Q // TILE[1]), problem.groups * -(-filters // LANES)
    stride, corner, dilation = problem.geometry
    kernel = staged(problem.dtype, shared)
    chunk = chunk_of(problem, shared)
    current().launch(kernel, grid, (LANES, TILE[0] * TILE[1]), x, w, y, stride, corner, dilation, chunk)
