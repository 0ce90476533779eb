"""Precomputed implicit GEMM on a GPU: the tiled product walks by deltas.

    A[m, piece] = x[starts[m] + distance] where bit `tap` of masks[m] says so, else 0
    distance   += next_s, next_r or next_c         the three deltas of `offsets`

A piece of K is one tap and block_k channels. So all threads are at the same tap at the same time; one of
three numbers, known when the kernel is started and kept in constant memory with its other arguments, moves
all of them on. What `implicit_loader` decides for every piece and row (which tap, is it inside) is a look at
a bit.

The price: pieces end with their tap. With three channels a piece of four is a quarter zeros, and so are the
packed weights. This is CUTLASS's optimized iterator; for few channels it has others.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from convlab.algorithms.precomputed_gemm.offsets import deltas_of, walk
from convlab.gpu.device import current
from convlab.gpu.gemm import launch
from convlab.gpu.gemm.heuristics import choose_tile
from convlab.gpu.gemm.kernel import Loader
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.gemm.vector_io import mover
from convlab.gpu.gemm.work import convolution_works
from convlab.gpu.kernels import device_function
from convlab.gpu.model.work import Work
from convlab.index_map import IndexMap
from convlab.problem import ConvProblem
from convlab.support.checked import Computed, Count, kept
from convlab.support.integers import ceil_div

START, MASK, PIXEL = 0, 1, 2  # of a row: where it stands in x, 32 taps' bits, its number
C, S, TAP, DISTANCE = 0, 1, 2, 3  # where the thread is along K
WORD = 32  # taps of a mask's word
AT_ONCE = 1 << 14  # pixels whose masks are made at a time


def channels_of_a_piece(problem: ConvProblem) -> int:
    """Return block_k: it must not depend on the picture, as packed weights outlive its size."""
    channels = problem.C // problem.groups
    return 4 if channels <= 4 else 8 if channels % 16 else 16


def pack(problem: ConvProblem, w):
    """Return the weights as the walk meets them, (groups, pieces * block_k, K/groups); rows of `padded`."""
    block, filters = channels_of_a_piece(problem), problem.K // problem.groups
    _, rows, columns = _packed_shape(problem)
    weights = w.reshape(problem.groups, filters, *w.shape[1:])
    packed = np.zeros((problem.groups, rows, columns), w.dtype)
    for i, (c, r, s, _) in enumerate(walk(problem, block)):
        piece = weights[:, :, r, s, c : c + block].transpose(0, 2, 1)  # (groups, block_k or less, filters)
        packed[:, i * block : i * block + piece.shape[1], :filters] = piece
    return current().put(packed)


def packed_bytes(problem: ConvProblem) -> int:
    """Bytes of what `pack` returns."""
    groups, rows, columns = _packed_shape(problem)
    return groups * rows * columns * problem.itemsize


def _packed_shape(problem: ConvProblem) -> tuple[int, int, int]:
    block = channels_of_a_piece(problem)
    pieces = ceil_div(problem.C // problem.groups, block) * problem.R * problem.S
    return problem.groups, pieces * block, launch.padded(problem.K // problem.groups)


def allocate(problem: ConvProblem, threads: int) -> dict:
    """Return the table of rows, and parts of sums where K is cut."""
    return {"rows": current().put(table(problem))} | launch.partials(problem, choose_tile(problem).parts)


def workspace_bytes(problem: ConvProblem, threads: int) -> int:
    """Bytes of what `allocate` returns."""
    words = 1 + ceil_div(problem.R * problem.S, WORD)
    return words * problem.gemm[0] * 4 + launch.partial_bytes(problem, choose_tile(problem).parts)


def table(problem: ConvProblem) -> np.ndarray:
    """Return starts and masks of all rows, uint32 (1 + ceil(R*S/32), N*P*Q).

    Row 0 holds where in x tap (0, 0) lies, as a distance that may be below 0 and then wraps around. The
    others hold the masks: bit t % 32 of row 1 + t // 32 says that tap t is inside the picture.
    """
    index, M, taps = IndexMap(problem), problem.gemm[0], problem.R * problem.S
    found = np.zeros((1 + ceil_div(taps, WORD), M), np.uint32)
    r, s = (np.arange(size) * gap for size, gap in zip((problem.R, problem.S), problem.dilation, strict=True))
    for low in range(0, M, AT_ONCE):
        some = slice(low, min(low + AT_ONCE, M))
        n, h, w, _ = index.source(np.arange(some.start, some.stop), 0)
        found[0, some] = (((n * problem.H + h) * problem.W + w) * problem.C).astype(np.uint32)
        lines, columns = h[:, None] + r, w[:, None] + s
        lines, columns = (lines >= 0) & (lines < problem.H), (columns >= 0) & (columns < problem.W)
        hits = (lines[:, :, None] & columns[:, None]).reshape(len(h), taps)
        for tap in range(taps):
            found[1 + tap // WORD, some] |= hits[:, tap].astype(np.uint32) << np.uint32(tap % WORD)
    return found


def works(problem: ConvProblem) -> tuple[Work, ...]:
    """Return what the launches of `run` ask of a GPU."""
    tile, parts, *_ = choose_tile(problem)
    tile = replace(tile, block_k=channels_of_a_piece(problem))
    table = workspace_bytes(problem, 1) - launch.partial_bytes(problem, parts)
    return convolution_works(problem, tile, parts, table)


def run(problem, x, w, workspace, y, threads):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    tile, parts, *_ = choose_tile(problem)
    tile = replace(tile, block_k=channels_of_a_piece(problem))
    rows, partials = workspace["rows"].reshape(-1), workspace.get("partials")
    launch.multiply(problem, tile, parts, precomputed_loader, shape(problem, tile), x, rows, w, partials, y)


def shape(problem: ConvProblem, tile: Tile) -> tuple[int, ...]:
    """Return what `precomputed_loader` takes of the problem: sizes, steps to any tap, and the deltas."""
    next_s, next_row = problem.C * problem.dilation[1], problem.W * problem.C * problem.dilation[0]
    steps = next_row, next_s, *(delta % (1 << 32) for delta in deltas_of(problem, tile.block_k))
    return problem.C // problem.groups, problem.S, problem.R * problem.S, *steps


@kept
def precomputed_loader(tile: Tile, width: Count, dtype: Computed) -> Loader:
    """Return the `Loader` that walks from tap to tap."""
    take, _, clear = mover(width, dtype)
    loads, lanes, threads, block_k = tile.loads_a(width), tile.lanes(width), tile.threads, tile.block_k

    @device_function
    def next_word(rows, table, tap, M):
        for load in range(loads):
            word = tap // WORD + 1
            rows[load, MASK] = table[word * M + rows[load, PIXEL]]

    @device_function
    def begin(rows, at, table, thread, m, M, first, k, shape):
        _, taps_s, taps, tap_down, tap_right = shape[:5]
        c = thread % lanes * width
        for load in range(loads):
            # Rows past the last one repeat it: their sums are not stored.
            row = min(m + thread // lanes + load * (threads // lanes), M - 1)
            rows[load, START] = table[row] + first + c
            rows[load, PIXEL] = row
        blocks, tap = divmod(k // block_k, taps)
        before = blocks * block_k  # channels
        r, s = divmod(tap, taps_s)
        at[C], at[S], at[TAP] = c + before, s, tap
        at[DISTANCE] = r * tap_down + s * tap_right + before
        next_word(rows, table, tap, M)

    @device_function
    def fetch(x, rows, at, registers, shape):
        channels, bit = shape[0], at[TAP] % WORD
        for load in range(loads):
            hit = rows[load, MASK] >> bit & 1
            if hit != 0 and at[C] < channels:
                take(x, rows[load, START] + at[DISTANCE], registers, load * width)
            else:
                clear(registers, load * width)

    @device_function
    def advance(rows, at, table, M, shape):
        _, taps_s, taps, _, _, next_s, next_r, next_c = shape
        s, tap, delta = at[S] + 1, at[TAP] + 1, next_s
        if s == taps_s:
            s, delta = 0, next_r
        if tap == taps:
            tap, delta = 0, next_c
            at[C] += block_k
        at[S], at[TAP], at[DISTANCE] = s, tap, at[DISTANCE] + delta
        if taps > WORD and tap % WORD == 0:
            next_word(rows, table, tap, M)

    return Loader(begin, fetch, advance)
