"""The fast depthwise kernel: sums of a tile of pixels and channels, while the window slides by.

One filter a channel: the columns of the register tile are channels. The whole window slides over the picture
(`windows`); if it has holes, or a shape of its own, it goes tap by tap (`_taps`). More filters: the columns
are the filters of one channel (`_filters`), and the product is a small matrix product after all.

The innermost loop is the one over channels. They lie side by side in memory: so x, y and the weights are read
and written from end to end, and what is done once a place, to find its pixels, is shared by all channels.
"""

from __future__ import annotations

from typing import NamedTuple

from convlab.cpu.epilogue import begin, finish
from convlab.cpu.gemm import whole_panels
from convlab.cpu.jit import njit, prange
from convlab.cpu.register_tile import accumulate, within
from convlab.cpu.sliding_window import ONE_TAP, pixels_under, slide


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
    top: int  # rows of padding
    side: int  # columns of padding, at the left
    dilation_r: int
    dilation_s: int


@njit
def depthwise_part(first, end, left, right, window, multiplier, tile, x, panels, out, outside, sizes):
    """Compute the channels left..right of the lines first..end of y, counted through the whole batch.

    What is None is None for the compiler, too: it keeps one of the three ways only. `sizes` comes without
    names, as Numba takes a microsecond longer to look at a tuple that has them: a tenth of a small layer.
    """
    sizes = Sizes(*sizes)
    if multiplier is not None:  # filters share a channel, and are the columns
        whole = whole_panels(multiplier, tile)
        for line in range(first, end):
            for c in range(left, right):
                rest = c, x, panels[c], out, outside, sizes
                _filters(line, 0, whole, tile, *rest)
                _filters(line, whole, multiplier, tile.narrow, *rest)
    elif window is not None:
        windows(first, end, left, right, window, tile, x, panels[0], out, outside, sizes)
    else:
        _taps(first, end, left, right, tile.narrow, x, panels[0], out, outside, sizes)


@njit(inner=True)
def windows(first, end, left, right, window, tile, x, panels, out, outside, sizes):
    """Compute the channels left..right: a window slides over the picture, and in each place over channels."""
    H, W, C, P, Q = sizes.H, sizes.W, sizes.C, sizes.P, sizes.Q
    stride_p, stride_q, top, side = sizes.stride_p, sizes.stride_q, sizes.top, sizes.side
    whole, taps = right - right % tile.cols, sizes.R * sizes.S
    down, across = stride_p + sizes.R, (tile.rows - 1) * stride_q + sizes.S
    line = first
    while line < end:
        n, p = divmod(line, P)
        lines = min(window.lines, P - p, end - line)
        row = p * stride_p - top
        for q in range(0, Q, tile.rows):
            col = q * stride_q - side
            picture = x, n * H * W * C, row, col, H, W, C
            if row >= 0 and col >= 0 and row + down <= H and col + across <= W:
                pixels = pixels_under(tile, window, *picture, None)
            else:
                pixels = pixels_under(tile, window, *picture, outside)
            above, count = line * Q + q, min(tile.rows, Q - q)
            # Where no lower line is left, its sums take the upper one's place, and the upper one, which
            # `_two_lines` stores last, covers them.
            below = above + (lines - 1) * Q
            if count == tile.rows:  # a number that the compiler knows: then nothing is asked in the loop
                places = above, below, tile.rows
                for k in range(left, whole, tile.cols):
                    _two_lines(tile, window, pixels, k, panels, k * taps, out, places, tile.cols)
            else:
                places = above, below, count
                for k in range(left, whole, tile.cols):
                    _two_lines(tile, window, pixels, k, panels, k * taps, out, places, tile.cols)
            places = above, below, count
            for k in range(whole, right, tile.narrow.cols):
                _two_lines(tile.narrow, window, pixels, k, panels, k * taps, out, places, right - k)
        line += lines


@njit(inner=True, forceinline=True)
def _two_lines(tile, window, pixels, k, panels, at, out, places, width):
    """Compute a tile of channels of two lines, the upper one last."""
    above, below, count = places
    upper, lower = begin(tile, out, above, k, count, width), begin(tile, out, below, k, count, width)
    upper, lower = slide(tile, window, (upper, lower), pixels, k, panels, at, width)
    finish(tile, lower, out, below, k, count, width)
    finish(tile, upper, out, above, k, count, width)


@njit(inner=True)
def _taps(first, end, left, right, tile, x, panels, out, outside, sizes):
    """Compute the channels left..right where the window has holes, or a shape of its own: tap by tap."""
    H, W, C, P, Q, R, S = sizes.H, sizes.W, sizes.C, sizes.P, sizes.Q, sizes.R, sizes.S
    stride_p, stride_q, top, side = sizes.stride_p, sizes.stride_q, sizes.top, sizes.side
    for line in range(first, end):
        n, p = divmod(line, P)
        row = p * stride_p - top
        above, below = taps_inside(row, sizes.dilation_r, R, H)
        for q in range(0, Q, tile.rows):
            count = min(tile.rows, Q - q)
            for k in range(left, right, tile.cols):
                sums = (begin(tile, out, line * Q + q, k, count, right - k),)
                for r in range(above, below):
                    line_of_x = (n * H + row + r * sizes.dilation_r) * W * C
                    for s in range(S):
                        place = (q * stride_q - side + s * sizes.dilation_s) * C
                        rows = within(tile, x, line_of_x, place, stride_q * C, count, W * C, outside)
                        at = k * R * S + (r * S + s) * tile.cols
                        sums = slide(tile, ONE_TAP, sums, rows, k, panels, at, right - k)
                finish(tile, sums[0], out, line * Q + q, k, count, right - k)


@njit(inner=True)
def _filters(line, left, right, tile, c, x, panels, out, outside, sizes):
    """Compute the filters left..right of channel c in a line: one number of x, a vector of filters."""
    H, W, C, P, Q, R, S = sizes.H, sizes.W, sizes.C, sizes.P, sizes.Q, sizes.R, sizes.S
    stride_p, stride_q, top, side = sizes.stride_p, sizes.stride_q, sizes.top, sizes.side
    n, p = divmod(line, P)
    row = p * stride_p - top
    above, below = taps_inside(row, sizes.dilation_r, R, H)
    for k in range(left, right, tile.cols):
        for q in range(0, Q, tile.rows):
            count, column = min(tile.rows, Q - q), c * (sizes.K // C) + k
            sums = begin(tile, out, line * Q + q, column, count, right - k)
            for r in range(above, below):
                line_of_x = (n * H + row + r * sizes.dilation_r) * W * C
                for s in range(S):
                    place = (q * stride_q - side + s * sizes.dilation_s) * C
                    rows = within(tile, x, line_of_x, place, stride_q * C, count, W * C, outside)
                    at = k * R * S + (r * S + s) * tile.cols
                    sums = accumulate(tile, sums, rows, c, panels, at)
            finish(tile, sums, out, line * Q + q, column, count, right - k)


@njit
def taps_inside(start, step, taps, size):
    """Return (first, end) of those taps t for which 0 <= start + t*step < size."""
    first = min(taps, max(0, -(start // step)))
    return first, max(first, min(taps, -((start - size) // step)))


@njit(parallel=True)
def shared(parts, window, multiplier, tile, x, panels, out, outside, sizes):
    for i in prange(len(parts)):
        first, end, left, right = parts[i, 0], parts[i, 1], parts[i, 2], parts[i, 3]
        depthwise_part(first, end, left, right, window, multiplier, tile, x, panels, out, outside, sizes)
