"""The product of complex matrices, many of them, on the register tile that knows real numbers only.

    out[m, f, k] = sum over c of a[m, f, c] * w[f, c, k]        for every frequency f: (M x C) times (C x K)

    (a + ib)(c + id) = (ac - bd) + i(ad + bc)

Memory holds a complex number as two neighbouring real ones. So at one frequency the M rows of a are a real
matrix of 2M rows (a, b, a, b, ...), those of w one of 2K columns (c, d, c, d, ...). Their plain real product
has all four products of every pair, as a block of 2 x 2; summed up, two and two, they are the complex one.
"""

from __future__ import annotations

import numpy as np

from convlab.cpu.gemm import whole_panels
from convlab.cpu.jit import njit, prange
from convlab.cpu.partition import partition
from convlab.cpu.register_tile import accumulate, listed, store, tile_for, zeros
from convlab.cpu.threads import limited, lost_the_pool
from convlab.support.integers import round_up


def scratch(M: int, K: int, threads: int, dtype: str) -> dict[str, np.ndarray]:
    """Return the arrays `complex_gemm` needs for M rows: offsets, and the four products for each thread."""
    rows = tile_for(dtype).rows
    return {
        "offsets": np.empty(round_up(2 * M, rows), np.int64),
        "four": np.empty((threads, 2 * M * 2 * K), dtype),
    }


def complex_gemm(a, panels, out, groups: int, offsets, four, threads: int = 1) -> None:
    """Fill out (M, ..., K) with the products of a (M, ..., C) and w; the axes between are frequencies.

    Parameters
    ----------
    a, out : ndarray, complex, C-contiguous
    panels : ndarray, (F * groups, C * padded 2K)
        For each frequency and group, `gemm.pack`'s panels of the real columns of w.
    groups : int
        Channels and filters are split into this many independent products.
    offsets, four : ndarray
        From `scratch`, for M rows or more.
    threads : int
    """
    M, C, K = len(a), a.shape[-1], out.shape[-1]
    F = a[0].size // C
    real, real_out = (array.reshape(-1).view(panels.dtype) for array in (a, out))
    tile, cuts = tile_for(panels.dtype.name), partition(threads, F, 1)
    arguments = tile, real, offsets, panels, four, real_out, (M, F, groups, C // groups, K // groups)
    _list_rows(offsets, M, F * C * 2)
    if threads == 1 or lost_the_pool():
        _frequencies(0, F, 0, *arguments)
    else:
        with limited(threads):
            _shared(cuts, *arguments)


@njit
def _list_rows(offsets, M, step):
    """List where the 2M real rows begin; a tile that reaches past the last one repeats it."""
    for i in range(len(offsets)):
        row = min(i, 2 * M - 1)
        offsets[i] = row // 2 * step + row % 2


@njit
def _frequencies(first, end, part, tile, a, offsets, panels, four, out, sizes):
    M, F, groups, C, K = sizes
    mine = four[part]
    whole = whole_panels(2 * K, tile)
    for f in range(first, end):
        for g in range(groups):
            base, w = (f * groups + g) * C * 2, panels[f * groups + g]
            _real(0, whole, tile, a, base, offsets, w, mine, 2 * M, 2 * K, C)
            _real(whole, 2 * K, tile.narrow, a, base, offsets, w, mine, 2 * M, 2 * K, C)
            for m in range(M):
                row, to = 4 * m * K, ((m * F + f) * groups + g) * K * 2
                for k in range(0, 2 * K, 2):
                    ac, ad = mine[row + k], mine[row + k + 1]
                    bc, bd = mine[row + 2 * K + k], mine[row + 2 * K + k + 1]
                    out[to + k] = ac - bd
                    out[to + k + 1] = ad + bc


@njit(inner=True)
def _real(left, right, tile, a, base, offsets, w, four, M, N, K):
    for n in range(left, right, tile.cols):
        for m in range(0, M, tile.rows):
            sums = zeros(tile)
            rows = listed(tile, a, base, offsets, m, None)
            q = n * K
            for k in range(K):
                sums = accumulate(tile, sums, rows, 2 * k, w, q)  # every second number of a row
                q += tile.cols
            store(tile, sums, four, m * N + n, N, M - m, N - n)


@njit(parallel=True)
def _shared(cuts, tile, a, offsets, panels, four, out, sizes):
    for i in prange(len(cuts)):
        _frequencies(cuts[i, 0], cuts[i, 1], i, tile, a, offsets, panels, four, out, sizes)
