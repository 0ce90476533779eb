"""Two kernels that multiply matrices, tile by tile: one sum a thread, and 4 x 4 sums a thread.

    for each piece of K:
        the block copies its piece of a and of b to shared memory         and waits
        each thread multiplies and adds to its sums                       and waits

A thread with one sum reads two numbers for each multiply-add. With 4 x 4 sums it reads eight for sixteen:
four of a column, four of a row, each times each.
"""

from __future__ import annotations

from functools import lru_cache

from convlab.gpu import _cuda
from convlab.gpu._cuda import cuda
from convlab.gpu._cuda import uint32 as U
from convlab.gpu.ptx import load4, store4
from convlab.gpu.unroll import unrolled

TILE = 16


@lru_cache
def shared_tile(dtype: str, along: str):
    """Return the kernel of the first rung: 16 x 16 sums a block, one a thread; all arrays are flat."""
    number = getattr(_cuda, dtype)

    @cuda.jit
    def shared_tile(a, b, y, M, N, K, step, group, row_b, row_y, across):
        tile_a = cuda.shared.array((16, 16), number)  # (m, k) or (k, m), as a lies
        tile_b = cuda.shared.array((16, 16), number)  # (k, n)
        tx, ty = U(cuda.threadIdx.x), U(cuda.threadIdx.y)
        rest, tile_n = divmod(U(cuda.blockIdx.x), across)
        g, tile_m = divmod(rest, U((M + U(15)) // U(16)))
        m0, n0 = U(tile_m * U(16)), U(tile_n * U(16))
        total = number(0)
        for k0 in range(0, K, 16):
            k0 = U(k0)
            m, k = (U(m0 + ty), U(k0 + tx)) if along == "k" else (U(m0 + tx), U(k0 + ty))
            at = U(U(m * step) + k) if along == "k" else U(U(k * step) + m)
            tile_a[ty, tx] = a[U(U(g * group) + at)] if m < M and k < K else number(0)
            k, n = U(k0 + ty), U(n0 + tx)
            tile_b[ty, tx] = b[U(U(U(U(g * K) + k) * row_b) + n)] if k < K and n < N else number(0)
            cuda.syncthreads()  # all is there before anybody reads it
            for i in range(16):
                total += (tile_a[ty, U(i)] if along == "k" else tile_a[U(i), ty]) * tile_b[U(i), tx]
            cuda.syncthreads()  # all have read before anybody writes the next piece
        m, n = U(m0 + ty), U(n0 + tx)
        if m < M and n < N:
            y[U(U(U(m * row_y) + U(g * N)) + n)] = total

    return shared_tile


BLOCK, PIECE, OWN = 64, 16, 4  # sums of a block: 64 x 64; of a thread: 4 x 4; k of a piece
THREADS = (BLOCK // OWN) ** 2


@lru_cache
def register_tile(dtype: str, along: str, wide_a: bool, wide_y: bool):
    """Return the kernel of the second rung: 64 x 64 sums a block, 4 x 4 a thread; all arrays are flat.

    `wide_a` and `wide_y` say if four neighbours of a, and of y, can be moved at once; rows of b allow it.
    """
    number = getattr(_cuda, dtype)
    # Of a's rows in shared memory: written down a column, two lanes meet in a bank, not four.
    pitch = BLOCK + 4

    @cuda.jit(device=True, forceinline=True)
    def four(array, at, left, wide):
        """Return array[at : at + 4], zeros from the number `left` on."""
        zero = number(0)
        if wide:
            return load4(array, at) if left > 0 else (zero, zero, zero, zero)
        first = array[at] if left > 0 else zero
        second = array[U(at + U(1))] if left > 1 else zero
        third = array[U(at + U(2))] if left > 2 else zero
        return first, second, third, array[U(at + U(3))] if left > 3 else zero

    @cuda.jit(device=True, forceinline=True)
    def add(k, tile_a, tile_b, tx, ty, column, row, sums):
        a, b, c, d = load4(tile_a, (k, U(ty * U(4))))
        column[U(0)], column[U(1)], column[U(2)], column[U(3)] = a, b, c, d
        a, b, c, d = load4(tile_b, (k, U(tx * U(4))))
        row[U(0)], row[U(1)], row[U(2)], row[U(3)] = a, b, c, d
        for i in range(OWN):
            for j in range(OWN):
                sums[U(i), U(j)] += column[U(i)] * row[U(j)]

    add_piece = unrolled(add, PIECE)

    @cuda.jit
    def register_tile(a, b, y, M, N, K, step, group, row_b, row_y, across):
        tile_a = cuda.shared.array((PIECE, pitch), number, alignment=16)  # (k, m)
        tile_b = cuda.shared.array((PIECE, BLOCK), number, alignment=16)  # (k, n)
        sums = cuda.local.array((OWN, OWN), number)
        column = cuda.local.array(OWN, number)
        row = cuda.local.array(OWN, number)
        me = U(cuda.threadIdx.x)
        tx, ty = U(me % U(16)), U(me // U(16))
        rest, tile_n = divmod(U(cuda.blockIdx.x), across)
        g, tile_m = divmod(rest, U((M + U(63)) // U(64)))
        m0, n0 = U(tile_m * U(BLOCK)), U(tile_n * U(BLOCK))
        for i in range(OWN):
            for j in range(OWN):
                sums[U(i), U(j)] = number(0)
        for k0 in range(0, K, PIECE):
            k0 = U(k0)
            if along == "k":  # four threads load a row of the piece, four numbers each
                i, j = U(me // U(4)), U(U(me % U(4)) * U(4))
                m, k = U(m0 + i), U(k0 + j)
                left = U(K - k) if m < M and k < K else U(0)
                p, q, r, s = four(a, U(U(U(g * group) + U(m * step)) + k), left, wide_a)
                tile_a[j, i], tile_a[U(j + U(1)), i] = p, q
                tile_a[U(j + U(2)), i], tile_a[U(j + U(3)), i] = r, s
            else:  # sixteen threads load a column
                m, k = U(m0 + U(tx * U(4))), U(k0 + ty)
                left = U(M - m) if m < M and k < K else U(0)
                p, q, r, s = four(a, U(U(U(g * group) + U(k * step)) + m), left, wide_a)
                store4(tile_a, (ty, U(tx * U(4))), p, q, r, s)
            k, n = U(k0 + ty), U(n0 + U(tx * U(4)))
            left = U(row_b - n) if k < K and n < row_b else U(0)
            p, q, r, s = four(b, U(U(U(U(g * K) + k) * row_b) + n), left, True)
            store4(tile_b, (ty, U(tx * U(4))), p, q, r, s)
            cuda.syncthreads()  # all is there before anybody reads it
            add_piece(U(0), tile_a, tile_b, tx, ty, column, row, sums)
            cuda.syncthreads()  # all have read before anybody writes the next piece
        n = U(n0 + U(tx * U(4)))
        for i in range(OWN):
            m = U(m0 + U(U(ty * U(4)) + U(i)))
            if m < M and n < N:
                at = U(U(U(m * row_y) + U(g * N)) + n)
                if wide_y:
                    store4(y, at, sums[U(i), U(0)], sums[U(i), U(1)], sums[U(i), U(2)], sums[U(i), U(3)])
                else:
                    for j in range(OWN):
                        if U(n + U(j)) < N:
                            y[U(at + U(j))] = sums[U(i), U(j)]

    return register_tile
