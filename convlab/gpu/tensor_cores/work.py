"""What the product on tensor cores asks of a GPU: counted from its tile, as the kernel is written.

A warp's instructions for a piece of 32 words along the sum are the loops of `product`: a copy for each 16
bytes, an `ldmatrix` for 16 rows of words, an `mma.sync` for 16 x 8 numbers. A test holds them against the
machine code, and the passes against the requests of a block in the lane simulator. An `ldmatrix` takes four
passes, one for each of its matrices. A copy fills shared memory as fast as its bytes allow, see how rows lie
there in `product`; its lines are looked up meanwhile, which takes no longer.
"""

from __future__ import annotations

from convlab.gpu.model.work import LINE, Demand, Work, one_pass
from convlab.gpu.occupancy import WARP
from convlab.gpu.tensor_cores.product import COPIES, STEP
from convlab.gpu.tensor_cores.round_inputs import AT_ONCE, THREADS, read_by
from convlab.gpu.tensor_cores.warp_tile import KINDS, WORDS, WarpTile, pixel_words
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div, round_up

WORD = 4  # bytes
PACE = 4.5  # cycles, read off likewise: products of matrices and what is fetched for them are waited for
# Instructions of a warp for a piece beside all that is counted, as in the machine code: the tap that comes
# next, conditions, barriers; where a copy of pixels comes from, if there are any; and where one of weights.
OTHERS, OF_PIXELS, OF_WEIGHTS = 57, 9, 3.5
REGISTERS = 48  # of a thread, beside its sums and its words of A
# Instructions of a thread that rounds, likewise, by whether groups of channels fill their words, and whether
# pixels are passed over; for divisions, mostly. And its registers.
ROUND = {
    "fp16": {(True, False): 24, (True, True): 118, (False, False): 117, (False, True): 165},
    "tf32": {(True, False): 31, (True, True): 124, (False, False): 99, (False, True): 146},
}
ROUND_REGISTERS = 30


def product_work(kind: str, tile: WarpTile, problem: ConvProblem, blocks: int, parts: int = 1) -> Work:
    """Return the work of the product of words.

    Parameters
    ----------
    kind : str
        "fp16" or "tf32".
    tile : WarpTile
    problem : ConvProblem
    blocks : int
        Tiles that cover y.
    parts : int
        Of the sums; each has as many blocks.
    """
    problem = read_by(problem)
    pixel, taps = pixel_words(kind, problem), problem.R * problem.S
    row = round_up(taps * pixel, WORDS)  # words of a filter
    warps = tile.threads // WARP
    turns = ceil_div(row // WORDS, parts)  # of the main loop
    sides = tile.block_m + tile.block_n
    blocks *= parts
    down, across = tile.warp_m // 16, tile.warp_n // 8
    steps = WORDS // STEP
    of_pixels, of_weights = (side * COPIES // tile.threads for side in (tile.block_m, tile.block_n))
    copies = of_pixels + of_weights
    products, reads = steps * down * across, steps * (down + across // 2)
    stored = WARP * 4 * WORD // LINE  # eight lanes fill a row, all banks
    words = problem.N * problem.H * problem.W * problem.groups * pixel
    y_bytes = problem.y_bytes
    handed = parts > 1  # to the launch that adds up
    return Work(
        "products",
        blocks,
        tile.threads,
        4 * down * across + 4 * down + REGISTERS,
        turns,
        warps
        * Demand(
            instructions=products + reads + OTHERS + OF_PIXELS * of_pixels + OF_WEIGHTS * of_weights,
            passes=4 * reads,
            matrices=products,
        ),
        warps * Demand(instructions=copies, passes=copies * stored),
        shared_bytes=tile.buffers * tile.piece_bytes,
        waits=1 / (tile.buffers - 1),  # so many pieces are on their way at a time
        ahead=True,
        pace=PACE,
        l2_bytes=blocks * turns * sides * WORDS * WORD + parts * y_bytes,
        cold=problem.K * row * WORD + (0 if handed else y_bytes),
        passed_on=words * WORD + (parts * y_bytes if handed else 0),
    )


def rounding_work(kind: str, problem: ConvProblem) -> Work:
    """Return the work of the launch that rounds x."""
    seen, channels = read_by(problem), problem.C // problem.groups
    across = pixel_words(kind, problem)
    words = seen.N * seen.H * seen.W * seen.groups * across
    numbers = AT_ONCE * KINDS[kind]  # of a thread
    whole = channels == across * KINDS[kind]
    at_once = 4 if whole else 1
    loads = min(channels, numbers) / at_once
    lines = WARP * min(channels, numbers) * WORD / LINE, WARP * AT_ONCE * WORD / LINE  # of a load, of a store
    read = problem.x_bytes * seen.H * seen.W / (problem.H * problem.W)
    return one_pass(
        "round",
        words // AT_ONCE,
        THREADS,
        registers=ROUND_REGISTERS,
        instructions=ROUND[kind][whole, seen is not problem],
        loads=loads,
        stores=1,
        lanes_apart=(loads * lines[0] + lines[1]) / (loads + 1),
        moved=read + words * WORD,
        cold=read,
        passed_on=words * WORD,
    )
