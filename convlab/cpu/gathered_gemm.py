"""The matrix product of which one factor is gathered block by block: the fast form of implicit GEMM.

    y[m, n] = sum over k of A[m, k] * w[n, k]        A[m, k] = x at index_map(m, k), or 0 on padding

Like `gemm.py`, but A is nowhere. A block of its rows is gathered into `scratch`, a piece of k at a time. All
panels of filters are multiplied with it while it is in the cache, and the sums go on where the piece before
left them. Whole runs of channels are copied, so the index map is asked once a run, not once a number. Where a
run begins is counted on from the one before: to divide takes longer than to copy a short run.
"""

from __future__ import annotations

from convlab.cpu.copy_run import copy_run
from convlab.cpu.epilogue import Output, put_down, taken_up
from convlab.cpu.gemm import whole_panels
from convlab.cpu.jit import njit, prange
from convlab.cpu.product_tile import tile_of
from convlab.cpu.register_tile import accumulate, load_listed, spaced, store_listed
from convlab.cpu.threads import parallel_for


def gathered_gemm(problem, x, panels, scratch, out: Output, blocks, threads: int = 1) -> None:
    """Fill out.y (N, P, Q, K) with the convolution of x (N, H, W, C) and packed weights.

    Parameters
    ----------
    problem : ConvProblem
    x : ndarray
    panels : ndarray, (groups, K/groups * R*S*C/groups or more)
        From `convlab.cpu.gemm.pack`.
    scratch : ndarray, (threads, block_m * block_k)
        Written and read.
    out : Output
    blocks : (int, int, int)
        block_m, block_n, block_k; block_n a multiple of the tile's columns, or all of the filters.
    threads : int
    """
    lies = problem.gemm, windows_of(problem), None, blocks
    multiply(tile_of(problem), x, panels, scratch, out, *lies, threads)


def multiply(tile, x, panels, scratch, out, gemm, windows, spots, blocks, threads: int) -> None:
    """Do the same where windows lie as `windows` says, and rows of the product go where `spots` says.

    Parameters
    ----------
    tile : VectorTile
        That the weights were packed for.
    gemm : (int, int, int)
        M, N and K of the product of each group.
    windows : tuple of int
        As `windows_of` returns it. A corner below 0 leaves out so many lines or columns of x.
    spots : None, or (ndarray of int64, tuple)
        None if row m of the product is pixel m of y. Else a scratch of integers (threads * block_m,), and
        from what `_place` works out where in y they lie.
    """
    M, N, K = gemm
    places, target = (None, None) if spots is None else spots
    for g, panel in enumerate(panels):
        rest = out, places, target, N, K, g, blocks, windows
        arguments = tile, scratch, x.reshape(-1), panel, *rest
        parallel_for(threads, (M, tile.rows), (N, tile.cols), _alone, _shared, *arguments)


def windows_of(problem) -> tuple[int, ...]:
    """Return how the windows lie on x, as `gather` takes it."""
    stride, corner, dilation = problem.geometry
    outputs = problem.P, problem.Q, problem.S, problem.groups
    return *problem.x_shape[1:], *outputs, *stride, *corner, *dilation


@njit
def _part(cut, i, tile, scratch, x, panels, out, places, target, N, K, group, blocks, windows):
    """Compute, as thread i, some rows and columns of one group; panels begin at the group."""
    (top, bottom, left, right), (block_m, block_n, block_k), mine = cut, blocks, scratch[i]
    for m0 in range(top, bottom, block_m):
        m1 = min(m0 + block_m, bottom)
        if places is not None:
            _place(places, i * block_m - m0, m0, m1, target)
        for n0 in range(left, right, block_n):
            n1 = min(n0 + block_n, right)
            whole = whole_panels(n1, tile)
            for k0 in range(0, K, block_k):
                k1 = min(k0 + block_k, K)
                gather(x, mine, block_k, m0, m1, k0, k1, group, windows)
                rest = mine, block_k, panels, out, group * N, places, i * block_m - m0, N, K
                _add(m0, m1, n0, whole, k0, k1, tile, *rest)
                _add(m0, m1, whole, n1, k0, k1, tile.narrow, *rest)


