"""wgrad on a GPU: the product on the tiled kernel, its sums cut in parts that are added in a fixed order.

    rows: filters        columns: their numbers (r, s, c)        sums: the output pixels of all pictures

Of the forward kernel (`gpu.gemm`) the sides are exchanged: dy is a matrix that lies in memory, and what the
index map finds in x are the columns (`load_columns`). dw has few tiles, and a GPU has many multiprocessors:
so blocks share a tile, each sums its part of the pixels, and a second kernel adds the parts up, from the
first to the last. No addition is atomic, and the bits are the same from run to run. How many parts, the
multiprocessors of the device decide (`choose_for_sums_of_pixels`): on another GPU the last bits may differ.

CUTLASS, wgrad and split-K.
"""

from __future__ import annotations

from convlab.gpu.gemm import launch
from convlab.gpu.gemm.heuristics import choose_for_sums_of_pixels
from convlab.gpu.gemm.load_columns import columns_loader, shape
from convlab.gradients.spec import Shapes
from convlab.problem import ConvProblem


def shapes(problem: ConvProblem, threads: int) -> Shapes:
    """Return the shape of the parts of dw, (parts, K, R, S, C/groups), where the sums are cut."""
    parts = choose_for_sums_of_pixels(problem).parts
    return {"partials": (parts, *problem.w_shape)} if parts > 1 else {}


def run(problem, given, packed, workspace, dw, threads):
    """Fill dw (K, R, S, C/groups) with the gradient of the weights."""
    x, dy = given
    tile, parts, *_ = choose_for_sums_of_pixels(problem)
    pixels, filters, taps = problem.gemm
    channels = problem.C // problem.groups
    steps = channels, filters, filters * taps  # from group to group, of x, dy and dw
    sizes = launch.Sizes(filters, taps, pixels, problem.groups, problem.K, taps, *steps)
    widths = launch.wide(tile.width, channels, x), launch.wide(tile.width, filters, dy)
    map_, partials = shape(problem, tile), workspace.get("partials")
    # "both" in any case: without the division one of the tiles needs more registers than there are on sm_80.
    launch.run(sizes, tile, parts, columns_loader, widths, map_, (x, x, dy), partials, dw, "both")
