"""What the rungs of `convlab.algorithms.direct.gpu_filter` ask of a GPU, in the terms of `convlab.gpu.model`.

A block asks the L2 cache for the pixels under its outputs once, with the halo around them: what its threads
ask for again, the first cache has. So beside the instructions there is little to count. Those of a tap are
from the machine code, for a GPU of today and one of the generation before it; a test holds both against it.
"""

from __future__ import annotations

from convlab.algorithms.direct.gpu_filter_lines import ACROSS, LANES, LINE, RING, TURN, tall_for
from convlab.algorithms.direct.gpu_filter_lines import REGISTERS as OF_LINES
from convlab.algorithms.direct.gpu_filter_patch import BLOCK, WIDE, loads_for, plan_for
from convlab.gpu.model.work import LINE as CACHE_LINE
from convlab.gpu.model.work import SECTOR, Demand, Work
from convlab.gpu.occupancy import WARP
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div, round_up

THREADS = BLOCK[0] * BLOCK[1]
WARPS = THREADS // WARP
REGISTERS = 32  # of a thread with one output
# Instructions of a tap, by where its weight comes from; of a number that is copied to shared memory.
GLOBAL, CONSTANT, SHARED, COPY = 20, 6.5, 8.2, 24
OTHERS = 60  # of a thread, once: where its outputs are
LINE_OTHERS = 24  # of a thread that goes from line to line, for each: where the next copies come from and go
ENDS = Demand(OTHERS, passes=1, short=1)  # of a warp with one output a thread, which stores them


def naive(problem: ConvProblem) -> tuple[Work, ...]:
    """A tap is two loads, of neighbouring pixels and of one weight for all, and where they lie."""
    return _one_output_a_thread(problem, GLOBAL, weights=True)


def constant(problem: ConvProblem) -> tuple[Work, ...]:
    """A tap is one load; the weight is a part of the multiply-add."""
    return _one_output_a_thread(problem, CONSTANT, weights=False)


def _one_output_a_thread(problem: ConvProblem, tap: float, weights: bool) -> tuple[Work, ...]:
    pixels = [_lines(problem, s - problem.padding[1][0], 1) for s in range(problem.S)]
    each = Demand(
        problem.S * tap, problem.S, sum(pixels) + problem.S * weights, pixels.count(1) + problem.S * weights
    )
    return _work(problem, WARPS * (problem.R * each + ENDS), BLOCK, weights=weights)


def _lines(problem: ConvProblem, first: int, wide: int) -> int:
    """Return the lines of the first cache that a warp's load is in, `wide` numbers a lane from `first` on."""
    return WARP * wide * problem.itemsize // CACHE_LINE + (first * problem.itemsize % CACHE_LINE > 0)


def shared(problem: ConvProblem) -> tuple[Work, ...]:
    """A tap is two loads from shared memory; before the first one all is copied there."""
    numbers = numbers_in_shared(problem)
    copy = numbers / WARP * Demand(COPY, passes=2, short=2)
    each = problem.R * problem.S * Demand(SHARED, 1, 2, 2)
    return _work(problem, WARPS * (each + ENDS), BLOCK, bring=copy, shared_bytes=numbers * problem.itemsize)


def numbers_in_shared(problem: ConvProblem) -> int:
    """Return the weights, and the pixels under a block's outputs with the halo around them."""
    across, down = BLOCK
    return problem.R * problem.S + (down + problem.R - 1) * (across + problem.S - 1)


def patch(problem: ConvProblem) -> tuple[Work, ...]:
    """A thread loads the lines under its patch four numbers at a time, and adds each to all that want it."""
    tall, registers = plan_for(problem) or (1, 64)
    taps, lines, left = problem.R * problem.S, tall + problem.R - 1, problem.padding[1][0]
    loads, sums, ahead = loads_for(problem.S, left), tall * WIDE, left + -left % WIDE
    pixels = sum(_lines(problem, WIDE * k - ahead, WIDE) for k in range(loads))  # of a line
    each = Demand(
        instructions=4 * lines * loads + sums * taps + taps / WIDE + OTHERS,
        multiply_adds=sums * taps,
        passes=lines * pixels + tall * _lines(problem, 0, WIDE) + taps // WIDE + taps % WIDE,
        short=taps // WIDE + taps % WIDE,
    )
    outputs = BLOCK[0] * WIDE, BLOCK[1] * tall
    return _work(problem, WARPS * each, outputs, name="patches", registers=registers)


def lines(problem: ConvProblem) -> tuple[Work, ...]:
    """A warp goes down its lines: one is copied, another loaded from shared memory and added to R sums.

    Of each lane's two copies most of the second ones bring nothing, but they fill with zeros all the same.
    """
    taps, loads = problem.R * problem.S, loads_for(problem.S, problem.padding[1][0])
    size, tall = (ACROSS + 4 * (loads - 1)) * problem.itemsize, tall_for(problem)  # bytes of a line; outputs
    served = round_up(min(tall, problem.P) + problem.R - 1, TURN)
    of_four = ACROSS * problem.itemsize // CACHE_LINE  # passes of a load, or a store, of four numbers a lane
    copied = Demand(passes=ceil_div(size, CACHE_LINE) + 2 * of_four)
    added = Demand(
        instructions=WIDE * taps + loads + LINE_OTHERS,
        multiply_adds=WIDE * taps,
        passes=(loads + 1) * of_four,
    )
    return _work(
        problem,
        served * added,
        (ACROSS, tall),
        name="lines",
        registers=OF_LINES,
        bring=served * copied,
        shared_bytes=RING * LINE * problem.itemsize,
        threads=LANES,
        ahead=True,
    )


def _work(
    problem: ConvProblem,
    compute: Demand,
    outputs: tuple[int, int],
    *,
    name: str = "one filter",
    registers: int = REGISTERS,
    bring: Demand | None = None,
    shared_bytes: int = 0,
    weights: bool = True,
    threads: int = THREADS,
    ahead: bool = False,
) -> tuple[Work, ...]:
    """Return the work of blocks with so many `outputs`, along a line and down; they wait for memory once."""
    across, down = outputs
    b, left = problem.itemsize, problem.padding[1][0]
    blocks = problem.N * ceil_div(problem.P, down) * ceil_div(problem.Q, across)
    sector = SECTOR // b  # numbers
    line = ceil_div(-left % sector + across + problem.S - 1, sector) * SECTOR  # bytes of a line of pixels
    kernel = ceil_div(problem.R * problem.S * b, SECTOR) * SECTOR if weights else 0
    moved = (down + problem.R - 1) * line + kernel + across * down * b
    cold = problem.x_bytes + problem.y_bytes
    each = {"waits": 1, "ahead": ahead, "l2_bytes": blocks * moved, "cold": cold}
    return (Work(name, blocks, threads, registers, 1, compute, bring or Demand(), shared_bytes, **each),)
