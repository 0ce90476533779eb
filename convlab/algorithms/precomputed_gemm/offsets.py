"""Where the rows of the matrix start, which of their taps hit the picture, and how all of them walk on.

From one tap to the next all rows move by the same distance. So one number moves them along, and it is moved
by only three *deltas*, taps first, then the next block of channels::

    for c0 in range(0, C, block_c):
        for r in range(R):
            for s in range(S):
                multiply the block_c channels at starts + walk
                walk += next_s      C*dilation_w
            walk    += next_r       W*C*dilation_h - (S-1)*C*dilation_w       instead of the last next_s
        walk        += next_c       block_c - (R-1)*W*C*dilation_h - (S-1)*C*dilation_w      instead of next_r

This is how CUTLASS's optimized iterator walks ("Implicit GEMM Convolution", with the fastest loop over s,
then r, then blocks of C). The weights are laid out in the same order, and the masks say where a row's tap
falls on padding. `convlab.algorithms.precomputed_gemm` multiplies with them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.index_map import IndexMap
from convlab.problem import ConvProblem
from convlab.support.checked import Count, checked
from convlab.support.checks import check_whole
from convlab.support.integers import ceil_div

BLOCK_C = 64  # channels
_AT_ONCE = 1 << 14  # pixels and taps: what is made on the way to the tables stays small beside them


@checked
def deltas(problem: ConvProblem, block_c: Count = BLOCK_C) -> tuple[int, int, int]:
    """Return (next_s, next_r, next_c): how far x's numbers lie apart, from one step of the walk to the next.

    Parameters
    ----------
    problem : ConvProblem
    block_c : int
        Channels of a block.
    """
    next_s = problem.C * problem.dilation[1]
    next_row = problem.W * problem.C * problem.dilation[0]
    back = (problem.S - 1) * next_s
    return next_s, next_row - back, block_c - (problem.R - 1) * next_row - back


deltas_of = deltas.__wrapped__  # the same for a run of a plan, which has been checked


@checked
def walk(problem: ConvProblem, block_c: Count = BLOCK_C) -> Iterator[tuple[int, int, int, int]]:
    """Yield (c, r, s, distance): the first channel and the tap of each step, and where it has led.

    Parameters
    ----------
    problem : ConvProblem
    block_c : int
    """
    next_s, next_r, next_c = deltas_of(problem, block_c)
    distance = 0
    for c in range(0, problem.C // problem.groups, block_c):
        for r in range(problem.R):
            for s in range(problem.S):
                yield c, r, s, distance
                last_s, last_r = s == problem.S - 1, r == problem.R - 1
                distance += next_s if not last_s else next_r if not last_r else next_c


steps = walk.__wrapped__


@checked
def tables(problem: ConvProblem, rows: Count) -> dict[str, np.ndarray]:
    """Return where every row of A starts, and which taps of it hit the picture.

    Parameters
    ----------
    problem : ConvProblem
    rows : int
        Rows in a tile, 8 at most. Rows past the last one repeat it, so that the last tile is whole.

    Returns
    -------
    dict
        "starts", int64 (tiles * rows,), below 0 where the window begins before the picture;
        "masks", uint8 (tiles, R*S), whose bit i is for row i of the tile.
    """
    check_whole("rows", rows, 1, 8)  # a mask is one byte
    index, M = IndexMap(problem), problem.gemm[0]
    tiles, (H, W) = ceil_div(M, rows), (problem.H, problem.W)
    starts = np.empty(tiles * rows, np.int64)
    masks = np.empty((tiles, problem.R, problem.S), np.uint8)
    step = max(1, _AT_ONCE // (rows * max(problem.R, problem.S)))
    for low in range(0, tiles, step):
        high = min(low + step, tiles)
        m = np.arange(low * rows, high * rows).clip(max=M - 1)
        n, h, w, _ = index.source(m, 0)
        starts[low * rows : high * rows] = ((n * H + h) * W + w) * problem.C
        lines = _hits(h.reshape(-1, rows, 1), problem.R, problem.dilation[0], H)  # (tiles, R)
        columns = _hits(w.reshape(-1, rows, 1), problem.S, problem.dilation[1], W)  # (tiles, S)
        np.bitwise_and(lines[:, :, None], columns[:, None], out=masks[low:high])
    return {"starts": starts, "masks": masks.reshape(tiles, -1)}


def _hits(first, taps: int, step: int, size: int) -> np.ndarray:
    """Return which of the taps from `first` (tiles, rows, 1) on lie in 0..size: one bit for each row."""
    at = first + np.arange(taps) * step  # (tiles, rows, taps)
    return np.packbits((at >= 0) & (at < size), axis=1, bitorder="little")[:, 0]


def in_walking_order(problem: ConvProblem, w: np.ndarray, block_c: Count = BLOCK_C) -> np.ndarray:
    """Return the weights as the walk meets them, (groups, K/groups, R*S*C/groups): block of C, r, s, c."""
    _, filters, taps = problem.gemm
    ordered = np.empty((problem.groups, filters, taps), w.dtype)
    for k, piece in pieces(problem, w, block_c):
        ordered[:, :, k : k + piece.shape[2]] = piece
    return ordered


def pieces(problem: ConvProblem, w: np.ndarray, block_c: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield for each step of the walk its place in the sums, and its weights (groups, K/groups, block_c)."""
    weights, k = w.reshape(problem.groups, -1, *w.shape[1:]), 0
    for c, r, s, _ in steps(problem, block_c):
        piece = weights[:, :, r, s, c : c + block_c]
        yield k, piece
        k += piece.shape[2]
