"""The matrix product under im2row, im2col and pointwise, written with the register tile.

    y[m, n] = sum over k of a[m, k] * w[n, k]        a: M x K    w: N x K    y: M x N

`pack` lays the weights out once in the order the kernel reads them; `gemm` then fills y tile by tile.
"""

from __future__ import annotations

import numpy as np

from convlab.cpu.epilogue import Output, begin, finish, put_down, taken_up
from convlab.cpu.jit import njit, prange
from convlab.cpu.product_tile import product_tile, tile_of
from convlab.cpu.register_tile import VectorTile, accumulate, prefetch, spaced, tile_for
from convlab.cpu.threads import parallel_for
from convlab.cpu.tile_size import TOGETHER
from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty
from convlab.support.integers import round_up

# Terms of a sum that are added up in one go: a block's rows and a panel share the second cache.
# Longer sums are put down in y, and taken up again.
LONGEST = 1536
FAR = 256 << 10  # bytes of a layer's weights from which on they are asked for early


def pack(w: np.ndarray, tile: VectorTile | None = None) -> np.ndarray:
    """Return the weights in panels as wide as a tile, each panel stored k by k.

    Parameters
    ----------
    w : ndarray, (groups, N, K)
    tile : VectorTile, optional
        That will multiply them; by default the one for N columns.

    Returns
    -------
    ndarray, (groups, K * padded N)
        Panel after panel, each (K, cols), as wide as the tile. N is padded with zeros to whole
        vectors, so the last panel may be narrower than the others; that of column n begins at n*K all the
        same.
    """
    groups, N, K = w.shape
    cols = (tile or product_tile(w.dtype, N)).cols
    panels = empty_panels(groups, N, K, w.dtype, cols)
    put(panels, K, w, cols)
    return panels


