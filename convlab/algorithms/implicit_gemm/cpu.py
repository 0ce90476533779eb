"""Implicit GEMM, the fast form: blocks in the second cache, multiplied on the register tile.

`convlab.cpu.gathered_gemm` gathers and multiplies; here stands how large the blocks are. What is asked for
comes as `given`: (block_m, block_n, block_k), None where the library chooses.
"""

from __future__ import annotations

import numpy as np

from convlab.algorithms.implicit_gemm import PIECE, TILES
from convlab.cpu.gathered_gemm import gathered_gemm
from convlab.cpu.gemm import pack_filters
from convlab.cpu.product_tile import tile_of
from convlab.errors import ParameterError
from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty
from convlab.support.integers import round_up


def pack(given, problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return the weights in panels as wide as this processor's tile."""
    return pack_filters(problem, w)


def allocate(given, problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    """Return the workspace: for each thread a block of the matrix, (threads, block_m * block_k)."""
    rows, _, columns = blocks_of(given, problem)
    return {"scratch": aligned_empty((threads, rows * columns), problem.dtype)}


def run(given, problem, x, panels, workspace, out, threads):
    """Fill out.y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    gathered_gemm(problem, x, panels, workspace["scratch"], out, blocks_of(given, problem), threads)


def blocks_of(given, problem: ConvProblem) -> tuple[int, int, int]:
    """Return block_m, block_n and block_k: those that are given, else those that fit the second cache."""
    block_m, block_n, block_k = given
    M, filters, taps = problem.gemm
    tile = tile_of(problem)
    if block_n is not None and block_n % tile.cols:
        raise ParameterError(
            f"block_n={block_n}; on backend='cpu' expected a multiple of {tile.cols}, "
            "the columns of this processor's register tile for so many filters"
        )
    whole = round_up(filters, tile.cols)
    rows, columns = block_m or TILES * tile.rows, block_k or PIECE
    return min(rows, M), min(block_n or whole, whole), min(columns, taps)
