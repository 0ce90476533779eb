"""dgrad as implicit GEMM on a GPU: for each phase of the stride a product on the tiled kernel.

    rows: pixels of dx, of a phase        columns: channels of x        sums: taps that serve it, and filters

It is the forward kernel (`gpu.gemm`). Its picture is dy, and its windows may begin inside of it; its filters
are those of the phase, turned round; and its rows are stored where the pixels of the phase lie. A phase is a
launch of its own, with its own tile: no block multiplies by an inserted zero, nor skips one. CUTLASS has the
phases in one launch.

CUTLASS 2.7, strided dgrad (discussion 327).
"""

from __future__ import annotations

from convlab.gpu.device import current
from convlab.gpu.fill import fill
from convlab.gpu.gemm import launch
from convlab.gpu.gemm.heuristics import choose_tile
from convlab.gpu.gemm.load_implicit import implicit_loader, shape
from convlab.gradients.filters_gpu import lay_out, on_device
from convlab.gradients.phases import Part, parts, reach_all
from convlab.gradients.spec import Shapes
from convlab.problem import ConvProblem


def shapes(problem: ConvProblem, threads: int) -> Shapes:
    """Return the shape of the parts of a phase's sums, where they are cut; phases take turns with it."""
    small = (part.problem for part in parts(problem))
    most = max((launch.partial_bytes(one, choose_tile(one).parts) for one in small), default=0)
    return {"partials": (most // problem.itemsize,)} if most else {}


def packed_bytes(problem: ConvProblem, threads: int) -> int:
    """Return the bytes of the filters of all phases."""
    return sum(launch.packed_bytes(part.problem) for part in parts(problem))


def pack(problem: ConvProblem, w, threads: int, before=None, dy=None) -> list:
    """Return the filters of each phase on the device, (G, taps * K/G, C/G up to a multiple of four)."""
    w, device, packed = on_device(w), current(), []
    for (small, rows, cols), depth in ((part, problem.K // problem.groups) for part in parts(problem)):
        _, columns, taps = small.gemm
        filters = device.empty((small.groups, taps, launch.padded(columns)), problem.dtype)
        lay_out(problem, w, filters, rows.taps[::-1], cols.taps[::-1], depth)
        packed.append(filters)
    return packed


def run(problem, given, packed, workspace, dx, threads):
    """Fill dx (N, H, W, C) with the gradient of the input."""
    (dy,), partials = given, workspace.get("partials")
    if not reach_all(problem):
        fill(current(), dx, 0)
    for part, filters in zip(parts(problem), packed, strict=True):
        small, (_, K, row_w) = part.problem, filters.shape
        (M, N, _), (tile, count, *_) = small.gemm, choose_tile(small)
        count = count if partials is not None else 1  # whoever has no room for parts has whole sums
        depth = small.C // small.groups
        where = () if small.y_shape == problem.x_shape else _where(problem, part)
        sizes = launch.Sizes(M, N, K, small.groups, row_w, small.K, depth, K * row_w, N, where)
        map_ = shape(small, tile, (problem.P, problem.Q), (part.rows.corner, part.cols.corner))
        widths = launch.wide(tile.width, depth, dy), tile.width
        launch.run(sizes, tile, count, implicit_loader, widths, map_, (dy, dy, filters), partials, dx)


def _where(problem: ConvProblem, part: Part) -> tuple[int, ...]:
    """Return where in dx the pixels of a phase lie, for `tile_io.place_of`."""
    (_, rows, cols), (_, H, W, C) = part, problem.x_shape
    first = (rows.pixels.start * W + cols.pixels.start) * C
    apart = H * W * C, rows.pixels.step * W * C, cols.pixels.step * C
    return len(rows.pixels), len(cols.pixels), first, *apart
