"""A as an index map: which number of x cell (m, k) is, worked out where it is needed.

    m = (n*P + p)*Q + q        k = (r*S + s)*channels + c
    A[m, k] = x[n, p*stride - top + r*dilation, q*stride - left + s*dilation, c]   or 0 outside the picture

The divisions are done once for each of a thread's rows and for its first column. From then on (r, s, c)
moves by a fixed number of columns, the way a clock moves by hours, minutes and seconds: three additions and
two carries.

Two tests in one: a coordinate below 0 is, as uint32, a very large one, so `h < H` also says 0 <= h.
"""

from __future__ import annotations

from convlab.gpu.gemm.kernel import Loader
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.gemm.vector_io import mover
from convlab.gpu.kernels import device_function
from convlab.problem import ConvProblem
from convlab.support.checked import Computed, Count, kept

START, ROW, COLUMN = 0, 1, 2  # of a row: where in x tap (0, 0) lies, and its coordinates
C, S, R = 0, 1, 2  # where the thread is along K

# What `shape` returns: 0 H, 1 W, 2 C, 3 channels of a group, 4 R, 5 S, 6 Q, 7 P, 8-9 stride, 10-11 corner,
# 12-13 dilation, 14-15 numbers of x from a tap to the one below it and to the one beside it, 16-18 a piece of
# K, in rows of taps, taps and channels. The first fourteen are `sizes`.
PICTURE, CORNER = slice(0, 2), slice(10, 12)


def shape(
    problem: ConvProblem,
    tile: Tile,
    picture: tuple[int, int] | None = None,
    corner: tuple[int, int] | None = None,
) -> tuple[int, ...]:
    """Return the numbers of the problem that `implicit_loader` takes.

    Where x is larger than the problem says, `picture` is its (H, W), and `corner` how many lines and columns
    before it the first window begins: below zero, if it begins inside.
    """
    taps, c = divmod(tile.block_k, problem.C // problem.groups)
    given = [*sizes(problem)]
    given[PICTURE], given[CORNER] = (_, W), _ = placed(problem, picture, corner)
    along = problem.dilation[0] * W * problem.C, problem.dilation[1] * problem.C
    return (*given, *along, *divmod(taps, problem.S), c)


def placed(
    problem: ConvProblem, picture: tuple[int, int] | None, corner: tuple[int, int] | None
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return what `shape` is told as kernels take it: (H, W), and a corner that wraps around below zero."""
    top, left = corner or problem.geometry[1]
    return picture or (problem.H, problem.W), (top % (1 << 32), left % (1 << 32))


def sizes(problem: ConvProblem) -> tuple[int, ...]:
    """Return what both loaders take: the letters, and how the windows lie."""
    stride, corner, dilation = problem.geometry
    letters = problem.H, problem.W, problem.C, problem.C // problem.groups, problem.R, problem.S
    return (*letters, problem.Q, problem.P, *stride, *corner, *dilation)


@kept
def implicit_loader(tile: Tile, width: Count, dtype: Computed) -> Loader:
    """Return the `Loader` that works out every place by itself."""
    take, _, clear = mover(width, dtype)
    loads, lanes, threads = tile.loads_a(width), tile.lanes(width), tile.threads

    @device_function
    def begin(rows, at, table, thread, m, M, first, k, shape):
        H, W, all_c, channels, _, taps_s, Q, P, stride_h, stride_w, top, left = shape[:12]
        for load in range(loads):
            # Rows past the last one repeat it: their sums are not stored.
            pixel = min(m + thread // lanes + load * (threads // lanes), M - 1)
            line = pixel // Q
            n = line // P
            h = (line - n * P) * stride_h - top
            w = (pixel - line * Q) * stride_w - left
            start = ((n * H + h) * W + w) * all_c
            rows[load, START] = start + first
            rows[load, ROW], rows[load, COLUMN] = h, w
        column = k + thread % lanes * width
        tap = column // channels
        at[C] = column - tap * channels
        at[R] = tap // taps_s
        at[S] = tap - at[R] * taps_s

    @device_function
    def fetch(x, rows, at, registers, shape):
        H, W, _, _, taps_r = shape[:5]
        dilation_h, dilation_w, tap_down, tap_right = shape[12:16]
        r, s = at[R], at[S]
        distance = r * tap_down + s * tap_right + at[C]
        h, w = r * dilation_h, s * dilation_w
        for load in range(loads):
            row, column = rows[load, ROW] + h, rows[load, COLUMN] + w
            if row < H and column < W and r < taps_r:
                take(x, rows[load, START] + distance, registers, load * width)
            else:
                clear(registers, load * width)

    @device_function
    def advance(rows, at, table, M, shape):
        _, _, _, channels, _, taps_s = shape[:6]
        next_r, next_s, next_c = shape[16:]
        c, s, r = at[C] + next_c, at[S] + next_s, at[R] + next_r
        if c >= channels:
            c, s = c - channels, s + 1
        if s >= taps_s:
            s, r = s - taps_s, r + 1
        at[C], at[S], at[R] = c, s, r

    return Loader(begin, fetch, advance)
