"""The sizes of a tiled matrix product: what a block of threads, a thread and an instruction work on.

    y (M x N)  =  A (M x K)  *  B (K x N)

A block of threads computes block_m x block_n numbers of y. It goes along K in pieces of block_k: a piece of
A and a piece of B are brought to shared memory, where all its threads read them. A thread computes
thread_m x thread_n of the numbers in its registers, and every number that it reads serves a whole row or
column of them. Bigger tiles read less memory for each operation, but need more registers and shared memory.

Wave, a language for such kernels, has the same words, but for two: its waves are `warps` here, and its
ELEMS_PER_THREAD, the numbers of one load or store of a thread, is `width`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from convlab.errors import ParameterError
from convlab.gpu.occupancy import MOST_SHARED, MOST_THREADS, REGISTERS, WARP
from convlab.support.checked import Computed, Count, checked
from convlab.support.integers import ceil_div, round_up


@checked
@dataclass(frozen=True)
class Tile:
    """Sizes of a tiled product.

    Parameters
    ----------
    block_m, block_n, block_k : int
        Rows and columns of y of one block of threads, and the length of a piece of the sums.
    thread_m, thread_n : int
        Rows and columns of y of one thread.
    width : int
        Numbers of one access to memory, 1 or 4.
    buffers : int
        Pieces in shared memory at a time: 1, or 2 to load the next one while this one is multiplied.
    pairs : bool
        Whether lanes stand in pairs, see `in_pairs`.

    Raises
    ------
    ParameterError
        If the sizes do not fit each other, or a block would need more threads than one may have.
    """

    block_m: Count
    block_n: Count
    block_k: Count
    thread_m: Count
    thread_n: Count
    width: Count = 4
    buffers: Count = 2
    pairs: bool = True

    def __post_init__(self):
        for block, thread in (("block_m", "thread_m"), ("block_n", "thread_n")):
            if getattr(self, block) % (step := getattr(self, thread)):
                raise ParameterError(
                    f"{block}={getattr(self, block)}; expected a multiple of {thread}={step}"
                )
        for name in ("block_n", "block_k", "thread_m", "thread_n"):
            if getattr(self, name) % self.width:
                raise ParameterError(
                    f"{name}={getattr(self, name)}; expected a multiple of width={self.width}, or width=1"
                )
        if self.threads > MOST_THREADS:
            raise ParameterError(
                f"block_m={self.block_m}, block_n={self.block_n} with {self.thread_m} x {self.thread_n} "
                f"numbers a thread take {self.threads} threads; a block has {MOST_THREADS} at most"
            )
        if self.threads % self.block_k:  # or a thread would have other columns of A in each of its rows
            raise ParameterError(
                f"block_k={self.block_k} does not divide the {self.threads} threads of a block of "
                f"{self.block_m} x {self.block_n}, {self.thread_m} x {self.thread_n} a thread; "
                "expected a power of two, or another block_m or block_n"
            )

        if self.threads % self.lanes_b:  # or a thread's next loads would not be whole rows of B on
            raise ParameterError(
                f"block_n={self.block_n} is {self.lanes_b} loads of {self.width}, which do not divide the "
                f"{self.threads} threads of a block; expected a larger block_m"
            )

    @checked
    def check(self, dtype: Computed) -> None:
        """Refuse a tile that needs more shared memory than a block has.

        Raises
        ------
        ParameterError
        """
        if self.shared_bytes(dtype) > MOST_SHARED:
            raise ParameterError(
                f"block_m={self.block_m}, block_n={self.block_n}, block_k={self.block_k} need "
                f"{self.shared_bytes(dtype)} bytes of shared memory for {dtype}; a block has {MOST_SHARED}. "
                "Make block_k smaller, or block_m and block_n"
            )

    # -- threads -------------------------------------------------------------------------------------------

    @cached_property
    def threads(self) -> int:
        """Threads of a block."""
        return self.threads_m * self.threads_n

    @cached_property
    def warps(self) -> int:
        """Warps of a block."""
        return ceil_div(self.threads, WARP)

    @cached_property
    def threads_m(self) -> int:
        """Threads of a block, down a column of y."""
        return self.block_m // self.thread_m

    @cached_property
    def threads_n(self) -> int:
        """Threads of a block, along a row of y."""
        return self.block_n // self.thread_n

    @cached_property
    def warp_n(self) -> int:
        """Lanes of a warp along a row of y: 8, so that a warp reads 4 rows of A and 8 columns of B.

        The nearer to a square, the fewer different numbers do 32 lanes need. Where that does not go into
        the block, the threads are counted row by row.
        """
        return 8 if self._is_near_square else self.threads_n

    @cached_property
    def _is_near_square(self) -> bool:
        return self.threads_n % 8 == 0 and self.threads_m % 4 == 0 and self.thread_n > 1

    @cached_property
    def in_pairs(self) -> bool:
        """Whether lanes i and i+1 stand one above the other, and i and i+2 side by side.

        Then neighbours want the same numbers of B, and every other lane the same of A. Loads of 16 bytes are
        served in half of the passes for that, see `simulator.bank_conflicts`. Row by row only those of A are.
        """
        return self.pairs and self.width == 4 and self._is_near_square

    @cached_property
    def resident(self) -> int:
        """Blocks a multiprocessor shall hold: as many as leave 128 registers to a thread, or twice as many.

        Twice as many for more than 64 sums, which would not fit beside all else.
        """
        room = 128 if self.thread_m * self.thread_n <= 64 else 256
        return max(1, REGISTERS // room // self.threads)

    # -- shared memory -------------------------------------------------------------------------------------

    @cached_property
    def row(self) -> int:
        """Numbers from one k to the next in shared A: block_m and some more.

        A is stored down its columns, lanes of a warp many k apart: the extra numbers lead them to different
        banks. A multiple of `width`, so that wide reads stay aligned.
        """
        extra = max(1, WARP // self.block_k)
        return self.block_m + round_up(extra, self.width) + -self.block_m % self.width

    @checked
    def shared_bytes(self, dtype: Computed) -> int:
        """Bytes of shared memory of a block."""
        return self.buffers * self.block_k * (self.row + self.block_n) * np.dtype(dtype).itemsize

    # -- loads of a thread, for one piece ------------------------------------------------------------------

    @checked
    def lanes(self, width: Count) -> int:
        """Threads that share a row of A, each with `width` numbers of it."""
        return self.block_k // width

    @checked
    def loads_a(self, width: Count) -> int:
        """Loads of A a thread does for one piece; where threads are too many, some load what nobody reads."""
        return ceil_div(self.block_m * self.lanes(width), self.threads)

    @cached_property
    def lanes_b(self) -> int:
        """Threads that share a row of B."""
        return self.block_n // self.width

    @checked
    def loads_across(self, size: Count, width: Count) -> int:
        """Loads a thread does for a piece that is taken as it lies, its rows `size` numbers long."""
        return ceil_div(self.block_k * (size // width), self.threads)