@njit
def _place(places, at, m0, m1, target):
    """Write down at places[at + m] where in y row m goes: pixels that lie some lines and columns apart."""
    P, Q, start, image, line, column = target
    for m in range(m0, m1):
        n, rest = divmod(m, P * Q)
        p, q = divmod(rest, Q)
        places[at + m] = start + n * image + p * line + q * column


@njit
def gather(x, scratch, block_k, m0, m1, k0, k1, group, windows):
    """Copy A[m0:m1, k0:k1] of one group into `scratch`, whose rows lie block_k apart; x is flat."""
    H, W, C, P, Q, S, groups, stride_p, stride_q, top, left, dilation_r, dilation_s = windows
    channels = C // groups
    # Taps that lie side by side in x are one run of it; dilation and groups tear them apart.
    together = S if dilation_s == 1 and groups == 1 else 1
    run = together * channels
    first_tap, first_skip = divmod(k0, run)  # a block may begin in the middle of a run
    first_r, first_s = divmod(first_tap * together, S)
    for m in range(m0, m1):
        n, rest = divmod(m, P * Q)
        p, q = divmod(rest, Q)
        at, k, r, s, skip = (m - m0) * block_k, k0, first_r, first_s, first_skip
        while k < k1:
            row = p * stride_p - top + r * dilation_r
            col = q * stride_q - left + s * dilation_s
            count = min(run - skip, k1 - k)
            first, last = 0, 0  # which of these numbers lie in the picture
            if 0 <= row < H:
                first = min(max(-col * channels - skip, 0), count)
                last = max(first, min((W - col) * channels - skip, count))
            if first > 0:
                scratch[at : at + first] = 0
            start = ((n * H + row) * W + col) * C + group * channels + skip + first
            copy_run(scratch, at + first, x, start, last - first)
            if last < count:
                scratch[at + last : at + count] = 0
            at += count
            k += count
            skip, s = 0, s + together
            if s == S:
                r, s = r + 1, 0


@njit(inner=True)
def _add(m0, m1, left, right, k0, k1, tile, scratch, block_k, panels, out, column, places, at, N, K):
    """Add the products of k0..k1 to the sums in y, or begin them; the last ones finish them."""
    for n in range(left, right, tile.cols):  # a panel of filters
        for m in range(m0, m1, tile.rows):  # a tile of pixels
            count, width, to = m1 - m, N - n, column + n
            if places is None or k0 == 0:
                sums = taken_up(tile, out, m, to, count, width, k0 == 0)
            else:
                sums = load_listed(tile, out.y, to, places, at + m, count, width)
            rows = spaced(tile, scratch, (m - m0) * block_k, block_k, count)
            q = n * K + k0 * tile.cols
            for k in range(k1 - k0):
                sums = accumulate(tile, sums, rows, k, panels, q)
                q += tile.cols
            if places is None:
                put_down(tile, sums, out, m, to, count, width, k1 == K)
            else:
                store_listed(tile, sums, out.y, to, places, at + m, count, width)


@njit
def _alone(top, bottom, left, right, tile, scratch, x, panels, out, places, target, N, K, g, blocks, windows):
    rest = x, panels, out, places, target, N, K, g, blocks, windows
    _part((top, bottom, left, right), 0, tile, scratch, *rest)


@njit(parallel=True)
def _shared(parts, tile, scratch, x, panels, out, places, target, N, K, g, blocks, windows):
    for i in prange(len(parts)):
        cut = parts[i, 0], parts[i, 1], parts[i, 2], parts[i, 3]
        _part(cut, i, tile, scratch, x, panels, out, places, target, N, K, g, blocks, windows)