def pack_filters(problem: ConvProblem, w: np.ndarray, tile: VectorTile | None = None) -> np.ndarray:
    """Return the filters w (K, R, S, C/groups) in panels: a group's filters are N, their numbers K.

    A tile on which groups lie side by side has the filters of all of them as its N. w may lie as it likes:
    where its taps are not side by side they are put into their places one by one.
    """
    (_, _, taps), tile, channels = problem.gemm, tile or tile_of(problem), w.shape[3]
    groups = 1 if tile.group else problem.groups
    if w.flags.c_contiguous:
        return pack(w.reshape(groups, -1, taps), tile)
    panels = empty_panels(groups, problem.K // groups, taps, w.dtype, tile.cols)
    for tap, (r, s) in enumerate(np.ndindex(problem.R, problem.S)):
        put(panels, taps, w[:, r, s].reshape(groups, -1, channels), tile.cols, tap * channels)
    return panels


def empty_panels(groups: int, N: int, K: int, dtype, cols: int) -> np.ndarray:
    """Return panels of so many columns for `put`, as `pack` lays them out; only the padding is written."""
    panels = aligned_empty((groups, K * padded(N, dtype)), dtype)
    panels[:, (N - N % cols) * K :] = 0
    return panels


def put(panels: np.ndarray, K: int, w: np.ndarray, cols: int, k: int = 0) -> None:
    """Write some of the weights into their places.

    Parameters
    ----------
    panels : ndarray, (groups, K * padded N)
        From `empty_panels`.
    K : int
        Length of the sums.
    w : ndarray, (groups, N, numbers)
        The weights of all columns, from number k of their sums on.
    cols : int
        Columns of a panel.
    k : int
    """
    groups, columns, numbers = w.shape
    N = panels.shape[1] // K  # padded
    for left in range(0, columns, cols):
        width, end = min(cols, N - left), min(left + cols, columns)
        panel = panels[:, left * K : (left + width) * K].reshape(groups, K, width)
        panel[:, k : k + numbers, : end - left] = w[:, left:end].swapaxes(1, 2)


def asked_for(panels: np.ndarray) -> int | None:
    """Return 0, the place of the first panel, if panels are to be asked for early; None if they are few.

    In a network weights come from far away: its other layers were here in between. A few kilobytes are here
    at once, and to ask for them would take longer. What compiled code is told by None it need not look at.
    """
    return 0 if panels.nbytes > FAR else None


def padded(N: int, dtype) -> int:
    """Return N rounded up to whole vectors."""
    lanes = tile_for(dtype).lanes
    return round_up(N, lanes)


def gemm(
    a, a_row, a_k, panels, out: Output, column, M, N, K, threads: int = 1, launch=parallel_for, tile=None
):
    """Compute y[m, column + n] = sum over k of a[m*a_row + k*a_k] * w[n, k], and what else `out` says.

    Parameters
    ----------
    a : ndarray, one axis
        The matrix, flat. The steps between its rows (`a_row`) and along k (`a_k`) say how it lies: an im2row
        matrix has a_row=K, a_k=1; an im2col matrix is the transpose, a_row=1, a_k=M.
    panels : ndarray, (K * padded N,)
        One group's weights, from `pack`.
    out : Output
        Where y lies. Column n of the product is column `column` + n of y.
    column : int
    M, N, K : int
        Rows of a, columns of the product, length of the sums.
    threads : int
    launch : callable
        `parallel_for`; or `bound_for`, then what computes it is returned.
    tile : VectorTile, optional
        That the weights were packed for; by default as `pack` chooses it.
    """
    tile = tile or product_tile(a.dtype, N)
    arrays = a, a_row, None if a_k == 1 else a_k, panels, out, column
    sides = (M, tile.rows), (N, tile.cols)
    how = asked_for(panels), LONGEST if K > LONGEST else None
    return launch(threads, *sides, gemm_part, _shared, tile, *arrays, M, N, K, *how)


@njit
def whole_panels(right, tile):
    """Return where the narrow tile takes over: what is left over at the end may be one vector wide."""
    left_over = right % tile.cols  # parts begin at whole panels, so only the last can have any
    return right - left_over if left_over <= tile.narrow.cols else right


@njit
def gemm_part(
    top, bottom, left, right, tile, a, a_row, a_k, panels, out, column, M, N, K, after=None, longest=None
):
    """Compute rows top..bottom and columns left..right of the product; `left` is a multiple of the tile's.

    With `longest` sums are cut into pieces of at most so many terms, all alike. Without, nothing of that is
    compiled: short sums would take 3 to 6 percent longer.

    With `after` the next panel is fetched while one is multiplied, and after the last one what begins there:
    the first panel again, for the next block of pixels, or one of another product.
    """
    whole = whole_panels(right, tile)
    block = TOGETHER // tile.rows * tile.rows
    rest = a, a_row, a_k, panels, out, column, M, N, K, after
    for low in range(top, bottom, block):  # a block of pixels that stays in the cache for all filters
        high = min(low + block, bottom)
        if longest is None:
            _block(low, high, left, whole, tile, None, *rest)
            _block(low, high, whole, right, tile.narrow, None, *rest)
        else:
            pieces = (K + longest - 1) // longest
            piece = (K + pieces - 1) // pieces
            for k0 in range(0, K, piece):
                cut = k0, min(k0 + piece, K)
                _block(low, high, left, whole, tile, cut, *rest)
                _block(low, high, whole, right, tile.narrow, cut, *rest)


@njit(inner=True)
def _block(low, high, left, right, tile, cut, a, a_row, a_k, panels, out, column, M, N, K, after):
    """Compute a block of the product; with `cut` (k0, k1) only these products are added to its sums in y."""
    k0, k1 = (0, K) if cut is None else cut
    for n in range(left, right, tile.cols):  # a panel of filters
        if after is not None:
            wanted = (n + tile.cols) * K + k0 * tile.cols if n + tile.cols < right else after
            apart = share(tile, high - low)
        for m in range(low, high, tile.rows):  # a tile of pixels
            if cut is None:
                sums = begin(tile, out, m, column + n, M - m, N - n)
            else:
                sums = taken_up(tile, out, m, column + n, M - m, N - n, k0 == 0)
            rows = spaced(tile, a, m * a_row, a_row, M - m)
            q = n * K + k0 * tile.cols
            for k in range(k0, k1):
                sums = accumulate(tile, sums, rows, k if a_k is None else k * a_k, panels, q)
                if after is not None:
                    prefetch(panels, wanted)
                    wanted += apart
                q += tile.cols
            if cut is None:
                finish(tile, sums, out, m, column + n, M - m, N - n)
            else:
                put_down(tile, sums, out, m, column + n, M - m, N - n, k1 == K)


@njit
def share(tile, rows):
    """Return the numbers of the next panel that each step of a tile asks for, in a block of so many rows.

    Its tiles read the same panel one after the other, and each asks for its part: so weights flow in evenly.
    """
    tiles = max(1, (rows + tile.rows - 1) // tile.rows)  # never 0, as the compiler sees: it asks nothing
    return (tile.cols + tiles - 1) // tiles


@njit(parallel=True)
def _shared(parts, tile, a, a_row, a_k, panels, out, column, M, N, K, after, longest):
    for i in prange(len(parts)):
        top, bottom, left, right = parts[i, 0], parts[i, 1], parts[i, 2], parts[i, 3]
        rest = a, a_row, a_k, panels, out, column, M, N, K, after, longest
        gemm_part(top, bottom, left, right, tile, *rest)
