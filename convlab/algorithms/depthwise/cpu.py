"""Depthwise convolution, the fast form: sums of a tile of pixels and channels, while the window slides by.

One filter a channel: the columns of the register tile are channels (`_lines`). More of them: its columns are
the filters of one channel (`_filters`), and the product is a small matrix product after all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from convlab.cpu import gemm
from convlab.cpu.epilogue import begin, finish, output
from convlab.cpu.gemm import whole_panels
from convlab.cpu.jit import njit, prange
from convlab.cpu.register_tile import accumulate, tile_for, within
from convlab.cpu.sliding_window import slide, window_for
from convlab.cpu.threads import parallel_for
from convlab.problem import ConvProblem
from convlab.support.checked import checked


class Sizes(NamedTuple):
    """The problem, as the kernel takes it."""

    H: int
    W: int
    C: int
    P: int
    Q: int
    K: int
    R: int
    S: int
    stride_p: int
    stride_q: int
    top: int
    side: int
    dilation_r: int
    dilation_s: int


def pack(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return the weights in panels: of all filters, or of those of each channel."""
    runs = (1, problem.K) if problem.K == problem.C else (problem.C, problem.K // problem.C)
    return gemm.pack(w.reshape(*runs, -1))


def allocate(problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    """Return the workspace: what a tap beside the picture reads, zeros (C,)."""
    return {"outside": np.zeros(problem.C, problem.dtype)}


def run(problem, x, panels, workspace, out, threads):
    """Fill out.y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    sides = (problem.N * problem.P, 1), (problem.C, tile_for(problem.dtype).cols)
    parallel_for(threads, *sides, depthwise_part, _shared, *_arguments(problem, x, panels, workspace, out))


@checked
def as_called(problem: ConvProblem) -> tuple:
    """Return what `depthwise_part` takes for a whole layer, its arrays all zeros: to read its machine code.

    Parameters
    ----------
    problem : ConvProblem
        A layer that depthwise serves.
    """
    shapes = problem.x_shape, problem.w_shape, problem.y_shape
    x, w, y = (np.zeros(shape, problem.dtype) for shape in shapes)
    arguments = _arguments(problem, x, pack(problem, w), allocate(problem, 1), output(y))
    return 0, problem.N * problem.P, 0, problem.C, *arguments


def _arguments(problem, x, panels, workspace, out) -> tuple:
    """Return what the kernel takes after its part of y."""
    tile, (stride, corner, dilation) = tile_for(problem.dtype), problem.geometry
    taps_and_steps = problem.R, problem.S, *stride, *corner, *dilation
    sizes = Sizes(*problem.x_shape[1:], *problem.y_shape[1:], *taps_and_steps)
    window = window_for(problem.S, stride[1], dilation[1]) if problem.K == problem.C else None
    return window, tile, x.reshape(-1), panels, out, workspace["outside"], sizes


@njit
def depthwise_part(first, end, left, right, window, tile, x, panels, out, outside, sizes):
    """Compute the channels left..right of the lines first..end of y, counted through the whole batch."""
    if window is not None:  # a column of a tile is a channel
        whole = whole_panels(right, tile)
        _lines(first, end, left, whole, window, tile, x, panels[0], out, outside, sizes)
        _lines(first, end, whole, right, window, tile.narrow, x, panels[0], out, outside, sizes)
        return
    m = sizes.K // sizes.C  # filters share a channel, and are the columns
    whole = whole_panels(m, tile)
    for line in range(first, end):
        for c in range(left, right):
            rest = c, x, panels[c], out, outside, sizes
            _filters(line, 0, whole, tile, *rest)
            _filters(line, whole, m, tile.narrow, *rest)


@njit
def _lines(first, end, left, right, window, tile, x, panels, out, outside, sizes):
    """Compute the channels left..right: the window slides along its lines of x."""
    H, W, C, P, Q, _, R, S, stride_p, stride_q, top, side, dilation_r, dilation_s = sizes
    step = C if window.taps > 1 else stride_q * C
    for line in range(first, end):
        n, p = divmod(line, P)
        row = p * stride_p - top
        above, below = _taps_inside(row, dilation_r, R, H)
        for k in range(left, right, tile.cols):
            width = right - k
            for q in range(0, Q, tile.rows):
                col = q * stride_q - side
                inside = col >= 0 and col + (tile.rows - 1) * stride_q + (S - 1) * dilation_s < W
                count = min(tile.rows, Q - q)
                sums = begin(tile, out, line * Q + q, k, count, width)
                for r in range(above, below):
                    line_of_x = (n * H + row + r * dilation_r) * W * C + k
                    for s in range(0, S, window.taps):
                        pixels = x, line_of_x, (col + s * dilation_s) * C, step, W * C
                        weights = panels, k * R * S + (r * S + s) * tile.cols, width
                        if inside:
                            sums = slide(tile, window, sums, *pixels, None, *weights)
                        else:
                            sums = slide(tile, window, sums, *pixels, outside, *weights)
                finish(tile, sums, out, line * Q + q, k, count, width)


@njit
def _filters(line, left, right, tile, c, x, panels, out, outside, sizes):
    """Compute the filters left..right of channel c in a line: one number of x, a vector of filters."""
    H, W, C, P, Q, K, R, S, stride_p, stride_q, top, side, dilation_r, dilation_s = sizes
    n, p = divmod(line, P)
    row = p * stride_p - top
    above, below = _taps_inside(row, dilation_r, R, H)
    for k in range(left, right, tile.cols):
        for q in range(0, Q, tile.rows):
            count, column = min(tile.rows, Q - q), c * (K // C) + k
            sums = begin(tile, out, line * Q + q, column, count, right - k)
            for r in range(above, below):
                line_of_x = (n * H + row + r * dilation_r) * W * C
                for s in range(S):
                    place = (q * stride_q - side + s * dilation_s) * C
                    rows = within(tile, x, line_of_x, place, stride_q * C, count, W * C, outside)
                    at = k * R * S + (r * S + s) * tile.cols
                    sums = accumulate(tile, sums, rows, c, panels, at)
            finish(tile, sums, out, line * Q + q, column, count, right - k)


@njit
def _taps_inside(start, step, taps, size):
    """Return (first, end) of those taps t for which 0 <= start + t*step < size."""
    first = min(taps, max(0, -(start // step)))
    return first, max(first, min(taps, -((start - size) // step)))


@njit(parallel=True)
def _shared(parts, window, tile, x, panels, out, outside, sizes):
    for i in prange(len(parts)):
        first, end, left, right = parts[i, 0], parts[i, 1], parts[i, 2], parts[i, 3]
        depthwise_part(first, end, left, right, window, tile, x, panels, out, outside, sizes)
