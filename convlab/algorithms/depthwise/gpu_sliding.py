"""The fast depthwise kernel: a thread slides down a patch of pixels, with weights and sums in registers.

    for each line of pixels under the patch:
        load it                                         a pixel is loaded once
        add each pixel to every sum that wants it       times its weight

A thread has the R*S weights of its channels, and the sums of rows x cols outputs. With four channels a
thread, every request of a warp is 512 bytes in a row.

All loops are written out (`convlab.gpu.unroll`): there is a kernel for each size of filter, stride and patch.
"""

from __future__ import annotations

from functools import lru_cache

from convlab.gpu.kernels import device_function, kernel
from convlab.gpu.numba_cuda import cuda, number_type
from convlab.gpu.ptx import load4, store4
from convlab.gpu.unroll import unrolled

THREADS = 256
REGISTERS = 128  # two blocks on a multiprocessor


@lru_cache
def sliding(dtype, R: int, S: int, stride=(1, 1), dilation=(1, 1), patch=(4, 4), vector: int = 4):
    """Return the kernel for `patch` outputs of `vector` channels a thread, 4 or 1; x, w and y are flat.

    w is (R, S, K). A vector of 4 needs K = C, a multiple of 4; a dilation needs a patch of (1, 1).
    """
    number = number_type(dtype)
    rows, cols = patch
    lines, columns = (rows - 1) * stride[0] + R, (cols - 1) * stride[1] + S  # pixels under a patch
    step_p, step_q, step_r, step_s = *stride, *dilation
    taps, outputs, width = R * S * vector, rows * cols * vector, columns * vector

    @device_function(forceinline=True)
    def load(x, at, inside):
        zero = number(0)
        if vector == 4:
            return load4(x, at) if inside else (zero, zero, zero, zero)
        return x[at] if inside else zero, zero, zero, zero

    @device_function(forceinline=True)
    def add(r, line, pixels, sums, weights):
        i = (line - r) // step_p  # the outputs that see this line of pixels with row r of the filter
        if line - r == i * step_p and i < rows:
            for s in range(S):
                for j in range(cols):
                    for k in range(vector):
                        o, t, u = i * cols + j, r * S + s, j * step_q + s
                        sums[o * vector + k] += pixels[u * vector + k] * weights[t * vector + k]

    add_everywhere = unrolled(add, R)

    @device_function(forceinline=True)
    def take(line, x, at, row, col, H, W, C, pixels, sums, weights):
        down = line * step_r
        if row + down < H:  # a row above the picture is a very large one
            for u in range(columns):
                along = u * step_s
                a, b, c, d = load(x, at + (down * W + along) * C, col + along < W)
                pixels[u * vector] = a
                if vector == 4:
                    pixels[4 * u + 1] = b
                    pixels[4 * u + 2] = c
                    pixels[4 * u + 3] = d
            add_everywhere(0, line, pixels, sums, weights)

    take_all = unrolled(take, lines)

    @device_function(forceinline=True)
    def put(o, y, at, p, q, P, Q, K, sums):
        i, j = o // cols, o % cols
        if p + i < P and q + j < Q:
            here, s = at + (i * Q + j) * K, o * vector
            if vector == 4:
                store4(y, here, sums[s], sums[s + 1], sums[s + 2], sums[s + 3])
            else:
                y[here] = sums[s]

    put_all = unrolled(put, rows * cols)

    @kernel(max_registers=REGISTERS)
    def sliding(x, w, y, H, W, C, K, P, Q, m, top, left, across, down, total):
        weights = cuda.local.array(taps, number)  # (R, S, vector)
        sums = cuda.local.array(outputs, number)  # (rows, cols, vector)
        pixels = cuda.local.array(width, number)  # (columns, vector), of one line
        i = cuda.blockIdx.x * THREADS + cuda.threadIdx.x
        if i < total:
            rest, v = divmod(i, K // vector)  # neighbouring threads: neighbouring channels
            rest, tile_q = divmod(rest, across)
            n, tile_p = divmod(rest, down)
            p, q, k = tile_p * rows, tile_q * cols, v * vector
            for t in range(R * S):
                if vector == 4:
                    a, b, c, d = load4(w, t * K + k)
                    weights[4 * t] = a
                    weights[4 * t + 1] = b
                    weights[4 * t + 2] = c
                    weights[4 * t + 3] = d
                else:
                    weights[t] = w[t * K + k]
            for o in range(outputs):
                sums[o] = number(0)
            row, col = p * step_p - top, q * step_q - left
            at = ((n * H + row) * W + col) * C + k // m
            take_all(0, x, at, row, col, H, W, C, pixels, sums, weights)
            put_all(0, y, ((n * P + p) * Q + q) * K + k, p, q, P, Q, K, sums)

    return sliding
