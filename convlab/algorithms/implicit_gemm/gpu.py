"""Implicit GEMM on a GPU: one tiled product, and a ladder of rungs to it.

    y[m, n] = sum over k of A[m, k] * w[k, n]        A[m, k] = a number of x, or 0: `load_implicit`

Blocks of threads compute tiles of y; pieces of A and w go to shared memory, from there to registers. On every
rung it is the same kernel (`gemm.kernel`): only its sizes change from rung to rung. The first
four are those of Boehm, "How to Optimize a CUDA Matmul Kernel for cuBLAS-like Performance" (2022), with the
index map in the place of a matrix.
"""

from __future__ import annotations

from functools import partial

from convlab.algorithms.ladder import Rung
from convlab.gpu.gemm import launch
from convlab.gpu.gemm.heuristics import choose_tile
from convlab.gpu.gemm.kernel import tiled_product
from convlab.gpu.gemm.launch import multiply
from convlab.gpu.gemm.load_implicit import implicit_loader, shape
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.gemm.work import convolution_works
from convlab.gpu.model.work import Work
from convlab.gpu.occupancy import MOST_SHARED
from convlab.problem import ConvProblem
from convlab.support.checked import Count, checked


def pack(given, problem: ConvProblem, w):
    """Return the weights as the kernel reads them, after a look at the blocks that somebody wants."""
    choose_tile(problem, given)
    return launch.pack(problem, w)


def packed_bytes(given, problem: ConvProblem) -> int:
    """Bytes of what `pack` returns."""
    return launch.packed_bytes(problem)


def allocate(given, problem: ConvProblem, threads: int) -> dict:
    """Return the parts of the sums, (parts, N, P, Q, K), where K is cut."""
    return launch.partials(problem, choose_tile(problem, given).parts)


def workspace_bytes(given, problem: ConvProblem, threads: int) -> int:
    """Bytes of what `allocate` returns."""
    return launch.partial_bytes(problem, choose_tile(problem, given).parts)


def works(given, problem: ConvProblem) -> tuple[Work, ...]:
    """Return what the launches of `run` ask of a GPU."""
    tile, parts, *_ = choose_tile(problem, given)
    return convolution_works(problem, tile, parts)


def run(given, problem, x, w, workspace, y, threads):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    tile, parts, *_ = choose_tile(problem, given)
    run_tile(tile, parts, problem, x, w, workspace, y, threads)


def run_tile(tile: Tile, parts: int, problem, x, w, workspace, y, threads):
    """The same with a tile of your own."""
    partials = workspace.get("partials")
    multiply(problem, tile, parts, implicit_loader, shape(problem, tile), x, x, w, partials, y)


def _refuses(tile: Tile, parts: int, problem: ConvProblem) -> str | None:
    """Say why a rung does not serve a problem."""
    if parts > 1 and problem.groups > 1:
        return "K is cut for one group only"
    if (needed := tile.shared_bytes(problem.dtype)) > MOST_SHARED:
        return (
            f"its tile needs {needed} bytes of shared memory for {problem.dtype}; a block has {MOST_SHARED}"
        )
    return None


# -- the ladder --------------------------------------------------------------------------------------------


@checked
def rung(name: str, tile: Tile, change: str, traffic: str, parts: Count = 1) -> Rung:
    """Return the rung of one tile."""
    return Rung(
        name,
        change,
        traffic,
        run=partial(run_tile, tile, parts),
        kernel=partial(tiled_product, tile, implicit_loader),
        pack=launch.pack,
        refuses=partial(_refuses, tile, parts),
        others={
            "allocate": lambda problem, threads: launch.partials(problem, parts),
            "workspace_bytes": lambda problem, threads: launch.partial_bytes(problem, parts),
            "works": lambda problem: convolution_works(problem, tile, parts),
        },
    )


RUNGS = (
    rung(
        "tile in shared memory",
        Tile(16, 16, 16, thread_m=1, thread_n=1, width=1, buffers=1),
        "A block fetches 16 x 16 pieces of A and w for all its threads; each thread computes one output.",
        "Every number of a piece is fetched once a block instead of 16 times; two reads of shared memory "
        "for each multiply-add.",
    ),
    rung(
        "column of outputs in registers",
        Tile(64, 64, 8, thread_m=8, thread_n=1, width=1, buffers=1),
        "A thread computes eight outputs of a column: a weight, once read, serves eight times.",
        "Nine reads of shared memory for eight multiply-adds; a tile four times as wide fetches a quarter.",
    ),
    rung(
        "square of outputs in registers",
        Tile(128, 128, 8, thread_m=8, thread_n=8, width=1, buffers=1),
        "A thread computes 8 x 8 outputs: an outer product of eight pixels and eight weights.",
        "A quarter of a read of shared memory for each multiply-add; half the fetches of a 64-wide tile.",
    ),
    rung(
        "four numbers an access",
        Tile(128, 128, 8, thread_m=8, thread_n=8, width=4, buffers=1, pairs=False),
        "Loads and stores take four numbers at once.",
        "The same bytes in a quarter of the requests.",
    ),
    rung(
        "lanes in pairs",
        Tile(128, 128, 8, thread_m=8, thread_n=8, width=4, buffers=1),
        "Neighbouring lanes stand one above the other and read the same weights; every other lane reads the "
        "same pixels.",
        "The same requests; those for weights in shared memory take half of the passes, as those for pixels "
        "already did.",
    ),
    rung(
        "two buffers",
        Tile(128, 128, 8, thread_m=8, thread_n=8, width=4, buffers=2),
        "The next piece is fetched while this one is multiplied; one barrier a piece instead of two.",
        "The same traffic: its waiting time is hidden behind the multiply-adds.",
    ),
    rung(
        "sums in parts",
        Tile(128, 128, 8, thread_m=8, thread_n=8, width=4, buffers=2),
        "Four blocks share a tile, each adds up a quarter of K, and a second kernel adds the quarters.",
        "Four times as many blocks, for pictures too small to fill the GPU; y is written five times and "
        "read four times.",
        parts=4,
    ),
    rung(
        "deeper pieces",
        Tile(128, 128, 16, thread_m=8, thread_n=8, width=4, buffers=2),
        "Pieces are twice as long: half as many barriers, addresses and turns of the loop.",
        "The same traffic; a larger part of the instructions multiplies. But twice as much is on its way: "
        "where the registers no longer suffice, the compiler spills.",
    ),
    rung(
        "more outputs a thread",
        Tile(128, 128, 8, thread_m=16, thread_n=8, width=4, buffers=2),
        "A thread computes 16 x 8 outputs, with all the registers that a thread can have.",
        "Three quarters of the reads of shared memory. But only eight warps have room on a multiprocessor: "
        "its own independent sums must hide a thread's waiting.",
    ),
)
