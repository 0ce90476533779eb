"""Depthwise convolution: every filter reads one channel, and no sum runs over channels.

    y[n, p, q, k] = sum over r, s of  x[n, p*stride + r*dilation - top, q*stride + s*dilation - left, k // m]
                                    * w[k, r, s]              m = K / C filters read each channel

With m = 1 a number of x meets R*S weights and no more, so there is no matrix product to make of it: its
filters would be one column each. But channels lie side by side in memory, and so do their sums. A vector of
channels of one pixel times the vector of their weights gives a vector of sums, in place: no copy of x. Of a
table of places only one window is left, R*S distances: away from the edges all windows look the same. Taps
above and below the picture are left out; taps beside it read a row of zeros.

With m > 1 filters share a channel, and a little of the matrix product comes back: one number of x, a vector
of filters.

Howard et al. 2017, "MobileNets", arXiv:1704.04861, section 3.1.
"""

from __future__ import annotations

import numpy as np

from convlab.algorithms.base import Algorithm, Form, Formula
from convlab.algorithms.direct import loop_arguments
from convlab.jit import late, njit, prange
from convlab.problem import ConvProblem
from convlab.threads import spread


def refuses(problem: ConvProblem) -> str | None:
    """Say why filters of this problem read more than one channel."""
    if problem.groups != problem.C:
        return f"each filter reads {problem.C // problem.groups} channels; depthwise needs groups = C"
    return None


