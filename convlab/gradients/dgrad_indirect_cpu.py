"""dgrad through an indirection buffer, the fast form: the kernel of the forward one, phase by phase."""

from __future__ import annotations

from convlab.algorithms.indirect.cpu import multiply, nothing
from convlab.cpu.epilogue import output
from convlab.cpu.product_tile import tile_across_groups
from convlab.gradients.dgrad_implicit_cpu import pack as panels_of
from convlab.gradients.dgrad_indirect import tables
from convlab.gradients.phases import clear_unreached, parts


def pack(problem, w, threads, before=None, dy=None) -> dict:
    """Return the panels of all parts, their tables in tiles as tall as the register tile, and zeros."""
    if before is None:
        outside = nothing(problem.gemm[1], tile_across_groups(problem))
        before = {"tables": tables(problem, lambda small: tile_across_groups(small).rows), "outside": outside}
    return before | {"panels": panels_of(problem, w, threads, tile=tile_across_groups)}


def run(problem, given, packed, workspace, dx, threads):
    """Fill dx (N, H, W, C) with the gradient of the input."""
    (dy,), out = given, output(dx)
    clear_unreached(problem, dx)
    for (small, _, _), panels, table in zip(parts(problem), packed["panels"], packed["tables"], strict=True):
        offsets, places = table
        spots, made = (dx[0].size, places.reshape(-1)), (small.P * small.Q, problem.C // len(panels))
        arrays = dy, offsets, None, packed["outside"], panels, out, spots
        multiply(tile_across_groups(small), *arrays, made, threads)
