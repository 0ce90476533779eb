"""Indirect convolution: leave the pixels where they are, and multiply through a table of where they lie.

    offsets[i, t, j] = where pixel j of tile i finds tap t: the distance of that input pixel from the start of
                       its image, or -1 if the tap falls on padding
    y[m, k]          = sum over taps t, channels c of  (x at offsets[m, t])[c] * w[k, t, c]

im2row copies every window so that a matrix product can read rows. The product does not need rows: it needs
to know where each one begins. So the copy is replaced by this table, the *indirection buffer*: one number for
a pixel and a tap, C times less than the matrix. Taps on padding are led to one shared row of zeros.

The table holds distances, not addresses. So it is good for every image of a batch, every group of channels
and every new input of the same size: each adds its own start, unless the tap is on padding.

Dukhan 2019, "The Indirect Convolution Algorithm", arXiv:1907.02129; laid out as XNNPACK does: tile by tile,
in a tile tap by tap, in a tap pixel by pixel. *Indirect* has a buffer of places; *implicit* GEMM has none.
"""

from __future__ import annotations

import numpy as np

from convlab.algorithms.binding import gpu_form
from convlab.algorithms.im2row import pack_panels, panel_bytes
from convlab.algorithms.implicit_gemm import ONCE
from convlab.algorithms.spec import Algorithm, Form, Formula
from convlab.cost.phases import packing, table_pass, through_a_table
from convlab.cpu.jit import late, njit, prange
from convlab.cpu.threads import TILES, spread
from convlab.problem import ConvProblem
from convlab.support.checked import Count, checked
from convlab.support.checks import LARGEST


