"""Precomputed implicit GEMM: the same product, with the index map worked out beforehand.

    starts[m]        = where in x pixel (p*stride - top, q*stride - left) of row m lies: tap (0, 0)
    masks[m, (r, s)] = does tap (r, s) of row m hit the picture?
    A[m, (r, s, c)]  = x[starts[m] + walk(r, s, c)] where the mask says so, else 0

The walk is the same for every row. So one number moves all of them along, and it is moved by only three
*deltas*, taps first, then the next block of channels::

    for c0 in range(0, C, block_c):
        for r in range(R):
            for s in range(S):
                multiply the block_c channels at starts + walk
                walk += next_s      C*dilation_w
            walk    += next_r       W*C*dilation_h - (S-1)*C*dilation_w       instead of the last next_s
        walk        += next_c       block_c - (R-1)*W*C*dilation_h - (S-1)*C*dilation_w      instead of next_r

No division is left in the loops. This is how CUTLASS's optimized iterator walks ("Implicit GEMM
Convolution", with the fastest loop over s, then r, then blocks of C), and the kind of table behind cuDNN's
IMPLICIT_PRECOMP_GEMM. Indirect convolution goes the whole way: a place for every pixel *and* tap.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.algorithms.base import Algorithm, Form, Formula
from convlab.algorithms.im2row import panel_bytes
from convlab.algorithms.implicit_gemm import ONCE, TRAFFIC
from convlab.algorithms.passes import through_a_table
from convlab.gpu.forms import gpu_form
from convlab.index_map import IndexMap
from convlab.jit import late, njit, prange
from convlab.problem import ConvProblem
from convlab.threads import TILES, spread

BLOCK_C = 64  # channels
_NUMPY_BLOCK = 16
_AT_ONCE = 1 << 14  # pixels and taps: what is made on the way to the tables stays small beside them


def deltas(problem: ConvProblem, block_c: int = BLOCK_C) -> tuple[int, int, int]:
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


def walk(problem: ConvProblem, block_c: int = BLOCK_C) -> Iterator[tuple[int, int, int, int]]:
    """Yield (c, r, s, distance): the first channel and the tap of each step, and where it has led.

    Parameters
    ----------
    problem : ConvProblem
    block_c : int
    """
    next_s, next_r, next_c = deltas(problem, block_c)
    distance = 0
    for c in range(0, problem.C // problem.groups, block_c):
        for r in range(problem.R):
            for s in range(problem.S):
                yield c, r, s, distance
                last_s, last_r = s == problem.S - 1, r == problem.R - 1
                distance += next_s if not last_s else next_r if not last_r else next_c


def tables(problem: ConvProblem, rows: int) -> dict[str, np.ndarray]:
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
    index, M = IndexMap(problem), problem.gemm[0]
    tiles, (H, W) = -(-M // rows), (problem.H, problem.W)
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


def in_walking_order(problem: ConvProblem, w: np.ndarray, block_c: int = BLOCK_C) -> np.ndarray:
    """Return the weights as the walk meets them, (groups, K/groups, R*S*C/groups): block of C, r, s, c."""
    _, filters, taps = problem.gemm
    ordered = np.empty((problem.groups, filters, taps), w.dtype)
    for k, piece in _pieces(problem, w, block_c):
        ordered[:, :, k : k + piece.shape[2]] = piece
    return ordered


def _pieces(problem: ConvProblem, w: np.ndarray, block_c: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield for each step of the walk its place in the sums, and its weights (groups, K/groups, block_c)."""
    weights, k = w.reshape(problem.groups, -1, *w.shape[1:]), 0
    for c, r, s, _ in walk(problem, block_c):
        piece = weights[:, :, r, s, c : c + block_c]
        yield k, piece
        k += piece.shape[2]


