"""wgrad as a product, the fast form: a filter is a row of the register tile, a number of it a column.

    dw[k, n] += sum over m of dy[m, k] * rows[m, n]

Neither factor is packed. A row of the matrix is a run of numbers, and a run is what a tile takes as a vector;
of dy it takes one number a row, and dy[m, k], dy[m, k + 1], ... lie side by side. The sums of a tile stay in
registers for `ROWS` pixels, then they wait in dw.
"""

from __future__ import annotations

from convlab.cpu.gathered_gemm import gather, windows_of
from convlab.cpu.gemm import whole_panels
from convlab.cpu.jit import njit, prange
from convlab.cpu.register_tile import accumulate, load, spaced, store
from convlab.cpu.threads import limited, lost_the_pool, parallel_for
from convlab.gradients.wgrad_blocks import COLUMNS, ROWS, cuts, row_step, tile_of


def run(problem, given, packed, workspace, dw, threads):
    """Fill dw (K, R, S, C/groups) from the whole matrix, which one thread has filled."""
    (x, dy), rows = given, workspace["matrix"]
    tile, step = tile_of(problem), rows.shape[1]
    M, filters, taps = problem.gemm
    dw[...] = 0
    for g in range(problem.groups):
        matrix = rows.reshape(-1)[g * taps :]
        gather(x.reshape(-1), matrix, step, 0, M, 0, taps, g, windows_of(problem))
    arrays = rows.reshape(-1), step, dy.reshape(-1), dw.reshape(-1)
    sides = (filters, tile.rows), (taps, tile.cols)
    parallel_for(threads, *sides, _product, _product_shared, tile, *arrays, problem.gemm, problem.groups)


def run_parts(problem, given, packed, workspace, dw, threads):
    """Fill dw part by part of the matrix; each thread has its own filters or columns, and all the pixels."""
    (x, dy), rows = given, workspace["rows"]
    _, _, taps = problem.gemm
    step = row_step(problem, min(COLUMNS, taps))
    dw[...] = 0
    arrays = x.reshape(-1), rows.reshape(len(rows), -1), step, dy.reshape(-1), dw.reshape(-1)
    rest = tile_of(problem), *arrays, problem.gemm, problem.groups, windows_of(problem)
    if len(rows) == 1 or lost_the_pool():
        for cut in cuts(problem, len(rows)):
            _parts(*map(int, cut), 0, *rest)
    else:
        with limited(threads):
            _parts_shared(cuts(problem, threads), *rest)


@njit
def _product(top, bottom, left, right, tile, rows, step, dy, dw, gemm, groups):
    """Sum the filters top..bottom and the columns left..right of each group."""
    M, filters, taps = gemm
    for g in range(groups):
        for m in range(0, M, ROWS):
            part = rows, m * step + g * taps + left, step, min(ROWS, M - m)
            of_dy = dy, m * groups * filters + g * filters, groups * filters
            add(tile, top, bottom, left, right, *part, *of_dy, dw, g * filters * taps, taps)


@njit
def _parts(top, bottom, left, right, i, tile, x, rows, step, dy, dw, gemm, groups, windows):
    """Sum the same, from rows that are made just before; rows[i] is this thread's."""
    M, filters, columns = gemm
    for g in range(groups):
        for begin in range(left, right, COLUMNS):
            end = min(begin + COLUMNS, right)
            for m in range(0, M, ROWS):
                count = min(ROWS, M - m)
                gather(x, rows[i], step, m, m + count, begin, end, g, windows)
                of_dy = dy, m * groups * filters + g * filters, groups * filters
                part = rows[i], 0, step, count
                add(tile, top, bottom, begin, end, *part, *of_dy, dw, g * filters * columns, columns)


@njit(inner=True)
def add(tile, top, bottom, left, right, rows, at, step, count, dy, dy_at, dy_step, dw, dw_at, dw_step):
    """Add the products of `count` pixels to the filters top..bottom and columns left..right of dw.

    Column `left` of the first pixel is rows[at], filter 0 of it dy[dy_at]; filter k begins at
    dw[dw_at + k*dw_step]. All arrays are flat.
    """
    whole = left + whole_panels(right - left, tile)
    rest = rows, at - left, step, count, dy, dy_at, dy_step, dw, dw_at, dw_step
    _add(tile, top, bottom, left, whole, right, *rest)
    _add(tile.narrow, top, bottom, whole, right, right, *rest)


@njit(inner=True)
def _add(tile, top, bottom, left, end, right, rows, at, step, count, dy, dy_at, dy_step, dw, dw_at, dw_step):
    for n in range(left, end, tile.cols):  # columns that stay in the first cache for all filters
        for k in range(top, bottom, tile.rows):
            place = dw_at + k * dw_step + n
            sums = load(tile, dw, place, dw_step, bottom - k, right - n)
            filters = spaced(tile, dy, dy_at + k, 1, bottom - k)
            q = at + n
            for m in range(count):
                sums = accumulate(tile, sums, filters, m * dy_step, rows, q)
                q += step
            store(tile, sums, dw, place, dw_step, bottom - k, right - n)


# -- on many threads ---------------------------------------------------------------------------------------


@njit(parallel=True)
def _product_shared(parts, tile, rows, step, dy, dw, gemm, groups):
    for i in prange(len(parts)):
        top, bottom, left, right = parts[i, 0], parts[i, 1], parts[i, 2], parts[i, 3]
        _product(top, bottom, left, right, tile, rows, step, dy, dw, gemm, groups)


@njit(parallel=True)
def _parts_shared(parts, tile, x, rows, step, dy, dw, gemm, groups, windows):
    for i in prange(len(parts)):
        top, bottom, left, right = parts[i, 0], parts[i, 1], parts[i, 2], parts[i, 3]
        _parts(top, bottom, left, right, i, tile, x, rows, step, dy, dw, gemm, groups, windows)
