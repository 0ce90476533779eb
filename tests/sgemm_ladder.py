"""A ladder of matrix products that somebody else measured: what the model of a GPU's time is held against.

S. Boehm, "How to Optimize a CUDA Matmul Kernel for cuBLAS-like Performance" (2022). The speeds are those of
the table in the README of github.com/siboehm/SGEMM_CUDA: an RTX A6000, 4096 x 4096 numbers. The kernels here
have the tiles, the threads and the places in shared memory that are described there; every line is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from convlab.gpu.gemm.vector_io import mover
from convlab.gpu.kernels import device_function, kernel
from convlab.gpu.numba_cuda import cuda, float32, launch_bounds
from convlab.gpu.unroll import unrolled

CUBLAS = 23249.6e9  # FLOP/s of the library on that board: its multiply-adds, as far as its power allows
MATRIX = 4096
SIDE = 32  # of the first three rungs' blocks
CELLS = SIDE * SIDE
take4, put4, _ = mover(4, "float32")


class Rung(NamedTuple):
    """A rung: its published speed, how its kernel is made, its tile (rows, columns of C) and its threads."""

    name: str
    gflops: float
    make: Callable
    block: tuple[int, int]
    threads: int | tuple[int, int]


class Tiles(NamedTuple):
    """A block's tile, a thread's, and where numbers lie in shared memory.

    `wide`: four numbers a load from memory, and A is turned on its way. `extra`: columns of B's rows in
    shared memory beside BN. `linear`: B lies so that neighbours read neighbouring words. `warp`: the tile of
    a warp, and `subs` the pieces, down and right, that a thread has of it. `bound`: one block is enough.
    """

    BM: int
    BN: int
    BK: int
    TM: int
    TN: int
    threads: int
    wide: bool = False
    extra: int = 0
    linear: bool = False
    warp: tuple[int, int] | None = None
    subs: tuple[int, int] = (1, 1)
    bound: bool = False


def naive():
    """One thread a number of C; neighbours are rows."""

    @kernel
    def product(M, N, K, A, B, C):
        x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        y = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
        if x < M and y < N:
            total = float32(0)
            for k in range(K):
                total += A[x * K + k] * B[k * N + y]
            C[x * N + y] = total

    return product


def coalesced():
    """The same; neighbours are columns."""

    @kernel
    def product(M, N, K, A, B, C):
        x = cuda.blockIdx.x * SIDE + cuda.threadIdx.x // SIDE
        y = cuda.blockIdx.y * SIDE + cuda.threadIdx.x % SIDE
        if x < M and y < N:
            total = float32(0)
            for k in range(K):
                total += A[x * K + k] * B[k * N + y]
            C[x * N + y] = total

    return product


def shared():
    """Pieces of 32 x 32 in shared memory."""

    @device_function(forceinline=True)
    def step(k, a, b, row, column, total):
        total[0] += a[row * SIDE + k] * b[k * SIDE + column]

    steps = unrolled(step, SIDE)

    @kernel
    def product(M, N, K, A, B, C):
        a = cuda.shared.array(CELLS, float32, alignment=16)
        b = cuda.shared.array(CELLS, float32, alignment=16)
        total = cuda.local.array(1, float32)
        row, column = cuda.threadIdx.x // SIDE, cuda.threadIdx.x % SIDE
        at_a = cuda.blockIdx.x * SIDE * K + row * K + column
        at_b = cuda.blockIdx.y * SIDE + row * N + column
        total[0] = float32(0)
        for piece in range(K // SIDE):
            a[row * SIDE + column] = A[at_a + piece * SIDE]
            b[row * SIDE + column] = B[at_b + piece * SIDE * N]
            cuda.syncthreads()
            steps(0, a, b, row, column, total)
            cuda.syncthreads()
        C[(cuda.blockIdx.x * SIDE + row) * N + cuda.blockIdx.y * SIDE + column] = total[0]

    return product


def _corner(t: Tiles):
    """Return (corner(thread), rows and columns from a thread's piece to its next one)."""
    BM, BN, TM, TN, (down, right) = t.BM, t.BN, t.TM, t.TN, t.subs
    if t.warp is None:
        next_m, next_n = BM // down, BN // right

        @device_function
        def by_thread(thread):
            return thread // (next_n // TN) * TM, thread % (next_n // TN) * TN

        return by_thread, next_m, next_n
    warp_m, warp_n = t.warp
    next_m, next_n = warp_m // down, warp_n // right

    @device_function
    def by_warp(thread):
        warp, lane = thread // 32, thread % 32
        top, left = warp // (BN // warp_n) * warp_m, warp % (BN // warp_n) * warp_n
        return top + lane // (next_n // TN) * TM, left + lane % (next_n // TN) * TN

    return by_warp, next_m, next_n


def _outer_products(t: Tiles, next_m: int, next_n: int):
    """Return what adds all products of a piece to the sums."""
    BM, BK, TM, TN, wide, linear, (down, right) = t.BM, t.BK, t.TM, t.TN, t.wide, t.linear, t.subs
    row_b, fours = t.BN + t.extra, not t.extra and not linear and TN % 4 == 0

    @device_function(forceinline=True)
    def step(k, a, b, top, left, column, line, sums):
        for d in range(down):
            m = top + d * next_m
            if wide:
                for i in range(TM // 4):
                    take4(a, k * BM + m + i * 4, column, d * TM + i * 4)
            else:
                for i in range(TM):
                    column[d * TM + i] = a[(m + i) * BK + k]
        for r in range(right):
            n = left + r * next_n
            if fours:
                for j in range(TN // 4):
                    take4(b, k * row_b + n + j * 4, line, r * TN + j * 4)
            else:
                for j in range(TN):
                    line[r * TN + j] = b[(k * 8 + j) * 16 + n // TN if linear else k * row_b + n + j]
        for i in range(down * TM):
            for j in range(right * TN):
                sums[i * (right * TN) + j] += column[i] * line[j]

    return unrolled(step, BK)


def tiled(t: Tiles):
    """A tile of C a block, a smaller one a thread."""
    BM, BN, BK, TM, TN, threads, wide, extra, linear, _, (down, right), bound = t
    row_b, width = BN + extra, 4 if wide else 1
    cells_a, cells_b, own_m, own_n = BM * BK, BK * row_b, down * TM, right * TN
    cells = own_m * own_n
    loads_a, loads_b = BM * BK // width // threads, BN * BK // width // threads
    lanes_a, lanes_b = BK // width, BN // width
    rows_a, rows_b = threads // lanes_a, threads // lanes_b
    corner, next_m, next_n = _corner(t)
    steps = _outer_products(t, next_m, next_n)

    @kernel(**(launch_bounds(threads, 1) if bound else {}))
    def product(M, N, K, A, B, C):
        a = cuda.shared.array(cells_a, float32, alignment=16)
        b = cuda.shared.array(cells_b, float32, alignment=16)
        sums = cuda.local.array(cells, float32)
        column = cuda.local.array(own_m, float32)
        line = cuda.local.array(own_n, float32)
        quad = cuda.local.array(4, float32)
        thread = cuda.threadIdx.x
        top, left = corner(thread)
        row_in_a, in_a = thread // lanes_a, thread % lanes_a
        row_in_b, in_b = thread // lanes_b, thread % lanes_b
        m, n = cuda.blockIdx.y * BM, cuda.blockIdx.x * BN
        at_a, at_b = m * K, n
        for i in range(cells):
            sums[i] = float32(0)
        for _ in range(K // BK):
            for load in range(loads_a):
                r = row_in_a + load * rows_a
                if wide:
                    take4(A, at_a + r * K + in_a * 4, quad, 0)
                    for i in range(4):
                        a[(in_a * 4 + i) * BM + r] = quad[i]
                else:
                    a[r * BK + in_a] = A[at_a + r * K + in_a]
            for load in range(loads_b):
                r = row_in_b + load * rows_b
                if wide:
                    take4(B, at_b + r * N + in_b * 4, quad, 0)
                    if linear:
                        for i in range(4):
                            b[((in_b % 2) * 4 + r * 8 + i) * 16 + in_b // 2] = quad[i]
                    elif extra:
                        for i in range(4):
                            b[r * row_b + in_b * 4 + i] = quad[i]
                    else:
                        put4(b, r * row_b + in_b * 4, quad, 0)
                else:
                    b[r * row_b + in_b] = B[at_b + r * N + in_b]
            cuda.syncthreads()
            steps(0, a, b, top, left, column, line, sums)
            at_a, at_b = at_a + BK, at_b + BK * N
            cuda.syncthreads()
        for d in range(down):
            for r in range(right):
                for i in range(TM):
                    for j in range(TN):
                        to = (m + top + d * next_m + i) * N + n + left + r * next_n + j
                        C[to] = sums[(d * TM + i) * own_n + r * TN + j]

    return product


def _of(name: str, gflops: float, *sizes, **more) -> Rung:
    t = Tiles(*sizes, **more)
    return Rung(name, gflops, partial(tiled, t), (t.BM, t.BN), t.threads)


RUNGS = (
    Rung("1: naive", 309.0, naive, (SIDE, SIDE), (SIDE, SIDE)),
    Rung("2: coalesced", 1986.5, coalesced, (SIDE, SIDE), CELLS),
    Rung("3: shared memory", 2980.3, shared, (SIDE, SIDE), CELLS),
    _of("4: a column a thread", 8474.7, 64, 64, 8, 8, 1, 512),
    _of("5: a square a thread", 15971.7, 128, 128, 8, 8, 8, 256, bound=True),
    _of("6: four numbers an access", 18237.3, 128, 128, 8, 8, 8, 256, wide=True),
    _of("7: linear", 16213.4, 128, 128, 8, 8, 8, 256, wide=True, linear=True),
    _of("8: extra columns", 16459.2, 128, 128, 8, 8, 8, 256, wide=True, extra=5),
    _of("9: tuned", 19721.0, 128, 128, 16, 8, 8, 256, wide=True, bound=True),
    _of(
        *("10: a tile a warp", 21779.3, 128, 128, 16, 8, 4, 128),
        **{"wide": True, "warp": (64, 64), "subs": (1, 4), "bound": True},
    ),
)
