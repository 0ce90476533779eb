"""A matrix product in tiles, whose left matrix may be one that is never stored.

Read in this order:

    tile             the sizes: what a block of threads, a thread and an instruction work on
    vector_io        from memory to registers and back
    outer_product    the sums
    load_matrix      a number of the left matrix: where it lies in memory; `load_implicit` works that out
    tile_io          weights to registers, pieces to shared memory, sums to y
    kernel           the order of it all
    launch           the way in; `heuristics` choose the tile
    matrix, batched  one product, or many of one size; `simple` has the first two kernels of the ladder
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from convlab.support.lazy import door

if TYPE_CHECKING:
    from convlab.gpu.gemm.heuristics import choose_tile, estimate
    from convlab.gpu.gemm.kernel import tiled_product
    from convlab.gpu.gemm.load_implicit import implicit_loader
    from convlab.gpu.gemm.load_matrix import matrix_loader
    from convlab.gpu.gemm.outer_product import outer_products
    from convlab.gpu.gemm.tile import Tile

__all__ = [
    "Tile",
    "choose_tile",
    "estimate",
    "implicit_loader",
    "matrix_loader",
    "outer_products",
    "tiled_product",
]


def _homes() -> tuple[ModuleType, ...]:
    from convlab.gpu.gemm import heuristics, kernel, load_implicit, load_matrix, outer_product, tile

    return tile, heuristics, load_implicit, load_matrix, outer_product, kernel


__getattr__ = door(__name__, __all__, _homes)
