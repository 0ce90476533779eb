"""What the product on tensor cores asks of a GPU: counted from its tile, as the kernel is written.

A warp's instructions for a piece of 16 words along the sum are the loops of `product`: a copy for each 16
bytes, an `ldmatrix` for 16 rows of words, an `mma.sync` for 16 x 8 numbers. A test holds them against the
machine code, and the passes against the requests of a block in the lane simulator. An `ldmatrix` takes four
passes, one for each of its matrices. A copy looks at its lines, and then fills shared memory, as fast as its
bytes allow: see how rows lie there, in `product`.
"""

from __future__ import annotations

from convlab.gpu.model.work import LINE, Demand, Work, one_pass
from convlab.gpu.occupancy import WARP
from convlab.gpu.tensor_cores.product import COPIES, STEP
from convlab.gpu.tensor_cores.round_inputs import THREADS
from convlab.gpu.tensor_cores.warp_tile import KINDS, WORDS, WarpTile, pixel_words
from convlab.problem import ConvProblem
from convlab.support.integers import round_up

WORD = 4  # bytes
# Instructions of a warp for a piece beside all that is counted, as in the machine code: the tap that comes
# next, conditions and barriers; addresses of each copy; and what a product takes beside itself.
OTHERS, OF_A_COPY, OF_A_PRODUCT = 75, 4, 1.4
REGISTERS = 34  # of a thread, beside its sums, its words of A, and three for each copy of x
ROUND, ROUND_REGISTERS = 72, 16  # instructions of a thread that rounds, for three divisions; its registers


def product_work(kind: str, tile: WarpTile, problem: ConvProblem, blocks: int) -> Work:
    """Return the work of the product of words.

    Parameters
    ----------
    kind : str
        "fp16" or "tf32".
    tile : WarpTile
    problem : ConvProblem
    blocks : int
        Of the launch.
    """
    pixel, taps = pixel_words(kind, problem), problem.R * problem.S
    row = round_up(taps * pixel, WORDS)  # words of a filter
    warps, turns, sides = tile.threads // WARP, row // WORDS, tile.block_m + tile.block_n
    down, across = tile.warp_m // 16, tile.warp_n // 8
    steps, copies = WORDS // STEP, sides * COPIES // tile.threads
    products, reads = steps * down * across, steps * (down + across // 2)
    rows = WARP // COPIES  # of a copy of all lanes, each in a line of its own
    stored = WARP * 4 * WORD // LINE  # eight lanes fill two rows, all banks
    words = problem.N * problem.H * problem.W * problem.groups * pixel
    y_bytes = problem.y_bytes
    return Work(
        "products",
        blocks,
        tile.threads,
        4 * down * across + 4 * down + 3 * tile.block_m * COPIES // tile.threads + REGISTERS,
        turns,
        warps
        * Demand(
            instructions=products + reads + OTHERS + OF_A_COPY * copies + OF_A_PRODUCT * products,
            passes=4 * reads,
            matrices=products,
        ),
        warps * Demand(instructions=copies, passes=copies * (rows + stored)),
        shared_bytes=tile.buffers * tile.piece_bytes,
        waits=1 / (tile.buffers - 1),  # so many pieces are on their way at a time
        ahead=True,
        l2_bytes=blocks * turns * sides * WORDS * WORD + y_bytes,
        cold=problem.K * row * WORD + y_bytes,
        passed_on=words * WORD,
    )


def rounding_work(kind: str, problem: ConvProblem) -> Work:
    """Return the work of the launch that rounds x."""
    words = problem.N * problem.H * problem.W * problem.groups * pixel_words(kind, problem)
    loads = KINDS[kind]  # of neighbouring numbers: with two of them, each load steps over the other's
    return one_pass(
        "round",
        words,
        THREADS,
        registers=ROUND_REGISTERS,
        instructions=ROUND,
        loads=loads,
        stores=1,
        lanes_apart=(loads * loads + 1) / (loads + 1),
        moved=problem.x_bytes + words * WORD,
        cold=problem.x_bytes,
        passed_on=words * WORD,
    )
