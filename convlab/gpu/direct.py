"""Direct convolution on a GPU: the outer four of the seven loops become threads.

    y[n, p, q, k] = sum over r, s, c of  x[n, p*stride + r*dilation - top, q*stride + s*dilation - left, c]
                                       * w[k, r, s, c]

One thread computes one output. Three rungs, and all that changes is who stands next to whom, and where the
numbers are fetched from. They index arrays as Python does, by all four axes; each such access costs the
arithmetic of four axes and a look at the sign, which later kernels will save.

A picture of one channel under a single filter has kernels of its own: `convlab.gpu.filter`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from convlab.algorithms.direct import loop_arguments
from convlab.algorithms.direct import pack as filters_innermost
from convlab.gpu import _cuda, filter
from convlab.gpu._cuda import cuda
from convlab.gpu.device import current
from convlab.gpu.rungs import Rung
from convlab.problem import ConvProblem

THREADS = 128


# -- one thread per output: neighbours are pixels ----------------------------------------------------------


@lru_cache
def one_thread_per_output(dtype: str):
    """Return the kernel; x is (N, H, W, C), w (K, R, S, C/groups) and y (N, P, Q, K), of type `dtype`."""
    number = getattr(_cuda, dtype)

    @cuda.jit
    def direct(x, w, y, stride, corner, dilation, groups):
        N, H, W, _ = x.shape
        K, R, S, channels = w.shape  # channels of one group
        P, Q = y.shape[1], y.shape[2]
        i = cuda.grid(1)
        if i < N * K * P * Q:
            rest, q = divmod(i, Q)  # neighbouring threads: neighbouring pixels of a line
            rest, p = divmod(rest, P)
            n, k = divmod(rest, K)
            first = k // (K // groups) * channels  # where this filter's group of channels begins
            total = number(0)
            for r in range(R):
                for s in range(S):
                    row = p * stride[0] + r * dilation[0] - corner[0]
                    col = q * stride[1] + s * dilation[1] - corner[1]
                    if 0 <= row < H and 0 <= col < W:
                        for c in range(channels):
                            total += x[n, row, col, first + c] * w[k, r, s, c]
            y[n, p, q, k] = total

    return direct


def _run_naive(problem, x, w, workspace, y, threads):
    blocks = -(-y.size // THREADS)
    kernel = one_thread_per_output(problem.dtype)
    current().launch(kernel, blocks, THREADS, x, w, y, *loop_arguments(problem))


# -- coalesced: neighbours are filters ---------------------------------------------------------------------


@lru_cache
def coalesced(dtype: str):
    """Return the kernel for numbers of type `dtype`; w is packed, (groups, R, S, C/groups, K/groups)."""
    number = getattr(_cuda, dtype)

    @cuda.jit
    def direct(x, w, y, stride, corner, dilation):
        N, H, W, _ = x.shape
        groups, R, S, channels, filters = w.shape
        P, Q = y.shape[1], y.shape[2]
        K = groups * filters
        i = cuda.grid(1)
        if i < N * P * Q * K:
            rest, k = divmod(i, K)  # neighbouring threads: neighbouring filters of a pixel
            rest, q = divmod(rest, Q)
            n, p = divmod(rest, P)
            g, f = divmod(k, filters)
            total = number(0)
            for r in range(R):
                for s in range(S):
                    row = p * stride[0] + r * dilation[0] - corner[0]
                    col = q * stride[1] + s * dilation[1] - corner[1]
                    if 0 <= row < H and 0 <= col < W:
                        for c in range(channels):
                            total += x[n, row, col, g * channels + c] * w[g, r, s, c, f]
            y[n, p, q, k] = total

    return direct


def _pack(problem: ConvProblem, w):
    return current().put(filters_innermost(problem, w))


def _run_coalesced(problem, x, w, workspace, y, threads):
    blocks = -(-y.size // THREADS)
    current().launch(coalesced(problem.dtype), blocks, THREADS, x, w, y, *loop_arguments(problem)[:3])


# -- staged: what a block needs is fetched once ------------------------------------------------------------

LANES = 32  # filters of a block
TILE = (2, 4)  # output pixels of a block: rows, columns
SHARED = 20 * 1024  # bytes for the patch of x, and as many for the weights


@lru_cache
def staged(dtype: str, tile: tuple[int, int] = TILE, shared: int = SHARED):
    """Return the kernel for `tile` output pixels a block, with twice `shared` bytes of shared memory.

    A block computes LANES filters of a tile of pixels, a piece of the channels after the other: `chunk` of
    them at once, as many as fit.
    """
    number = getattr(_cuda, dtype)
    tile_p, tile_q = tile
    size = shared // np.dtype(dtype).itemsize
    threads = LANES * tile_p * tile_q

    @cuda.jit
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
                if 0 <= row < H and 0 <= col < W:
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


def chunk_of(problem: ConvProblem, tile: tuple[int, int] = TILE, shared: int = SHARED) -> int:
    """Return how many channels of the patch and of the weights fit in `shared` bytes each; maybe none."""
    (sp, sq), (dr, ds) = problem.stride, problem.dilation
    rows, cols = (tile[0] - 1) * sp + (problem.R - 1) * dr + 1, (tile[1] - 1) * sq + (problem.S - 1) * ds + 1
    widest = max(rows * cols, problem.R * problem.S * LANES)
    return min(shared // problem.itemsize // widest, problem.C // problem.groups)


def _refuses_staged(problem):
    if chunk_of(problem) == 0:
        return "one channel of the patch under a tile, or of the weights, does not fit in shared memory"
    return None


def run_staged(problem, x, w, workspace, y, threads, tile=TILE, shared=SHARED):
    """Run `staged` with other tiles."""
    N, P, Q, _ = problem.y_shape
    filters = problem.K // problem.groups
    grid = N * -(-P // tile[0]) * -(-Q // tile[1]), problem.groups * -(-filters // LANES)
    stride, corner, dilation, _ = loop_arguments(problem)
    kernel = staged(problem.dtype, tile, shared)
    chunk = chunk_of(problem, tile, shared)
    current().launch(kernel, grid, (LANES, tile[0] * tile[1]), x, w, y, stride, corner, dilation, chunk)


# -- the table, and the algorithm --------------------------------------------------------------------------

RUNGS = (
    Rung(
        "one thread per output",
        "The outer four loops are threads; neighbouring threads take neighbouring pixels.",
        "Neighbours read x and write y C and K numbers apart: every one of them in a sector of its own.",
        _run_naive,
        one_thread_per_output,
    ),
    Rung(
        "coalesced",
        "Neighbouring threads take neighbouring filters, and the weights lie with the filters innermost.",
        "A warp's weights and outputs lie side by side, and it reads one pixel of x: few sectors a request.",
        _run_coalesced,
        coalesced,
        _pack,
    ),
    Rung(
        "staged in shared memory",
        "A block fetches its patch of x, with the halo, and its weights into shared memory, then computes.",
        "Each number is fetched once a block, not once for each thread that wants it.",
        run_staged,
        staged,
        _pack,
        _refuses_staged,
    ),
)


def pack(problem: ConvProblem, w):
    """Return the weights as the rung for this problem reads them."""
    return _form(problem).pack(problem, w)


def run(problem, x, packed, workspace, y, threads):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    _form(problem).run(problem, x, packed, workspace, y, threads)


def _form(problem: ConvProblem) -> Rung:
    single = filter.refuses(problem) is None
    return filter.rung_for(problem) if single else RUNGS[1]
