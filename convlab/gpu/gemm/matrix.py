"""Matrix products on a GPU, in tiles: what im2row, im2col and pointwise end in.

    y[m, n] = sum over k of a[m, k] * b[k, n]        for each group: M x K times K x N

A block computes a tile of y. Three ways, from simple to fast (`WAYS`): "shared" and "registers" are the
kernels of `convlab.gpu.gemm.simple`, with one sum a thread and with 4 x 4; "tuned" is the kernel of
`convlab.gpu.gemm`, with the tile that suits the product.

a lies row by row (`along` "k": numbers of a row are neighbours), as im2row and pictures do, or column by
column ("m"), as im2col does. Neighbouring threads load along that axis, whichever it is.
"""

from __future__ import annotations

from functools import lru_cache

from convlab.gpu.device import current, device_speeds
from convlab.gpu.gemm import launch
from convlab.gpu.gemm.heuristics import TILES, estimate
from convlab.gpu.gemm.load_matrix import matrix_loader
from convlab.gpu.gemm.simple import BLOCK, OWN, PIECE, THREADS, TILE, register_tile, shared_tile
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.gemm.work import KNOWN, product_works
from convlab.gpu.model.speeds import GpuSpeeds
from convlab.gpu.model.work import Work
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div

WAYS = "shared", "registers", "tuned"
DEEP = Tile(128, 128, 16, 8, 8)  # nothing is searched or looked up, so there are registers for long pieces
FEW = 8  # blocks; below, smaller tiles keep more of the GPU busy

pack, packed_bytes = launch.pack, launch.packed_bytes  # (groups, K, N up to a multiple of four)


def multiply(problem: ConvProblem, a, along: str, b, y, way: str | None = None) -> None:
    """Fill y with the product of a and b, all on the device.

    Parameters
    ----------
    problem : ConvProblem
        Its `gemm` are the sizes.
    a
        (M, groups*K) if `along` is "k", (groups*K, M) if it is "m"; in any shape.
    along : str
    b
        As `pack` returns it.
    y
        (M, groups*N), in any shape.
    way : str, optional
        One of `WAYS`; "tuned" is for a that lies along "k". By default the fastest.
    """
    M, N, K = problem.gemm
    way = way or _way(problem, along)
    if way == "tuned":
        product = _as_pointwise(problem)
        tile, step = _tile_for(product, device_speeds()), product.C
        launch.multiply(product, tile, 1, matrix_loader, (step, K), a, a, b, None, y)
        return
    # Numbers from one row of a, as it lies, to the next, and from one group to the next.
    step, group = (problem.groups * K, K) if along == "k" else (M, K * M)
    block: int | tuple[int, int]
    if way == "shared":
        kernel, side, block = shared_tile(problem.dtype, along), TILE, (TILE, TILE)
    else:
        wide_a = launch.wide(4, K if along == "k" else M, a) == 4
        wide_y = launch.wide(4, N, y) == 4
        kernel, side, block = register_tile(problem.dtype, along, wide_a, wide_y), BLOCK, THREADS
    across = ceil_div(N, side)
    grid = problem.groups * ceil_div(M, side) * across
    arrays = a.reshape(-1), b.reshape(-1), y.reshape(-1)
    current().launch(kernel, grid, block, *arrays, M, N, K, step, group, b.shape[2], problem.K, across)


def _way(problem: ConvProblem, along: str) -> str:
    """Return the fastest way."""
    M, N, _ = problem.gemm
    return "tuned" if along == "k" else "registers" if M * N >= FEW * BLOCK**2 else "shared"


def works(problem: ConvProblem, along: str, *, cold: float = 0, passed_on: float = 0) -> tuple[Work, ...]:
    """Return what the launches of `multiply` ask of a GPU, in its usual way.

    `cold` and `passed_on` are the bytes of a, as `product_works` takes them.
    """
    sizes, K = problem.gemm, problem.gemm[2]
    if along == "k":
        tile = _tile_for(_as_pointwise(problem), device_speeds())
    elif _way(problem, along) == "registers":
        tile = Tile(BLOCK, BLOCK, PIECE, OWN, OWN, buffers=1)
    else:
        tile = Tile(TILE, TILE, TILE, 1, 1, width=1, buffers=1)
    return product_works(
        sizes,
        problem.groups,
        tile,
        x_width=1 if K % 4 else 4,
        apart=K * problem.groups if along == "k" else 1,
        dtype=problem.dtype,
        cold=cold,
        passed_on=passed_on,
        others=KNOWN,
    )


@lru_cache
def _as_pointwise(problem: ConvProblem) -> ConvProblem:
    """Return the product as a convolution: each row of a is a pixel, its numbers are the channels."""
    M, _, K = problem.gemm
    groups = problem.groups
    return ConvProblem(1, M, 1, groups * K, problem.K, 1, 1, groups=groups, dtype=problem.dtype)


@lru_cache
def _tile_for(product: ConvProblem, speeds: GpuSpeeds) -> Tile:
    """Return the tile that is expected to be the fastest."""
    width = 4 if product.gemm[2] % 4 == 0 else 1
    tiles = TILES[product.dtype, width]
    if (product.dtype, width) == ("float32", 4):
        tiles = DEEP, *tiles
    return min(tiles, key=lambda tile: estimate(product, tile, 1, speeds).seconds)
