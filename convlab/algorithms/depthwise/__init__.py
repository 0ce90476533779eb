"""Depthwise convolution: every filter reads one channel, and no sum runs over channels.

    y[n, p, q, k] = sum over r, s of  x[n, p*stride + r*dilation - top, q*stride + s*dilation - left, k // m]
                                    * w[k, r, s]              m = K / C filters read each channel

With m = 1 a number of x meets R*S weights and no more, so there is no matrix product to make of it: its
filters would be one column each. But channels lie side by side in memory, and so do their sums. A vector of
channels of one pixel times the vector of their weights gives a vector of sums, in place: no copy of x, and no
table of places. The window slides along a line; each pixel is loaded once for all the sums that want it.
Taps above and below the picture are left out; taps beside it read a row of zeros.

With m > 1 filters share a channel, and a little of the matrix product comes back: one number of x, a vector
of filters.

Howard et al. 2017, "MobileNets", arXiv:1704.04861, section 3.1.
"""

from __future__ import annotations

import numpy as np

from convlab.algorithms.binding import gpu_form
from convlab.algorithms.direct import loop_arguments
from convlab.algorithms.spec import Algorithm, Form, Formula
from convlab.cost.phases import Pass, stream
from convlab.cpu.jit import late, njit, prange
from convlab.cpu.threads import spread
from convlab.problem import ConvProblem


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


zeros, within, accumulate, store = late("convlab.cpu.register_tile", "zeros", "within", "accumulate", "store")
(slide,) = late("convlab.cpu.sliding_window", "slide")
(whole_panels,) = late("convlab.cpu.gemm", "whole_panels")


def _pack(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    from convlab.cpu.gemm import pack

    return pack(w.reshape(*_panels(problem), -1))


def _packed_bytes(problem: ConvProblem) -> int:
    from convlab.cpu.gemm import packed_bytes

    return packed_bytes(*_panels(problem), problem.R * problem.S, problem.dtype)


def _panels(problem: ConvProblem) -> tuple[int, int]:
    """Return how the filters lie in vectors: (runs, filters in a run)."""
    return (1, problem.K) if problem.K == problem.C else (problem.C, problem.K // problem.C)


def _allocate(problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    return {"outside": np.zeros(problem.C, problem.dtype)}  # what a tap beside the picture reads


def _run_cpu(problem, x, panels, workspace, y, threads):
    from convlab.cpu.register_tile import tile_for
    from convlab.cpu.sliding_window import window_for

    tile = tile_for(problem.dtype)
    stride, corner, dilation, _ = loop_arguments(problem)
    sizes = *problem.x_shape[1:], *problem.y_shape[1:], problem.R, problem.S, *stride, *corner, *dilation
    window = window_for(problem.S, stride[1], dilation[1]) if problem.K == problem.C else None
    arguments = window, tile, x.reshape(-1), panels, y.reshape(-1), workspace["outside"], sizes
    lines = problem.N * problem.P
    spread(threads, (lines, 1), (problem.C, tile.cols), _depthwise, _shared, *arguments)


@njit
def _depthwise(first, end, left, right, window, tile, x, panels, y, outside, sizes):
    """Compute the channels left..right of the lines first..end of y, counted through the whole batch."""
    if window is not None:  # a column of a tile is a channel
        whole = whole_panels(right, tile)
        _lines(first, end, left, whole, window, tile, x, panels[0], y, outside, sizes)
        _lines(first, end, whole, right, window, tile.narrow, x, panels[0], y, outside, sizes)
        return
    m = sizes[5] // sizes[2]  # K / C filters share a channel, and are the columns
    whole = whole_panels(m, tile)
    for line in range(first, end):
        for c in range(left, right):
            rest = c, x, panels[c], y, outside, sizes
            _filters(line, 0, whole, tile, *rest)
            _filters(line, whole, m, tile.narrow, *rest)


@njit
def _lines(first, end, left, right, window, tile, x, panels, y, outside, sizes):
    """Compute the channels left..right: the window slides along its lines of x."""
    H, W, C, P, Q, K, R, S, stride_p, stride_q, top, side, dilation_r, dilation_s = sizes
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
                sums = zeros(tile)
                for r in range(above, below):
                    line_of_x = (n * H + row + r * dilation_r) * W * C + k
                    for s in range(0, S, window.taps):
                        pixels = x, line_of_x, (col + s * dilation_s) * C, step, W * C
                        weights = panels, k * R * S + (r * S + s) * tile.cols, width
                        if inside:
                            sums = slide(tile, window, sums, *pixels, None, *weights)
                        else:
                            sums = slide(tile, window, sums, *pixels, outside, *weights)
                store(tile, sums, y, (line * Q + q) * K + k, K, min(tile.rows, Q - q), width)


@njit
def _filters(line, left, right, tile, c, x, panels, y, outside, sizes):
    """Compute the filters left..right of channel c in a line: one number of x, a vector of filters."""
    H, W, C, P, Q, K, R, S, stride_p, stride_q, top, side, dilation_r, dilation_s = sizes
    n, p = divmod(line, P)
    row = p * stride_p - top
    above, below = _taps_inside(row, dilation_r, R, H)
    for k in range(left, right, tile.cols):
        for q in range(0, Q, tile.rows):
            count = min(tile.rows, Q - q)
            sums = zeros(tile)
            for r in range(above, below):
                line_of_x = (n * H + row + r * dilation_r) * W * C
                for s in range(S):
                    place = (q * stride_q - side + s * dilation_s) * C
                    rows = within(tile, x, line_of_x, place, stride_q * C, count, W * C, outside)
                    at = k * R * S + (r * S + s) * tile.cols
                    sums = accumulate(tile, sums, rows, c, panels, at)
            store(tile, sums, y, (line * Q + q) * K + c * (K // C) + k, K, count, right - k)


@njit
def _taps_inside(start, step, taps, size):
    """Return (first, end) of those taps t for which 0 <= start + t*step < size."""
    first = min(taps, max(0, -(start // step)))
    return first, max(first, min(taps, -((start - size) // step)))


@njit(parallel=True)
def _shared(parts, window, tile, x, panels, y, outside, sizes):
    for i in prange(len(parts)):
        first, end, left, right = parts[i, 0], parts[i, 1], parts[i, 2], parts[i, 3]
        _depthwise(first, end, left, right, window, tile, x, panels, y, outside, sizes)


def _passes() -> tuple[Pass, ...]:
    tiles, channels = "N*P * ceil(Q/MR)", "ceil(K/VL)*VL"
    lines = stream("N*P*R*W*C*b", "R*W*C*b")  # each output line reads R lines, which the one before read too
    loads = stream(f"{tiles} * R * (MR + 2*S) * {channels} * b", "MR*VL*b")  # pixels and weights of a tile
    streams = stream("N*H*W*C*b"), lines, loads, stream("N*P*Q*K*b")
    flops = Formula(f"2 * {tiles}*MR * {channels} * R*S")
    return (Pass("slide", flops, streams, {"tile": Formula(f"{tiles} * ceil(K/(2*VL))")}),)


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
            workspace_bytes=Formula("C * b"),
            packed_bytes=_packed_bytes,
            pack=_pack,
            allocate=_allocate,
            passes=_passes,
        ),
        "gpu": gpu_form("depthwise", parts=("pack",), bytes_moved=TRAFFIC),
    },
)