@checked
def indirection_buffer(problem: ConvProblem, rows: Count = 1, first: int = 0) -> np.ndarray:
    """Return where the pixels of every window lie in one image.

    Parameters
    ----------
    problem : ConvProblem
    rows, first : int
        Output pixels in a tile; tiles to leave out at the beginning.

    Returns
    -------
    ndarray of int32, (ceil(P*Q / rows) - first, R*S, rows)
        Distances from the image's first number, in numbers; -1 on padding. Pixels past the last one repeat
        it, so that the last tile is whole.
    """
    (top, _), (left, _) = problem.padding
    M, R, S = problem.P * problem.Q, problem.R, problem.S
    r, s = (np.arange(taps)[:, None] * gap for taps, gap in zip((R, S), problem.dilation, strict=True))
    offsets = np.empty((-(-M // rows) - first, R, S, rows), np.int32)
    step = max(1, 2**14 // (R * S * rows))  # tiles at a time: what is made on the way stays small
    for low in range(0, len(offsets), step):
        some = offsets[low : low + step]  # tiles first + low and following
        m = (np.arange(len(some) * rows) + (first + low) * rows).clip(max=M - 1).reshape(-1, 1, rows)
        h = m // problem.Q * problem.stride[0] - top + r  # (tiles, R, rows)
        w = m % problem.Q * problem.stride[1] - left + s  # (tiles, S, rows)
        lines = np.where((h >= 0) & (h < problem.H), h * problem.W * problem.C, -LARGEST)
        columns = np.where((w >= 0) & (w < problem.W), w * problem.C, -LARGEST)
        some[...] = np.maximum(lines[:, :, None] + columns[:, None], -1)  # below 0 if either is outside
    return offsets.reshape(-1, R * S, rows)


def refuses(problem: ConvProblem) -> str | None:
    """Say when a distance would not fit into the 4 bytes it has."""
    size = problem.H * problem.W * problem.C
    return f"one image has {size} numbers, the offsets reach {LARGEST}" if size > LARGEST else None


def _allocate(problem: ConvProblem, rows: int | None = None) -> dict[str, np.ndarray]:
    if rows is None:  # those of the register tile
        from convlab.cpu.register_tile import tile_for

        rows = tile_for(problem.dtype).rows
    outside = np.zeros(problem.C // problem.groups, problem.dtype)  # what a tap on padding reads
    return {"offsets": indirection_buffer(problem, rows), "outside": outside}


def resize(old: ConvProblem, new: ConvProblem, workspace: dict) -> tuple[dict[str, np.ndarray], str]:
    """Return the buffer for a picture of another size, and how much of it had to be made anew.

    Another width changes every distance. Another height changes those of windows only that reach the lower
    edge, old or new. The batch changes none.
    """
    if (old.H, old.W) == (new.H, new.W):
        return workspace, "nothing"
    rows = workspace["offsets"].shape[2]
    reach = (new.R - 1) * new.dilation[0] - new.padding[0][0]  # from a window's first row to its last tap
    above = -((reach - min(old.H, new.H)) // new.stride[0])  # lines of windows that end above both edges
    kept = min(max(0, above), old.P, new.P) * new.Q // rows if old.W == new.W else 0
    offsets = np.concatenate([workspace["offsets"][:kept], indirection_buffer(new, rows, first=kept)])
    return workspace | {"offsets": offsets}, ("part" if kept < len(offsets) else "nothing") if kept else "all"


def _run_numpy(problem, x, w, workspace, y, threads):
    taps, channels, (_, filters, _) = problem.R * problem.S, problem.C // problem.groups, problem.gemm
    for n in range(problem.N):
        image, out = x[n].reshape(-1), y[n].reshape(-1, problem.K)
        for g in range(problem.groups):
            k = slice(g * filters, (g + 1) * filters)
            weights = w[k].reshape(filters, taps, channels)
            for m, places in enumerate(workspace["offsets"][:, :, 0]):
                out[m, k] = 0
                for t, place in enumerate(places):
                    row = workspace["outside"] if place < 0 else image[place + g * channels :][:channels]
                    out[m, k] += weights[:, t] @ row


# -- the fast form -----------------------------------------------------------------------------------------

zeros, listed, accumulate, store = late("convlab.cpu.register_tile", "zeros", "listed", "accumulate", "store")
(whole_panels,) = late("convlab.cpu.gemm", "whole_panels")


def _run_cpu(problem, x, panels, workspace, y, threads):
    from convlab.cpu.register_tile import tile_for

    tile, (_, filters, _) = tile_for(problem.dtype), problem.gemm
    channels, pixels, offsets = problem.C // problem.groups, problem.P * problem.Q, workspace["offsets"]
    outside = None if problem.padding == ((0, 0), (0, 0)) else workspace["outside"]
    sizes = problem.H * problem.W * problem.C, pixels, problem.R * problem.S, channels, filters, problem.K
    tiles, arrays = problem.N * len(offsets), (tile, x, offsets, outside, panels, y)
    for g in range(problem.groups):
        spread(threads, (tiles, 1), (filters, tile.cols), _indirect, _shared, *arrays, g, sizes)


@njit
def _indirect(first, end, left, right, tile, x, offsets, outside, panels, y, g, sizes):
    whole, rest = whole_panels(right, tile), (x, offsets, outside, panels, y, g, sizes)
    for low in range(first, end, TILES):
        _block(low, min(low + TILES, end), left, whole, tile, *rest)
        _block(low, min(low + TILES, end), whole, right, tile.narrow, *rest)


@njit
def _block(low, high, left, right, tile, x, offsets, outside, panels, y, g, sizes):
    (image, pixels, taps, channels, filters, y_row), tiles = sizes, len(offsets)  # tiles of one image
    for k in range(left, right, tile.cols):
        n, i = divmod(low, tiles)  # tile i of image n
        for _ in range(low, high):
            m = i * tile.rows
            sums, q = zeros(tile), g * panels.shape[1] + k * taps * channels
            for t in range(taps):
                if outside is not None and _all_outside(offsets, i, t, tile.rows):  # nothing to add
                    q += channels * tile.cols
                    continue
                rows = listed(tile, x, n * image + g * channels, offsets, (i * taps + t) * tile.rows, outside)
                for c in range(channels):
                    sums = accumulate(tile, sums, rows, c, panels, q)
                    q += tile.cols
            store(tile, sums, y, (n * pixels + m) * y_row + g * filters + k, y_row, pixels - m, filters - k)
            n, i = (n, i + 1) if i + 1 < tiles else (n + 1, 0)


@njit
def _all_outside(offsets, i, t, rows):
    inside = False
    for j in range(rows):  # not offsets[i, t].max(): that takes longer than a short sum
        inside |= offsets[i, t, j] >= 0
    return not inside


@njit(parallel=True)
def _shared(parts, tile, x, offsets, outside, panels, y, g, sizes):
    for i in prange(len(parts)):
        first, end, left, right = parts[i, 0], parts[i, 1], parts[i, 2], parts[i, 3]
        _indirect(first, end, left, right, tile, x, offsets, outside, panels, y, g, sizes)


TRAFFIC = "(N*P*Q*R*S*C + K*R*S*C/G + N*P*Q*K) * b + "  # x once a tap, w, y; and the table:

ALGORITHM = Algorithm(
    name="indirect",
    summary="Leave the pixels in place and multiply through a table of where they lie.",
    source="Dukhan 2019, arXiv:1907.02129",
    refuses=refuses,
    forms={
        "numpy": Form(
            run=_run_numpy,
            bytes_moved=Formula(TRAFFIC + "N*P*Q*R*S * 4"),
            workspace_bytes=Formula("P*Q * R*S * 4 + C/G * b"),
            allocate=lambda problem, threads: _allocate(problem, rows=1),
            resize=resize,
        ),
        "cpu": Form(
            run=_run_cpu,
            bytes_moved=Formula(TRAFFIC + "N * ceil(P*Q/MR)*MR * R*S * 4"),
            workspace_bytes=Formula("ceil(P*Q/MR)*MR * R*S * 4 + C/G * b"),
            packed_bytes=panel_bytes,
            pack=pack_panels,
            allocate=lambda problem, threads: _allocate(problem),
            resize=resize,
            passes=lambda: (through_a_table(rows="N * ceil(P*Q/MR)*MR"),),
            once=lambda: (packing(), table_pass("ceil(P*Q/MR)*MR * R*S")),
        ),
        "gpu": gpu_form(
            "indirect",
            parts=("pack", "packed_bytes", "allocate", "workspace_bytes", "resize"),
            bytes_moved=Formula(ONCE.text + " + ceil(P*Q/32)*32 * R*S * 4"),
        ),
    },
)
