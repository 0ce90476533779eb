"""The matrix product, rung by rung: from one percent of a core to nearly all of it.

    y[m, n] = sum over k of a[m, k] * b[k, n]        a: M x K    b: K x N    y: M x N

Every rung computes the same sums from the same arrays; from one to the next a single idea changes, and
`gemm_rungs` names it. First come loops that any compiler takes, then the register tile (`register_tile.py`),
in growing sizes.

The last steps are those of Goto & van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (ACM
TOMS 34(3), 2008).
"""

from __future__ import annotations

import numpy as np

from convlab.cpu.jit import njit
from convlab.cpu.register_tile import accumulate, spaced, store, zeros
from convlab.support.aligned import aligned_empty
from convlab.support.checked import Count, checked
from convlab.support.checks import check_axes
from convlab.support.integers import ceil_div

DEEP, WIDE = 48, 128  # rows and columns of the blocks of b in `blocked`: 24 KiB of float32


@njit(fastmath=("contract",))  # one addition after the other, in the order they are written
def one_by_one(a, b, y):
    """i, j, k: every output number by itself, reading b down its columns."""
    for m in range(a.shape[0]):
        for n in range(b.shape[1]):
            total = a.dtype.type(0)
            for k in range(a.shape[1]):
                total += a[m, k] * b[k, n]
            y[m, n] = total


@njit
def along_the_row(a, b, y):
    """i, k, j: one number of a meets a whole row of b."""
    y[:] = 0
    for m in range(a.shape[0]):
        out = y[m]
        for k in range(a.shape[1]):
            value, row = a[m, k], b[k]
            for n in range(len(out)):
                out[n] += value * row[n]


@njit
def blocked(a, b, y):
    """The same on one block of b after the other."""
    y[:] = 0
    for left in range(0, b.shape[1], WIDE):
        for top in range(0, b.shape[0], DEEP):
            for m in range(a.shape[0]):
                out = y[m, left : left + WIDE]
                for k in range(top, min(top + DEEP, b.shape[0])):
                    value, row = a[m, k], b[k, left : left + WIDE]
                    for n in range(len(out)):
                        out[n] += value * row[n]


@njit
def four_by_four(a, b, y):
    """Four rows of a meet four rows of b: sixteen products for each visit to four sums."""
    M, K = a.shape
    for top in range(0, M, 4):
        m = max(0, min(top, M - 4))  # the last four rows may be computed twice
        out = y[m : m + 4]
        out[:] = 0
        whole = K - K % 4 if M >= 4 else 0
        for k in range(0, whole, 4):
            b0, b1, b2, b3 = b[k], b[k + 1], b[k + 2], b[k + 3]
            y0, y1, y2, y3 = out[0], out[1], out[2], out[3]
            p0, p1, p2, p3 = a[m, k], a[m, k + 1], a[m, k + 2], a[m, k + 3]
            q0, q1, q2, q3 = a[m + 1, k], a[m + 1, k + 1], a[m + 1, k + 2], a[m + 1, k + 3]
            r0, r1, r2, r3 = a[m + 2, k], a[m + 2, k + 1], a[m + 2, k + 2], a[m + 2, k + 3]
            s0, s1, s2, s3 = a[m + 3, k], a[m + 3, k + 1], a[m + 3, k + 2], a[m + 3, k + 3]
            for n in range(b.shape[1]):
                y0[n] += p0 * b0[n] + p1 * b1[n] + p2 * b2[n] + p3 * b3[n]
                y1[n] += q0 * b0[n] + q1 * b1[n] + q2 * b2[n] + q3 * b3[n]
                y2[n] += r0 * b0[n] + r1 * b1[n] + r2 * b2[n] + r3 * b3[n]
                y3[n] += s0 * b0[n] + s1 * b1[n] + s2 * b2[n] + s3 * b3[n]
        for k in range(whole, K):  # what is left over
            for i in range(len(out)):
                for n in range(b.shape[1]):
                    out[i, n] += a[m + i, k] * b[k, n]


# -- the register tile -------------------------------------------------------------------------------------


@checked
def pack(b: np.ndarray, cols: Count) -> np.ndarray:
    """Return b (K, N) in panels of `cols` columns, (ceil(N/cols), K, cols), the last filled up with zeros."""
    check_axes("b", b, "K, N")
    K, N = b.shape
    panels = aligned_empty((ceil_div(N, cols), K, cols), b.dtype)
    panels[:] = 0
    for number, panel in enumerate(panels):
        part = b[:, number * cols : (number + 1) * cols]
        panel[:, : part.shape[1]] = part
    return panels


@njit
def in_registers(a, panels, y, sizes, tile):
    """One tile of sums stays in registers for the whole length of the sum; all arrays are flat."""
    M, N, K = sizes
    for n in range(0, N, tile.cols):  # a panel of b
        for m in range(0, M, tile.rows):  # as many rows of a as the tile has
            sums = zeros(tile)
            rows = spaced(tile, a, m * K, K, M - m)
            for k in range(K):
                sums = accumulate(tile, sums, rows, k, panels, n * K + k * tile.cols)
            store(tile, sums, y, m * N + n, N, M - m, N - n)


@njit
def without_panels(a, b, y, sizes, tile):
    """`in_registers`, but reading b as it lies: N must be whole tiles."""
    M, N, K = sizes
    for n in range(0, N, tile.cols):
        for m in range(0, M, tile.rows):
            sums = zeros(tile)
            rows = spaced(tile, a, m * K, K, M - m)
            for k in range(K):
                sums = accumulate(tile, sums, rows, k, b, k * N + n)
            store(tile, sums, y, m * N + n, N, M - m, N - n)