def _run_numpy(problem, x, weights, workspace, y, threads):
    flat, out = x.reshape(-1), y.reshape(-1, problem.groups, problem.K // problem.groups)
    channels = problem.C // problem.groups
    for g in range(problem.groups):
        for m in range(0, len(out), 32):  # so many rows at a time
            starts = workspace["starts"][m : m + 32, None]
            sums, k = 0, 0
            for c, r, s, distance in walk(problem, _NUMPY_BLOCK):
                width = min(_NUMPY_BLOCK, channels - c)
                bits = workspace["masks"][m // 8 : m // 8 + 4, r * problem.S + s]
                hit = np.unpackbits(bits, bitorder="little")[:, None]  # (rows, 1)
                at = (starts + distance + g * channels + np.arange(width)) * hit  # padding reads x[0], then 0
                sums = sums + np.where(hit, flat[at], 0) @ weights[g, :, k : k + width].T
                k += width
            out[m : m + 32, g] = sums[: len(out) - m]


# -- the fast form -----------------------------------------------------------------------------------------


zeros, masked, accumulate, store = late("convlab.tile", "zeros", "masked", "accumulate", "store")
(whole_panels,) = late("convlab.gemm", "whole_panels")


def _run_cpu(problem, x, panels, workspace, y, threads):
    from convlab.tile import tile_for

    tile, (M, filters, _) = tile_for(problem.dtype), problem.gemm
    tables = workspace["starts"], workspace["masks"], workspace["outside"]
    channels = problem.C // problem.groups
    sizes = M, problem.R, problem.S, channels, filters, problem.K
    tiles = len(workspace["masks"])
    for g in range(problem.groups):
        pixels, out = x.reshape(-1)[g * channels :], y.reshape(-1)[g * filters :]
        arrays = pixels, *tables, panels[g], out
        rest = sizes, BLOCK_C, deltas(problem)
        spread(threads, (tiles, 1), (filters, tile.cols), _precomputed, _shared, tile, *arrays, *rest)


@njit
def _precomputed(first, end, left, right, tile, x, starts, masks, outside, panels, y, sizes, block_c, steps):
    whole = whole_panels(right, tile)
    for low in range(first, end, TILES):
        high = min(low + TILES, end)
        rest = x, starts, masks, outside, panels, y, sizes, block_c, steps
        _block(low, high, left, whole, tile, *rest)
        _block(low, high, whole, right, tile.narrow, *rest)


@njit
def _block(low, high, left, right, tile, x, starts, masks, outside, panels, y, sizes, block_c, steps):
    M, R, S, channels, filters, y_row = sizes
    next_s, next_r, next_c = steps
    for k in range(left, right, tile.cols):  # a panel of filters
        for i in range(low, high):  # a tile of pixels
            m = i * tile.rows
            sums = zeros(tile)
            distance, q = 0, k * R * S * channels
            for c0 in range(0, channels, block_c):
                width = min(block_c, channels - c0)
                for r in range(R):
                    for s in range(S):
                        bits = masks[i, r * S + s]
                        if bits == 0:  # padding for the whole tile: nothing but zeros to add
                            q += width * tile.cols
                        else:
                            rows = masked(tile, x, distance, starts, m, bits, outside)
                            for c in range(width):
                                sums = accumulate(tile, sums, rows, c, panels, q)
                                q += tile.cols
                        distance += next_s if s < S - 1 else next_r if r < R - 1 else next_c
            store(tile, sums, y, m * y_row + k, y_row, M - m, filters - k)


@njit(parallel=True)
def _shared(parts, tile, x, starts, masks, outside, panels, y, sizes, block_c, steps):
    for i in prange(len(parts)):
        first, end, left, right = parts[i, 0], parts[i, 1], parts[i, 2], parts[i, 3]
        rest = x, starts, masks, outside, panels, y, sizes, block_c, steps
        _precomputed(first, end, left, right, tile, *rest)


def _allocate_cpu(problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    from convlab.tile import tile_for

    outside = np.zeros(min(BLOCK_C, problem.C // problem.groups), problem.dtype)  # what padding reads
    return tables(problem, tile_for(problem.dtype).rows) | {"outside": outside}


def _pack_cpu(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    from convlab.gemm import empty_panels, put

    _, filters, taps = problem.gemm
    panels = empty_panels(problem.groups, filters, taps, w.dtype)
    for k, piece in _pieces(problem, w, BLOCK_C):
        put(panels, taps, piece, k=k)
    return panels


ALGORITHM = Algorithm(
    name="precomputed_gemm",
    summary="Implicit GEMM whose rows start at places worked out beforehand and walk by three deltas.",
    source="CUTLASS, Implicit GEMM Convolution (optimized iterators)",
    forms={
        "numpy": Form(
            run=_run_numpy,
            bytes_moved=Formula(TRAFFIC.text + " + N*P*Q*8 + ceil(N*P*Q/8) * R*S"),
            workspace_bytes=Formula("ceil(N*P*Q/8) * (8*8 + R*S)"),
            pack=lambda problem, w: in_walking_order(problem, w, _NUMPY_BLOCK),
            allocate=lambda problem, threads: tables(problem, rows=8),
        ),
        "cpu": Form(
            run=_run_cpu,
            bytes_moved=Formula(TRAFFIC.text + " + N*P*Q*8 + ceil(N*P*Q/MR) * R*S"),
            workspace_bytes=Formula(f"ceil(N*P*Q/MR) * (MR*8 + R*S) + min({BLOCK_C}, C/G) * b"),
            packed_bytes=panel_bytes,
            pack=_pack_cpu,
            allocate=_allocate_cpu,
            passes=lambda: (through_a_table(),),
        ),
        "gpu": gpu_form(
            "precomputed_gemm",
            parts=("pack", "packed_bytes", "allocate", "workspace_bytes"),
            bytes_moved=Formula(ONCE.text + " + N*P*Q * (1 + ceil(R*S/32)) * 4"),
        ),
    },
)
