"""What a tiled product asks of a GPU: counted from the sizes of its tile, as the kernel is written.

In one turn a block fetches a piece of A and of B, stores both in shared memory, and adds up their products.
So each count below is a loop of `kernel`, `tile_io` or `outer_product`, for all its warps; a test holds them
against the machine code and against the requests of a block in the lane simulator.
"""

from __future__ import annotations

import numpy as np

from convlab.gpu.gemm.launch import REDUCERS
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.model.work import LINE, SECTOR, Demand, Work, one_pass
from convlab.gpu.occupancy import WARP, registers_for
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div

# Instructions of a warp in a turn beside all that is counted: addresses, conditions, the barrier.
SEARCHED = 55  # where the places of A are worked out, or looked up
KNOWN = 25  # where A is a matrix that lies there


def convolution_works(problem: ConvProblem, tile: Tile, parts: int, table: float = 0) -> tuple[Work, ...]:
    """Return the launches of a convolution whose A is never stored.

    Parameters
    ----------
    problem : ConvProblem
    tile, parts
        As `gemm.launch.multiply` takes them.
    table : float
        Bytes of a table that leads to x.
    """
    width = 1 if problem.C // problem.groups % tile.width else tile.width
    return product_works(
        problem.gemm,
        problem.groups,
        tile,
        parts,
        x_width=width,
        apart=problem.C,
        dtype=problem.dtype,
        cold=problem.x_bytes + table,
    )


def product_works(
    sizes: tuple[int, int, int],
    groups: int,
    tile: Tile,
    parts: int = 1,
    *,
    x_width: int,
    apart: int,
    dtype: str,
    cold: float = 0,
    passed_on: float = 0,
    kept: bool = False,
    others: float = SEARCHED,
) -> tuple[Work, ...]:
    """Return the launches of a product: the tiles, and the sum of the parts where the sums are cut.

    Parameters
    ----------
    sizes : (int, int, int)
        M, N and K of a group.
    groups : int
    tile : Tile
    parts : int
        That K is cut into.
    x_width : int
        Numbers of one load of A.
    apart : int
        Numbers from one row of A to the next, where they lie.
    dtype : str
    cold, passed_on : float
        Bytes that A is made from: out of memory, or written by the launch before.
    kept : bool
        Is y for the next launch?
    others : float
        Instructions of a warp in a turn that the sizes do not tell.
    """
    M, N, K = sizes
    itemsize = np.dtype(dtype).itemsize
    blocks = ceil_div(M, tile.block_m) * ceil_div(N, tile.block_n) * groups * parts
    turns = ceil_div(K, tile.block_k * parts)
    y_bytes, w_bytes = M * N * groups * itemsize, K * N * groups * itemsize
    # Numbers of one of several groups that lie side by side may be fewer than a sector has.
    fetched = max(1.0, SECTOR / (max(1, apart // groups) * itemsize)) if groups > 1 else 1.0
    cells = tile.block_k * (fetched * tile.block_m + tile.block_n)  # of a piece of A and one of B
    handed = kept or parts > 1
    first = Work(
        "products",
        blocks,
        tile.threads,
        registers_for(tile.threads, tile.resident),
        turns,
        _compute(tile, itemsize, others),
        _bring(tile, x_width, apart, itemsize),
        tile.shared_bytes(dtype),
        waits=1,
        ahead=tile.buffers > 1,
        l2_bytes=blocks * turns * cells * itemsize + parts * y_bytes,
        cold=cold + w_bytes + (0 if handed else y_bytes),
        passed_on=passed_on + (parts * y_bytes if handed else 0),
    )
    return (first,) if parts == 1 else (first, reduction_work(parts, y_bytes, itemsize))


def _bring(tile: Tile, x_width: int, apart: int, itemsize: int) -> Demand:
    """Return what a block does for a piece: load it, and store A turned and B as it lies."""
    loads_a, loads_b = tile.loads_a(x_width), tile.loads_across(tile.block_n, tile.width)
    stores = loads_a * x_width + loads_b
    rows_a, rows_b = ceil_div(WARP, tile.lanes(x_width)), ceil_div(WARP * tile.width, tile.block_n)
    lines_a = max(ceil_div(rows_a * min(apart * itemsize, LINE), LINE), WARP * x_width * itemsize // LINE)
    lines_b = max(rows_b, WARP * tile.width * itemsize // LINE)
    stored = (loads_a * x_width + loads_b * tile.width) * itemsize // 4
    return tile.warps * Demand(
        instructions=loads_a + loads_b + stores,
        passes=loads_a * lines_a + loads_b * lines_b + stored,
        short=loads_a * x_width + (loads_b if tile.width == 1 else 0),
    )


def _compute(tile: Tile, itemsize: int, others: float) -> Demand:
    """Return what a block does with a piece: an outer product for every k of it."""
    read = tile.thread_m + tile.thread_n  # numbers of a thread, for one k
    sums = tile.thread_m * tile.thread_n
    # A pass serves a word of 4 bytes to each lane; two words of a wide load, where lanes want the same in
    # pairs. Neighbours in a row want the same of A in any case.
    alone_a = tile.width == 1 or tile.warp_n % 2
    words = tile.thread_m / (1 if alone_a else 2) + tile.thread_n / (2 if tile.in_pairs else 1)
    return (tile.warps * tile.block_k) * Demand(
        instructions=sums + read / tile.width + others / tile.block_k,
        multiply_adds=sums,
        passes=words * itemsize / 4,
        short=read if tile.width == 1 and itemsize == 4 else 0,
    )


def reduction_work(parts: int, y_bytes: int, itemsize: int) -> Work:
    """Return the launch that adds up the parts: a thread reads one number of each."""
    return one_pass(
        "add up the parts",
        y_bytes // itemsize,
        REDUCERS,
        registers=32,
        instructions=4 * parts + 20,
        loads=parts,
        stores=1,
        moved=(parts + 1) * y_bytes,
        cold=y_bytes,
        passed_on=parts * y_bytes,
    )
