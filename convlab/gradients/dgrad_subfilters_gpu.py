"""dgrad on a GPU: for each phase of the stride a product on the tiled kernel, led by the index map of dy.

    rows: pixels of dx, of a phase        columns: channels of x        sums: taps that serve it, and filters

It is the forward kernel (`gpu.gemm`). Its picture is dy, and its windows may begin inside of it; its filters
are those of the phase, turned round; and its rows are stored where the pixels of the phase lie. A phase is a
launch of its own, with its own tile: no block multiplies by an inserted zero, nor skips one. Where each
filter reads one channel there is no product to make: `dgrad_depthwise_gpu` has kernels of its own.

CUTLASS 2.7, strided dgrad (discussion 327), has the phases as one launch.
"""

from __future__ import annotations

from functools import lru_cache

from convlab.gpu.device import current
from convlab.gpu.fill import fill
from convlab.gpu.gemm import launch
from convlab.gpu.gemm.heuristics import choose_tile
from convlab.gpu.gemm.load_implicit import implicit_loader, shape
from convlab.gpu.kernels import kernel
from convlab.gpu.numba_cuda import cuda, number_type
from convlab.gradients import dgrad_depthwise_gpu
from convlab.gradients.dgrad_subfilters import Part, parts
from convlab.gradients.spec import Shapes
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div

THREADS = 256  # of a block that turns filters


def shapes(problem: ConvProblem, threads: int) -> Shapes:
    """Return the shapes of the filters, phase by phase, and of the parts of the sums, where they are cut."""
    if problem.groups == problem.C:
        return {"filters": (problem.R, problem.S, problem.K)}
    small = [part.problem for part in parts(problem)]
    filters = sum(launch.packed_bytes(one) for one in small) // problem.itemsize
    most = max((launch.partial_bytes(one, choose_tile(one).parts) for one in small), default=0)
    return {"filters": (filters,)} | ({"partials": (most // problem.itemsize,)} if most else {})


def pack(problem: ConvProblem, w, filters) -> None:
    """Write filters w (K, R, S, C/G) as the kernels read them: phase by phase; (R, S, K) if depthwise."""
    if problem.groups == problem.C:
        column = filters.reshape((1, filters.size, 1))
        _turn(problem, w, column, range(problem.R), range(problem.S), problem.K)
        return
    for part, its in _with_filters(problem, filters):
        _turn(problem, w, its, part.rows.taps[::-1], part.cols.taps[::-1], problem.K // problem.groups)


def _turn(problem: ConvProblem, w, out, rows: range, cols: range, depth: int) -> None:
    """Launch `turn` for the taps `rows` and `cols`."""
    sizes = out.size, w.shape[3], out.shape[2], depth, len(rows), len(cols), problem.R, problem.S
    steps = (number % (1 << 32) for some in (rows, cols) for number in (some.start, some.step))
    blocks, arrays = ceil_div(out.size, THREADS), (w.reshape(-1), out.reshape(-1))
    current().launch(turn(problem.dtype), blocks, THREADS, *arrays, *sizes, *steps)


@lru_cache
def turn(dtype: str):
    """Return the kernel that lays filters out as (G, taps_r, taps_s, depth, row), the taps in any order.

    One thread a number. Of w (G * depth, R, S, channels) it takes the taps first_r + i*step_r, and so along
    the other axis; a row is longer than the channels by zeros.
    """
    number = number_type(dtype)

    @kernel
    def turn(w, out, numbers, channels, row, depth, taps_r, taps_s, R, S, first_r, step_r, first_s, step_s):
        i = cuda.grid(1)
        if i < numbers:
            rest, c = divmod(i, row)
            rest, k = divmod(rest, depth)
            rest, s = divmod(rest, taps_s)
            g, r = divmod(rest, taps_r)
            at = ((g * depth + k) * R + first_r + r * step_r) * S + first_s + s * step_s
            out[i] = w[at * channels + c] if c < channels else number(0)

    return turn


def run(problem, dy, w, workspace, dx, threads):
    """Fill dx (N, H, W, C) with the gradient of the input."""
    pack(problem, w, workspace["filters"])
    if problem.groups == problem.C:
        dgrad_depthwise_gpu.run(problem, dy, workspace["filters"], dx)
    else:
        multiply(problem, dy, workspace["filters"], workspace.get("partials"), dx)


def multiply(problem: ConvProblem, dy, filters, partials, dx) -> None:
    """Fill dx with the products of dy and the filters of all phases."""
    if sum(len(rows.pixels) * len(cols.pixels) for _, rows, cols in parts(problem)) < problem.H * problem.W:
        fill(current(), dx, 0)  # some pixels no tap reaches
    for part, its in _with_filters(problem, filters):
        small, (_, K, row_w) = part.problem, its.shape
        (M, N, _), (tile, count, *_) = small.gemm, choose_tile(small)
        depth = small.C // small.groups
        where = () if small.y_shape == problem.x_shape else _where(problem, part)
        sizes = launch.Sizes(M, N, K, small.groups, row_w, small.K, depth, K * row_w, N, where)
        corner = [phase.padding[0] - phase.lines.start for phase in (part.rows, part.cols)]
        map_ = shape(small, tile, (problem.P, problem.Q), corner)
        widths = launch.wide(tile.width, depth, dy), tile.width
        launch.run(sizes, tile, count, implicit_loader, widths, map_, (dy, dy, its), partials, dx)


def _where(problem: ConvProblem, part: Part) -> tuple[int, ...]:
    """Return where in dx the pixels of a phase lie, for `tile_io.place_of`."""
    (_, rows, cols), (_, H, W, C) = part, problem.x_shape
    first = (rows.pixels.start * W + cols.pixels.start) * C
    apart = H * W * C, rows.pixels.step * W * C, cols.pixels.step * C
    return len(rows.pixels), len(cols.pixels), first, *apart


def _with_filters(problem: ConvProblem, filters):
    """Yield each part with its filters, (G, taps * K/G, C/G up to a multiple of four)."""
    begin = 0
    for part in parts(problem):
        _, columns, taps = part.problem.gemm
        its = part.problem.groups, taps, launch.padded(columns)
        end = begin + its[0] * its[1] * its[2]
        yield part, filters[begin:end].reshape(its)
        begin = end