def _run_numpy(problem, x, w, workspace, y, threads):
    y[...] = 0
    for image, out in zip(x, y, strict=True):
        for r in range(problem.R):
            for s in range(problem.S):
                (p, q), (row, col) = problem.inside(r, s)
                for line, sums in zip(image[row], out[p], strict=True):
                    channels = line[col].repeat(problem.K // problem.C, axis=1)  # k // m for filter k
                    sums[q] += channels * w[:, r, s, 0]


# -- the fast form -----------------------------------------------------------------------------------------


zeros, spaced, within, store = late("convlab.tile", "zeros", "spaced", "within", "store")
(whole_panels,) = late("convlab.gemm", "whole_panels")
accumulate, accumulate_each = late("convlab.tile", "accumulate", "accumulate_each")


def _pack(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    from convlab.gemm import pack

    return pack(w.reshape(*_panels(problem), -1))


def _packed_bytes(problem: ConvProblem) -> int:
    from convlab.gemm import packed_bytes

    return packed_bytes(*_panels(problem), problem.R * problem.S, problem.dtype)


def _panels(problem: ConvProblem) -> tuple[int, int]:
    """Return how the filters lie in vectors: (runs, filters in a run)."""
    return (1, problem.K) if problem.K == problem.C else (problem.C, problem.K // problem.C)


def _allocate(problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    r, s = np.indices((problem.R, problem.S))
    down, right = problem.dilation
    return {
        "offsets": ((r * down * problem.W + s * right) * problem.C).reshape(-1),  # of a window's taps, (R*S,)
        "outside": np.zeros(problem.C, problem.dtype),  # what a tap beside the picture reads
    }


def _run_cpu(problem, x, panels, workspace, y, threads):
    from convlab.tile import tile_for

    tile = tile_for(problem.dtype)
    stride, corner, dilation, _ = loop_arguments(problem)
    sizes = *problem.x_shape[1:], *problem.y_shape[1:], problem.R, problem.S, *stride, *corner, *dilation
    tables = workspace["outside"], workspace["offsets"]
    channel = None if problem.K == problem.C else 0
    arguments = channel, tile, x.reshape(-1), panels, y.reshape(-1), *tables, sizes
    lines = problem.N * problem.P
    spread(threads, (lines, 1), (problem.C, tile.cols), _depthwise, _shared, *arguments)


@njit
def _depthwise(first, end, left, right, channel, tile, x, panels, y, outside, offsets, sizes):
    """Compute the channels left..right of the lines first..end of y, counted through the whole batch."""
    tables = outside, offsets, sizes
    if channel is None:  # a column of a tile is a channel
        _columns(first, end, left, right, channel, tile, x, panels[0], y, *tables)
    else:  # a column is one of the m filters of a channel
        m = sizes[5] // sizes[2]  # K / C
        for line in range(first, end):
            for c in range(left, right):
                _columns(line, line + 1, 0, m, channel, tile, x[c:], panels[c], y[c * m :], *tables)


@njit
def _columns(first, end, left, right, channel, tile, x, panels, y, outside, offsets, sizes):
    """Compute the columns left..right, in whole tiles and what is left over."""
    whole = whole_panels(right, tile)
    tables = outside, offsets, sizes
    _lines(first, end, left, whole, channel, tile, x, panels, y, *tables)
    _lines(first, end, whole, right, channel, tile.narrow, x, panels, y, *tables)


@njit
def _lines(first, end, left, right, channel, tile, x, panels, y, outside, offsets, sizes):
    """Compute the columns left..right: each from a channel of its own, or all from one `channel`.

    Numba compiles the two apart: what is known to be None is not asked again.
    """
    H, W, C, P, Q, K, R, S, stride_p, stride_q, top, side, dilation_r, dilation_s = sizes
    step = stride_q * C
    for line in range(first, end):
        n, p = divmod(line, P)
        row = p * stride_p - top
        above, below = _taps_inside(row, dilation_r, R, H)
        for k in range(left, right, tile.cols):
            width = right - k
            for q in range(0, Q, tile.rows):
                count = min(tile.rows, Q - q)
                col = q * stride_q - side
                sums = zeros(tile)
                if col >= 0 and col + (count - 1) * stride_q + (S - 1) * dilation_s < W:
                    rows = spaced(tile, x, ((n * H + row) * W + col) * C, step, count)
                    for t in range(above * S, below * S):
                        at = k * R * S + t * tile.cols
                        if channel is None:
                            sums = accumulate_each(tile, sums, rows, offsets[t] + k, panels, at, width)
                        else:
                            sums = accumulate(tile, sums, rows, offsets[t] + channel, panels, at)
                else:  # some pixels of the tile have taps beside the picture
                    for r in range(above, below):
                        line_of_x = (n * H + row + r * dilation_r) * W * C
                        for s in range(S):
                            place = (col + s * dilation_s) * C
                            rows = within(tile, x, line_of_x, place, step, count, W * C, outside)
                            at = k * R * S + (r * S + s) * tile.cols
                            if channel is None:
                                sums = accumulate_each(tile, sums, rows, k, panels, at, width)
                            else:
                                sums = accumulate(tile, sums, rows, channel, panels, at)
                store(tile, sums, y, (line * Q + q) * K + k, K, count, width)


@njit
def _taps_inside(start, step, taps, size):
    """Return (first, end) of those taps t for which 0 <= start + t*step < size."""
    first = min(taps, max(0, -(start // step)))
    return first, max(first, min(taps, -((start - size) // step)))


@njit(parallel=True)
def _shared(parts, channel, tile, x, panels, y, outside, offsets, sizes):
    for i in prange(len(parts)):
        first, end, left, right = parts[i, 0], parts[i, 1], parts[i, 2], parts[i, 3]
        _depthwise(first, end, left, right, channel, tile, x, panels, y, outside, offsets, sizes)


TRAFFIC = Formula("(N*H*W*C + K*R*S + N*P*Q*K) * b")

ALGORITHM = Algorithm(
    name="depthwise",
    summary="Every filter reads one channel: vectors of channels, summed where they lie.",
    source="Howard et al. 2017, arXiv:1704.04861, section 3.1",
    refuses=refuses,
    forms={
        "numpy": Form(run=_run_numpy, bytes_moved=TRAFFIC),
        "cpu": Form(
            run=_run_cpu,
            bytes_moved=TRAFFIC,
            workspace_bytes=Formula("C * b + R*S * 8"),
            packed_bytes=_packed_bytes,
            pack=_pack,
            allocate=_allocate,
        ),
    },
)
