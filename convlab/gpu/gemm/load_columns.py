"""B as the same index map, for sums over pixels: row m, column k of `load_implicit`'s matrix.

    dw[f, k] = sum over m of dy[m, f] * A[m, k]        m = (n*P + p)*Q + q        k = (r*S + s)*channels + c

What is worked out once there moves here, and the other way round: a thread stays with its tap and its
channels, and its pixels (n, p, q) move on by a fixed number of pixels, the way a clock moves.
"""

from __future__ import annotations

from convlab.gpu.gemm import load_implicit
from convlab.gpu.gemm.kernel import Loader
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.gemm.vector_io import mover
from convlab.gpu.kernels import device_function
from convlab.problem import ConvProblem
from convlab.support.checked import Computed, Count, kept

Q, P, N = 0, 1, 2  # of a row: the output pixel it is at
C, RIGHT, DOWN = 0, 1, 2  # its first channel in x, and its tap's distance from an output's corner
NOWHERE = 1 << 31  # lines further down: below any picture

# What `shape` returns: 0-13 as in `load_implicit`, 14 N, 15-17 a piece of K, in images, lines and columns.


def shape(problem: ConvProblem, tile: Tile) -> tuple[int, ...]:
    """Return the numbers of the problem that `columns_loader` takes."""
    lines, next_q = divmod(tile.block_k, problem.Q)
    return (*load_implicit.sizes(problem), problem.N, *divmod(lines, problem.P), next_q)


@kept
def columns_loader(tile: Tile, width: Count, dtype: Computed) -> Loader:
    """Return the `Loader` of B that works out every place by itself."""
    take, _, clear = mover(width, dtype)
    loads, lanes = tile.loads_across(tile.block_n, width), tile.block_n // width
    rows_at_once = tile.threads // lanes

    @device_function
    def begin(rows, at, table, thread, left, edge, first, k, shape):
        channels, _, taps_s, columns, lines, _, _, above, beside, gap_h, gap_w = shape[3:14]
        column = left + thread % lanes * width
        tap = column // channels
        r = tap // taps_s
        at[C] = first + column - tap * channels
        at[RIGHT] = (tap - r * taps_s) * gap_w - beside
        at[DOWN] = r * gap_h - above if column < edge else NOWHERE
        for load in range(loads):
            pixel = k + thread // lanes + load * rows_at_once
            line = pixel // columns
            n = line // lines
            rows[load, Q], rows[load, P], rows[load, N] = pixel - line * columns, line - n * lines, n

    @device_function
    def fetch(x, rows, at, registers, shape):
        H, W, all_c, images = shape[0], shape[1], shape[2], shape[14]
        step_h, step_w = shape[8:10]
        for load in range(loads):
            h, w = rows[load, P] * step_h + at[DOWN], rows[load, Q] * step_w + at[RIGHT]
            n = rows[load, N]
            if h < H and w < W and n < images:
                take(x, ((n * H + h) * W + w) * all_c + at[C], registers, load * width)
            else:
                clear(registers, load * width)

    @device_function
    def advance(rows, at, table, edge, shape):
        columns, lines = shape[6:8]
        next_n, next_p, next_q = shape[15:]
        for load in range(loads):
            q, p, n = rows[load, Q] + next_q, rows[load, P] + next_p, rows[load, N] + next_n
            if q >= columns:
                q, p = q - columns, p + 1
            if p >= lines:
                p, n = p - lines, n + 1
            rows[load, Q], rows[load, P], rows[load, N] = q, p, n

    return Loader(begin, fetch, advance, of_b=True)
