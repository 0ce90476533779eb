"""What tile sizes cost, on paper: registers, shared memory, blocks at once, and the traffic of a whole layer.

The matrix product of implicit GEMM is cut twice. A block of threads computes block_m pixels x block_n filters
and walks over the sum in pieces of block_k, which it keeps in shared memory. Each of its threads computes
thread_m x thread_n of these outputs in registers. With M pixels, K filters and R*S*C terms to a sum::

    each block fetches         (block_m + block_n) * R*S*C   numbers    for block_m * block_n sums
    each thread reads, a term,  thread_m + thread_n          numbers    for thread_m * thread_n multiply-adds

so both times the *sides* of a tile are paid for, and its *area* is what one gets. The lane simulator counts
the same traffic, request by request.
"""

from __future__ import annotations

from dataclasses import dataclass

from convlab.gpu.gemm.tile import Tile
from convlab.gpu.occupancy import MOST_REGISTERS, MOST_SHARED, MOST_THREADS, WARP, Occupancy, occupancy
from convlab.problem import ConvProblem
from convlab.support.checked import Count, checked
from convlab.support.integers import ceil_div, round_up

WORD = 4  # bytes of a float32
OTHERS = 24  # registers for addresses, counters and bounds; what the compiler takes for them is near this

# Why no kernel can be cut like this; the tiling explorer says the same.
TROUBLE = {
    "tile": "a thread's tile is larger than its block's",
    "warp": "a block would have {number} threads, and a warp has {most}",
    "threads": "a block would have {number} threads; {most} is the most",
    "shared": "a block would need {number} bytes of shared memory; {most} is the most",
    "registers": "a thread would need {number} registers; {most} is the most",
}


@checked
@dataclass(frozen=True)
class Tiling:
    """How the matrix product is cut: into blocks of threads, and among the threads of a block.

    Parameters
    ----------
    block_m, block_n, block_k : int
        Pixels and filters of a block, and terms of the sum that it holds at once.
    thread_m, thread_n : int
        Pixels and filters of a thread.
    buffers : int
        1, or 2: the next piece of the sum is fetched while this one is multiplied.
    split_k : int
        Blocks that share a sum. Each computes its part, and a second kernel adds the parts.
    """

    block_m: Count = 128
    block_n: Count = 128
    block_k: Count = 8
    thread_m: Count = 8
    thread_n: Count = 8
    buffers: Count = 2
    split_k: Count = 1

    @classmethod
    @checked
    def of(cls, tile: Tile, split_k: Count = 1) -> Tiling:
        """Return the tiling of a kernel's tile."""
        names = ("block_m", "block_n", "block_k", "thread_m", "thread_n", "buffers")
        return cls(**{name: getattr(tile, name) for name in names}, split_k=split_k)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return (self.block_m // self.thread_m) * (self.block_n // self.thread_n)

    @property
    def staged(self) -> int:
        """Numbers of the next piece that a thread carries in registers on their way to shared memory."""
        piece = (self.block_m + self.block_n) * self.block_k
        return ceil_div(piece, self.threads) if self.threads else 0

    @property
    def registers(self) -> int:
        """Registers of a thread, by estimate: sums, what they are made of, what it carries, addresses."""
        return self.thread_m * self.thread_n + self.thread_m + self.thread_n + self.staged + OTHERS

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory of a block: a piece of pixels, and one of weights, for each buffer.

        Between two rows of pixels there is a gap: lanes that store down a column meet different banks.
        """
        gap = round_up(max(1, WARP // self.block_k), 4)  # numbers; rows stay aligned for four at once
        return self.buffers * self.block_k * (self.block_m + gap + self.block_n) * WORD

    @property
    def block_intensity(self) -> float:
        """FLOPs for each byte that a block fetches, far from any edge."""
        return 2 * self.block_m * self.block_n / ((self.block_m + self.block_n) * WORD)

    @property
    def thread_intensity(self) -> float:
        """FLOPs for each byte that a thread reads from shared memory."""
        return 2 * self.thread_m * self.thread_n / ((self.thread_m + self.thread_n) * WORD)

    @property
    def trouble(self) -> str | None:
        """Why no kernel can be cut like this, or None if one can."""
        if self.block_m % self.thread_m or self.block_n % self.thread_n:
            return TROUBLE["tile"]
        if self.threads % WARP:
            return TROUBLE["warp"].format(number=self.threads, most=WARP)
        if self.threads > MOST_THREADS:
            return TROUBLE["threads"].format(number=self.threads, most=MOST_THREADS)
        if self.shared_bytes > MOST_SHARED:
            return TROUBLE["shared"].format(number=self.shared_bytes, most=MOST_SHARED)
        if self.registers > MOST_REGISTERS:
            return TROUBLE["registers"].format(number=self.registers, most=MOST_REGISTERS)
        return None

    @checked
    def held(self, arch: str) -> Occupancy:
        """Return how many of its blocks a multiprocessor holds at once."""
        return occupancy(arch, self.threads, self.registers, self.shared_bytes)


def blocks(problem: ConvProblem, tiling: Tiling) -> int:
    """Return how many blocks of threads a layer is."""
    m, n, _ = problem.gemm
    return problem.groups * ceil_div(m, tiling.block_m) * ceil_div(n, tiling.block_n) * tiling.split_k


def wasted(problem: ConvProblem, tiling: Tiling) -> float:
    """Return the share of outputs, 0 to 1, that tiles hanging over the edge compute for nothing."""
    m, n, _ = problem.gemm
    rows, cols = round_up(m, tiling.block_m), round_up(n, tiling.block_n)
    return 1 - m * n / (rows * cols)


@checked
def tile_traffic(problem: ConvProblem, tiling: Tiling) -> dict[str, int]:
    """Return the bytes that all threads together ask of the memory behind the multiprocessors.

    Of x every block fetches the windows of its pixels (taps on padding are not fetched), of w the weights of
    its filters. Parts of sums are written by each of the `split_k` blocks, read again, and added up.
    """
    m, n, k = problem.gemm
    y = problem.groups * m * n
    return {
        "x": WORD * pixels_read(problem) * problem.C * ceil_div(n, tiling.block_n),
        "w": WORD * problem.groups * n * k * ceil_div(m, tiling.block_m),
        "y": WORD * y * (1 if tiling.split_k == 1 else 2 * tiling.split_k + 1),
    }


def untiled(problem: ConvProblem) -> dict[str, int]:
    """Return the same bytes where every thread fetches all that its one output is made of."""
    return tile_traffic(problem, Tiling(1, 1, 1, 1, 1, 1))


def compulsory_bytes(problem: ConvProblem) -> dict[str, int]:
    """Return the same bytes if every number of x, w and y travelled once: less is not possible."""
    return {"x": problem.x_bytes, "w": problem.w_bytes, "y": problem.y_bytes}


def pixels_read(problem: ConvProblem) -> int:
    """Return how often a tap falls on a pixel of the picture, over all outputs."""
    rows, cols = (_hits(problem, axis) for axis in (0, 1))
    return problem.N * rows * cols


def _hits(problem: ConvProblem, axis: int) -> int:
    size, taps, outputs = (getattr(problem, names[axis]) for names in (("H", "W"), ("R", "S"), ("P", "Q")))
    stride, dilation, before = problem.stride[axis], problem.dilation[axis], problem.padding[axis][0]
    return sum(
        0 <= output * stride + tap * dilation - before < size
        for output in range(outputs)
        for tap in range(taps)
    )
