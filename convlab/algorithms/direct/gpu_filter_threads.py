"""The first three rungs of `gpu_filter`: a thread has one output, and its weights and pixels lie ever nearer.

    naive       both in global memory
    constant    the weights in constant memory
    shared      both in shared memory, with the halo of the block's pixels

Whole numbers are uint32, 32 bits without a sign (`convlab.gpu.kernels`). A row above the picture is then a
very large one: ``row < H`` is false on both sides.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from convlab.algorithms.direct.gpu_filter_patch import BLOCK
from convlab.gpu.kernels import device_function, kernel
from convlab.gpu.numba_cuda import cuda, number_type
from convlab.support.checked import Computed, Count, kept


@lru_cache
def one_output(dtype: str):
    """Return what a thread of the first two rungs does, whatever memory the weights lie in."""
    number = number_type(dtype)

    @device_function(forceinline=True)
    def one_output(x, weights, y, H, W, P, Q, R, S, top, left, across):
        down, tile = divmod(cuda.blockIdx.x, across)
        n, tile_p = divmod(down, (P + 7) // 8)
        p = tile_p * 8 + cuda.threadIdx.y
        q = tile * 32 + cuda.threadIdx.x  # neighbouring threads: neighbouring pixels of a line
        if p < P and q < Q:
            total = number(0)
            for r in range(R):
                for s in range(S):
                    row, col = p + r - top, q + s - left
                    if row < H and col < W:
                        total += x[(n * H + row) * W + col] * weights[r * S + s]
            y[(n * P + p) * Q + q] = total

    return one_output


@lru_cache
def naive(dtype: str):
    """Return the kernel for numbers of type `dtype`; x (N*H*W), w (R*S) and y (N*P*Q) are flat."""
    compute = one_output(dtype)

    @kernel
    def naive(x, w, y, H, W, P, Q, R, S, top, left, across):
        compute(x, w, y, H, W, P, Q, R, S, top, left, across)

    return naive


@lru_cache
def constant(dtype: str, R: int, S: int, weights: bytes):
    """Return the kernel for one filter of R*S numbers, given as bytes: they become part of the program."""
    compute, values = one_output(dtype), np.frombuffer(weights, dtype)

    @kernel
    def constant(x, w, y, H, W, P, Q, R_, S_, top, left, across):
        compute(x, cuda.const.array_like(values), y, H, W, P, Q, R, S, top, left, across)

    return constant


@kept
def shared(dtype: Computed, R: Count, S: Count):
    """Return the kernel for filters of R x S: a block's pixels and their halo are in shared memory."""
    number = number_type(dtype)
    taps, rows, cols = R * S, BLOCK[1] + R - 1, BLOCK[0] + S - 1
    cells = rows * cols

    @kernel
    def shared(x, w, y, H, W, P, Q, R_, S_, top, left, across):
        weights = cuda.shared.array(taps, number)
        patch = cuda.shared.array(cells, number)  # (rows, cols)
        down, tile = divmod(cuda.blockIdx.x, across)
        n, tile_p = divmod(down, (P + 7) // 8)
        p0, q0 = tile_p * 8, tile * 32
        me = cuda.threadIdx.y * 32 + cuda.threadIdx.x
        for at in range(me, taps, 256):
            weights[at] = w[at]
        for at in range(me, cells, 256):
            i, j = divmod(at, cols)
            row, col = p0 + i - top, q0 + j - left
            inside = row < H and col < W
            patch[at] = x[(n * H + row) * W + col] if inside else number(0)
        cuda.syncthreads()  # the patch is whole before anybody reads it
        p, q = p0 + cuda.threadIdx.y, q0 + cuda.threadIdx.x
        if p < P and q < Q:
            total = number(0)
            for r in range(R):
                for s in range(S):
                    at = (cuda.threadIdx.y + r) * cols + cuda.threadIdx.x + s
                    total += patch[at] * weights[r * S + s]
            y[(n * P + p) * Q + q] = total

    return shared
