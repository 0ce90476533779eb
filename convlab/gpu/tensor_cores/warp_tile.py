"""What the product on tensor cores is told: the tile of a block and its warps, the type of the inputs."""

from __future__ import annotations

from typing import NamedTuple

from convlab.errors import ParameterError
from convlab.gpu.occupancy import MOST_SHARED, MOST_THREADS
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div

WORDS = 32  # of 32 bits; so long is a piece of the sums that a block multiplies at a time
BUFFERS = 4  # pieces in shared memory, at most: with more, a copy's way is hidden long since
LEAST_SIDE = 32  # pixels or filters of a block
# Filters of a block at most: two pieces have to fit.
MOST_FILTERS = MOST_SHARED // (2 * WORDS * 4) - LEAST_SIDE


class WarpTile(NamedTuple):
    """What a block of threads computes, and each warp of it.

    Attributes
    ----------
    block_m, block_n : int
        Output pixels and filters of a block, multiples of 32.
    warp_m, warp_n : int
        Output pixels and filters of a warp; multiples of 16 that divide the block's.
    """

    block_m: int
    block_n: int
    warp_m: int
    warp_n: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * (self.block_m // self.warp_m) * (self.block_n // self.warp_n)

    @property
    def piece_bytes(self) -> int:
        """Bytes of a piece of both matrices in shared memory."""
        return (self.block_m + self.block_n) * WORDS * 4

    @property
    def buffers(self) -> int:
        """Pieces in shared memory: one is multiplied, the others are on their way."""
        return min(BUFFERS, MOST_SHARED // self.piece_bytes)

    def check(self) -> None:
        """Refuse a tile that cannot be cut into warps, or that takes more than a block has.

        Raises
        ------
        ParameterError
        """
        m, n, warp_m, warp_n = self
        good = all(size > 0 for size in self) and m % 32 == n % 32 == warp_m % 16 == warp_n % 16 == 0
        good = good and m % warp_m == n % warp_n == 0
        # Threads copy whole rows together, eight rows at a time or more.
        rows = self.threads * 4 // WORDS if good else 0
        if not good or rows % 8 or m % rows or n % rows:
            raise ParameterError(
                f"tile={tuple(self)}; expected multiples of 32, cut into an even number of warps of "
                "multiples of 16, and as many copies of 16 bytes for every thread"
            )
        shared = 2 * self.piece_bytes
        if shared > MOST_SHARED or self.threads > MOST_THREADS:
            raise ParameterError(
                f"tile={tuple(self)} needs {shared} bytes of shared memory and {self.threads} threads; "
                f"a block has {MOST_SHARED} bytes and {MOST_THREADS} threads"
            )


KINDS = {"fp16": 2, "tf32": 1}  # what tensor cores multiply, and how many of them are in a word of 32 bits


def pixel_words(kind: str, problem: ConvProblem) -> int:
    """Return the words that hold one pixel's channels of one group, in whole copies of four words."""
    return 4 * ceil_div(problem.C // problem.groups, 4 * KINDS[kind])
