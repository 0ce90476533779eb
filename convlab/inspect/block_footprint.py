"""Block by block: in which order a matrix product visits its blocks, and what each of them touches.

A block of rows m, columns n and a piece k of the sums does 2*|m|*|n|*|k| operations. It needs |m|*|k| cells
of A and |n|*|k| weights. But A is a matrix of windows, and windows overlap: many of its cells are the same
number of x, some are zeros for padding. How many different ones there are decides what a block must fetch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from convlab.algorithms.precomputed_gemm.offsets import walk
from convlab.index_map import IndexMap
from convlab.problem import ConvProblem
from convlab.support.checked import Count, checked


class GemmBlock(NamedTuple):
    """Rows m, columns n and a piece k of the sums."""

    m: range
    n: range
    k: range


@checked
def implicit_gemm_blocks(
    problem: ConvProblem, block_m: Count, block_n: Count, block_k: Count
) -> list[GemmBlock]:
    """Return the blocks of `implicit_gemm`: rows slowest, then columns, then pieces of the sums.

    Parameters
    ----------
    problem : ConvProblem
    block_m, block_n, block_k : int

    Raises
    ------
    ParameterError
        If a block is no integer above 0.
    """
    M, N, K = problem.gemm
    return [
        GemmBlock(_cut(m, block_m, M), _cut(n, block_n, N), _cut(k, block_k, K))
        for m in range(0, M, block_m)
        for n in range(0, N, block_n)
        for k in range(0, K, block_k)
    ]


@checked
def precomputed_gemm_blocks(
    problem: ConvProblem, block_m: Count, block_n: Count, block_c: Count
) -> list[GemmBlock]:
    """Return the blocks of `precomputed_gemm`: the same, but the pieces are the steps of the walk.

    Parameters
    ----------
    problem : ConvProblem
    block_m, block_n, block_c : int

    Raises
    ------
    ParameterError
        If a block is no integer above 0.
    """
    M, N, _ = problem.gemm
    channels = problem.C // problem.groups
    pieces = []
    for c, r, s, _ in walk(problem, block_c):
        first = (r * problem.S + s) * channels
        pieces.append(range(first + c, first + min(c + block_c, channels)))
    rows = [_cut(m, block_m, M) for m in range(0, M, block_m)]
    return [GemmBlock(m, _cut(n, block_n, N), k) for m in rows for n in range(0, N, block_n) for k in pieces]


@dataclass(frozen=True)
class Counts:
    """What one block touches.

    Attributes
    ----------
    cells : int
        Cells of A in the block.
    padding : int
        Those of them that are zeros for padding.
    numbers : int
        Different numbers of x among the others.
    flops : int
        Operations of the block.
    bytes : int
        Bytes of the different numbers of x, and of the weights.
    """

    cells: int
    padding: int
    numbers: int
    flops: int
    bytes: int

    @property
    def reuse(self) -> float:
        """How often a number of x is read, on average; 0 if the block is all padding."""
        return (self.cells - self.padding) / self.numbers if self.numbers else 0.0

    @property
    def intensity(self) -> float:
        """FLOPs for each byte that the block must fetch."""
        return self.flops / self.bytes


@checked
def count(problem: ConvProblem, block: GemmBlock) -> Counts:
    """Return what a block touches (of the first group, if there are several).

    Parameters
    ----------
    problem : ConvProblem
    block : GemmBlock
    """
    at = IndexMap(problem).x_at(np.array(block.m)[:, None], np.array(block.k))  # (rows, columns)
    numbers = len(np.unique(at[at >= 0]))
    weights = len(block.n) * len(block.k)
    return Counts(
        cells=at.size,
        padding=int((at < 0).sum()),
        numbers=numbers,
        flops=2 * len(block.m) * weights,
        bytes=(numbers + weights) * problem.itemsize,
    )


def _cut(start: int, step: int, end: int) -> range:
    return range(start, min(start + step, end))
