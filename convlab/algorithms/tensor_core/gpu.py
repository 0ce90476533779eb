"""Implicit GEMM on tensor cores: x is rounded to words, then a kernel multiplies words.

    words = x, rounded                       `convlab.gpu.tensor_cores.round_inputs`
    y     = words convolved with words       `convlab.gpu.tensor_cores.product`

What changed from the fp32 kernel: an instruction multiplies 16 x 8 x 16 numbers (8 for tf32) instead of 32,
and copies go from global to shared memory without a register between. What it should do to the traffic: half
the bytes for fp16, and padding costs no request, as a copy that is not wanted writes zeros.

Where a picture has too few tiles for the multiprocessors the sums are cut: each block adds up a part, and a
second kernel adds the parts, as in `implicit_gemm`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from convlab.algorithms.tensor_core import TILES
from convlab.algorithms.tensor_core.rounding import packed_words
from convlab.gpu.device import current, device_speeds
from convlab.gpu.gemm.launch import partial_bytes, partials, reduce, wide
from convlab.gpu.gemm.work import reduction_work
from convlab.gpu.model.speeds import GpuSpeeds
from convlab.gpu.model.work import Work, time_of
from convlab.gpu.tensor_cores.product import product
from convlab.gpu.tensor_cores.round_inputs import read_by, words_of
from convlab.gpu.tensor_cores.warp_tile import WORDS, WarpTile, pixel_words
from convlab.gpu.tensor_cores.work import product_work, rounding_work
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div, round_up

PARTS = 2, 3, 4, 6, 8  # of the sums; with as many whole pieces each, so none is empty
LEAST = 4  # pieces of a part


class Plan(NamedTuple):
    """A tile, and the parts that the sums are cut into."""

    tile: WarpTile
    parts: int


def pack(kind: str, tile: WarpTile | None, problem: ConvProblem, w):
    """Return the rounded weights on the device."""
    return current().put(packed_words(kind, problem, w))


def allocate(kind: str, tile: WarpTile | None, problem: ConvProblem, threads: int):
    """Return the room for x, rounded: words (N*H*W*G*channels); and for the parts of y, if it has some."""
    words = current().empty((words_bytes(kind, problem) // 4,), "uint32")
    return {"words": words} | partials(problem, plan_for(kind, tile, problem).parts)


def workspace_bytes(kind: str, tile: WarpTile | None, problem: ConvProblem, threads: int) -> int:
    """Return the bytes of what `allocate` returns."""
    return words_bytes(kind, problem) + partial_bytes(problem, plan_for(kind, tile, problem).parts)


def words_bytes(kind: str, problem: ConvProblem) -> int:
    """Return the bytes of x, rounded, as far as it is read."""
    seen = read_by(problem)
    return seen.N * seen.H * seen.W * seen.groups * pixel_words(kind, seen) * 4


def largest(kind: str, tile: WarpTile | None, problem: ConvProblem) -> int:
    """Return the numbers of the words, of which a pixel may have more than channels."""
    return words_bytes(kind, problem) // 4


def run(kind: str, tile: WarpTile | None, problem: ConvProblem, x, packed, workspace, y, threads):
    """Round x, then multiply."""
    words, chosen = workspace["words"], plan_for(kind, tile, problem)
    words_of(kind, problem, x.reshape(-1), words)
    if chosen.parts == 1:
        multiply_words(kind, chosen, problem, words, packed, y)
    else:
        multiply_words(kind, chosen, problem, words, packed, workspace["partials"])
        reduce(workspace["partials"], y, y.size, chosen.parts)


def works(kind: str, tile: WarpTile | None, problem: ConvProblem) -> tuple[Work, ...]:
    """Return what the launches of `run` ask of a GPU."""
    return rounding_work(kind, problem), *_product_works(kind, plan_for(kind, tile, problem), problem)


def plan_for(kind: str, tile: WarpTile | None, problem: ConvProblem) -> Plan:
    """Return the tile, if none is given, and the parts whose product is predicted to be over first here."""
    return _chosen(kind, tile, problem, device_speeds())


@lru_cache
def _chosen(kind: str, tile: WarpTile | None, problem: ConvProblem, speeds: GpuSpeeds) -> Plan:
    pieces = ceil_div(problem.R * problem.S * pixel_words(kind, problem), WORDS)  # of a filter
    parts = [ceil_div(pieces, ceil_div(pieces, count)) for count in PARTS if count * LEAST <= pieces]
    plans = [Plan(tile, 1)] if tile else [Plan(one, count) for one in TILES for count in {1, *parts}]

    def seconds(one: Plan) -> float:
        return sum(time_of(work, speeds).seconds for work in _product_works(kind, one, problem))

    return min(plans, key=seconds)


def _product_works(kind: str, plan: Plan, problem: ConvProblem) -> tuple[Work, ...]:
    first = product_work(kind, plan.tile, problem, product_blocks(problem, plan.tile), plan.parts)
    if plan.parts == 1:
        return (first,)
    return first, reduction_work(plan.parts, problem.y_bytes, problem.itemsize)


def product_blocks(problem: ConvProblem, tile: WarpTile) -> int:
    """Return how many tiles cover y."""
    M, filters, _ = problem.gemm
    return problem.groups * ceil_div(M, tile.block_m) * ceil_div(filters, tile.block_n)


def multiply_words(kind: str, plan: Plan, problem: ConvProblem, words, packed, y) -> None:
    """Fill y (parts, N, P, Q, K) with the convolution of rounded x and w, or with parts of its sums."""
    problem = read_by(problem)
    M, filters, _ = problem.gemm
    channels = pixel_words(kind, problem)
    (top, _), (left, _) = problem.padding
    ends = problem.R * problem.dilation[0], problem.S * problem.dilation[1]
    row = packed.shape[1]
    current().launch(
        product(kind, plan.tile, channels < WORDS, wide(2, filters, y)),
        (product_blocks(problem, plan.tile), plan.parts),
        plan.tile.threads,
        words,
        packed.reshape(-1),
        y.reshape(-1),
        M,
        *(problem.H, problem.W, problem.P, problem.Q),
        *(problem.groups, channels, filters, row, round_up(ceil_div(row, plan.parts), WORDS)),
        *(*problem.stride, top, left, *problem.dilation, *ends),
    )
