"""Many matrix products of one size at once, on the kernel of implicit GEMM.

    y[t, z] = a[t, z] @ w[z]        for every z: a (rows, inner), w (inner, columns)

Products that know nothing of one another are the groups of a convolution: a is a picture of so many pixels
with z * inner channels, and the filters are 1x1. Winograd's places of a tile and the frequencies of a Fourier
transform come as such.
"""

from __future__ import annotations

from convlab.gpu.gemm import launch
from convlab.gpu.gemm.heuristics import choose_tile
from convlab.gpu.gemm.load_implicit import implicit_loader, shape
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.gemm.work import product_works
from convlab.gpu.model.work import Work
from convlab.problem import ConvProblem

SMALL = Tile(16, 16, 4, 4, 4)  # for matrices that would fill but a strip of the tiles of large ones

pack = launch.pack  # w (count * columns, 1, 1, inner) on the device


def as_convolution(rows: int, count: int, inner: int, columns: int, dtype: str) -> ConvProblem:
    """Return the convolution that does `count` products of (rows x inner) times (inner x columns)."""
    return ConvProblem(1, 1, rows, count * inner, count * columns, 1, 1, groups=count, dtype=dtype)


def tile_for(problem: ConvProblem) -> Tile:
    """Return the tile for products of this size."""
    rows, columns, _ = problem.gemm
    return SMALL if min(rows, columns) <= SMALL.block_m else choose_tile(problem).tile


def works(problem: ConvProblem) -> tuple[Work, ...]:
    """Return what `multiply` asks of a GPU: it reads what was just written, and writes what is read next."""
    tile, many = tile_for(problem), problem.C // problem.groups
    return product_works(
        problem.gemm,
        problem.groups,
        tile,
        x_width=1 if many % tile.width else tile.width,
        apart=problem.C,
        dtype=problem.dtype,
        passed_on=problem.x_bytes,
        kept=True,
    )


def multiply(problem: ConvProblem, a, w, y) -> None:
    """Fill y (rows, count, columns) with the products of a (rows, count, inner) and packed w."""
    tile = tile_for(problem)
    launch.multiply(problem, tile, 1, implicit_loader, shape(problem, tile), a, a, w, None, y)
