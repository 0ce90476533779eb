"""Two kernels that multiply matrices, tile by tile: one sum a thread, and 4 x 4 sums a thread.

    for each piece of K:
        the block copies its piece of a and of b to shared memory         and waits
        each thread multiplies and adds to its sums                       and waits

A thread with one sum reads two numbers for each multiply-add. With 4 x 4 sums it reads eight for sixteen:
four of a column, four of a row, each times each.
"""

from __future__ import annotations

from functools import lru_cache

from convlab.gpu.kernels import device_function, kernel
from convlab.gpu.numba_cuda import cuda, number_type
from convlab.gpu.ptx import load4, store4
from convlab.gpu.unroll import unrolled

TILE = 16


@lru_cache
def shared_tile(dtype: str, along: str):
    """Return the kernel of the first rung: 16 x 16 sums a block, one a thread; all arrays are flat."""
    number = number_type(dtype)

    @kernel
    def shared_tile(a, b, y, M, N, K, step, group, row_b, row_y, across):
        tile_a = cuda.shared.array((16, 16), number)  # (m, k) or (k, m), as a lies
        tile_b = cuda.shared.array((16, 16), number)  # (k, n)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        rest, tile_n = divmod(cuda.blockIdx.x, across)
        g, tile_m = divmod(rest, (M + 15) // 16)
        m0, n0 = tile_m * 16, tile_n * 16
        total = number(0)
        for k0 in range(0, K, 16):
            k0 = k0
            m, k = (m0 + ty, k0 + tx) if along == "k" else (m0 + tx, k0 + ty)
            at = m * step + k if along == "k" else k * step + m
            tile_a[ty, tx] = a[g * group + at] if m < M and k < K else number(0)
            k, n = k0 + ty, n0 + tx
            tile_b[ty, tx] = b[(g * K + k) * row_b + n] if k < K and n < N else number(0)
            cuda.syncthreads()  # all is there before anybody reads it
            for i in range(16):
                total += (tile_a[ty, i] if along == "k" else tile_a[i, ty]) * tile_b[i, tx]
            cuda.syncthreads()  # all have read before anybody writes the next piece
        m, n = m0 + ty, n0 + tx
        if m < M and n < N:
            y[m * row_y + g * N + n] = total

    return shared_tile


BLOCK, PIECE, OWN = 64, 16, 4  # sums of a block: 64 x 64; of a thread: 4 x 4; k of a piece
THREADS = (BLOCK // OWN) ** 2


@lru_cache
def register_tile(dtype: str, along: str, wide_a: bool, wide_y: bool):
    """Return the kernel of the second rung: 64 x 64 sums a block, 4 x 4 a thread; all arrays are flat.

    `wide_a` and `wide_y` say if four neighbours of a, and of y, can be moved at once; rows of b allow it.
    """
    number = number_type(dtype)
    # Of a's rows in shared memory: written down a column, two lanes meet in a bank, not four.
    pitch = BLOCK + 4

    @device_function(forceinline=True)
    def four(array, at, left, wide):
        """Return array[at : at + 4], zeros from the number `left` on."""
        zero = number(0)
        if wide:
            return load4(array, at) if left > 0 else (zero, zero, zero, zero)
        first = array[at] if left > 0 else zero
        second = array[at + 1] if left > 1 else zero
        third = array[at + 2] if left > 2 else zero
        return first, second, third, array[at + 3] if left > 3 else zero

    @device_function(forceinline=True)
    def add(k, tile_a, tile_b, tx, ty, column, row, sums):
        a, b, c, d = load4(tile_a, (k, ty * 4))
        column[0], column[1], column[2], column[3] = a, b, c, d
        a, b, c, d = load4(tile_b, (k, tx * 4))
        row[0], row[1], row[2], row[3] = a, b, c, d
        for i in range(OWN):
            for j in range(OWN):
                sums[i, j] += column[i] * row[j]

    add_piece = unrolled(add, PIECE)

    @kernel
    def register_tile(a, b, y, M, N, K, step, group, row_b, row_y, across):
        tile_a = cuda.shared.array((PIECE, pitch), number, alignment=16)  # (k, m)
        tile_b = cuda.shared.array((PIECE, BLOCK), number, alignment=16)  # (k, n)
        sums = cuda.local.array((OWN, OWN), number)
        column = cuda.local.array(OWN, number)
        row = cuda.local.array(OWN, number)
        me = cuda.threadIdx.x
        tx, ty = me % 16, me // 16
        rest, tile_n = divmod(cuda.blockIdx.x, across)
        g, tile_m = divmod(rest, (M + 63) // 64)
        m0, n0 = tile_m * BLOCK, tile_n * BLOCK
        for i in range(OWN):
            for j in range(OWN):
                sums[i, j] = number(0)
        for k0 in range(0, K, PIECE):
            k0 = k0
            if along == "k":  # four threads load a row of the piece, four numbers each
                i, j = me // 4, me % 4 * 4
                m, k = m0 + i, k0 + j
                left = K - k if m < M and k < K else 0
                p, q, r, s = four(a, g * group + m * step + k, left, wide_a)
                tile_a[j, i], tile_a[j + 1, i] = p, q
                tile_a[j + 2, i], tile_a[j + 3, i] = r, s
            else:  # sixteen threads load a column
                m, k = m0 + tx * 4, k0 + ty
                left = M - m if m < M and k < K else 0
                p, q, r, s = four(a, g * group + k * step + m, left, wide_a)
                store4(tile_a, (ty, tx * 4), p, q, r, s)
            k, n = k0 + ty, n0 + tx * 4
            left = row_b - n if k < K and n < row_b else 0
            p, q, r, s = four(b, (g * K + k) * row_b + n, left, True)
            store4(tile_b, (ty, tx * 4), p, q, r, s)
            cuda.syncthreads()  # all is there before anybody reads it
            add_piece(0, tile_a, tile_b, tx, ty, column, row, sums)
            cuda.syncthreads()  # all have read before anybody writes the next piece
        n = n0 + tx * 4
        for i in range(OWN):
            m = m0 + ty * 4 + i
            if m < M and n < N:
                at = m * row_y + g * N + n
                if wide_y:
                    store4(y, at, sums[i, 0], sums[i, 1], sums[i, 2], sums[i, 3])
                else:
                    for j in range(OWN):
                        if n + j < N:
                            y[at + j] = sums[i, j]

    return register_tile
