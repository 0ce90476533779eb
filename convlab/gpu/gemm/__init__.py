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

from typing import Any

from convlab.support.lazy import door


def _offer() -> dict[str, Any]:
    from convlab.gpu.gemm.heuristics import choose_tile, estimate
    from convlab.gpu.gemm.kernel import tiled_product
    from convlab.gpu.gemm.load_implicit import implicit_loader
    from convlab.gpu.gemm.load_matrix import matrix_loader
    from convlab.gpu.gemm.outer_product import outer_products
    from convlab.gpu.gemm.tile import Tile

    return locals()


__all__, __getattr__ = door(__name__, _offer)
