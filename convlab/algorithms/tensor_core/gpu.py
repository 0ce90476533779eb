"""Implicit GEMM on tensor cores: x is rounded to words, then a kernel multiplies words.

    words = x, rounded                       `convlab.gpu.tensor_cores.round_inputs`
    y     = words convolved with words       `convlab.gpu.tensor_cores.product`

What changed from the fp32 kernel: an instruction multiplies 16 x 8 x 16 numbers (8 for tf32) instead of 32,
and copies go from global to shared memory without a register between. What it should do to the traffic: half
the bytes for fp16, and padding costs no request, as a copy that is not wanted writes zeros.
"""

from __future__ import annotations

from functools import lru_cache

from convlab.algorithms.tensor_core import TILES
from convlab.algorithms.tensor_core.rounding import packed_words
from convlab.gpu.device import current, device_speeds
from convlab.gpu.model.speeds import GpuSpeeds
from convlab.gpu.model.work import Work, time_of
from convlab.gpu.tensor_cores.product import product
from convlab.gpu.tensor_cores.round_inputs import words_of
from convlab.gpu.tensor_cores.warp_tile import WarpTile, pixel_words
from convlab.gpu.tensor_cores.work import product_work, rounding_work
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div


def pack(kind: str, tile: WarpTile | None, problem: ConvProblem, w):
    """Return the rounded weights on the device."""
    return current().put(packed_words(kind, problem, w))


def allocate(kind: str, tile: WarpTile | None, problem: ConvProblem, threads: int):
    """Return the room for x, rounded: words (N*H*W*G*channels)."""
    pixels = problem.N * problem.H * problem.W * problem.groups
    return {"words": current().empty((pixels * pixel_words(kind, problem),), "uint32")}


def run(kind: str, tile: WarpTile | None, problem: ConvProblem, x, packed, workspace, y, threads):
    """Round x, then multiply."""
    words = workspace["words"]
    words_of(kind, problem, x.reshape(-1), words)
    multiply_words(kind, tile or tile_for(kind, problem), problem, words, packed, y)


def works(kind: str, tile: WarpTile | None, problem: ConvProblem) -> tuple[Work, ...]:
    """Return what the launches of `run` ask of a GPU."""
    tile = tile or tile_for(kind, problem)
    return rounding_work(kind, problem), _product_work(kind, tile, problem)


def tile_for(kind: str, problem: ConvProblem) -> WarpTile:
    """Return the tile whose product is predicted to be over first on the GPU that kernels run on here."""
    return _chosen(kind, problem, device_speeds())


@lru_cache
def _chosen(kind: str, problem: ConvProblem, speeds: GpuSpeeds) -> WarpTile:
    return min(TILES, key=lambda tile: time_of(_product_work(kind, tile, problem), speeds).seconds)


def _product_work(kind: str, tile: WarpTile, problem: ConvProblem) -> Work:
    return product_work(kind, tile, problem, product_blocks(problem, tile))


def product_blocks(problem: ConvProblem, tile: WarpTile) -> int:
    """Return how many tiles cover y."""
    M, filters, _ = problem.gemm
    return problem.groups * ceil_div(M, tile.block_m) * ceil_div(filters, tile.block_n)


def multiply_words(kind: str, tile: WarpTile, problem: ConvProblem, words, packed, y) -> None:
    """Fill y (N, P, Q, K) with the convolution of rounded x and w."""
    (M, filters, _), groups = problem.gemm, problem.groups
    (top, _), (left, _) = problem.padding
    ends = problem.R * problem.dilation[0], problem.S * problem.dilation[1]
    current().launch(
        product(kind, tile),
        product_blocks(problem, tile),
        tile.threads,
        words,
        packed.reshape(-1),
        y.reshape(-1),
        M,
        *(problem.H, problem.W, problem.P, problem.Q),
        *(groups, pixel_words(kind, problem), filters, packed.shape[1]),
        *(*problem.stride, top, left, *problem.dilation, *ends),
    )
