"""What a launch asks of a GPU, and how long that takes: the slower of what is busy and what waits.

A block goes round its main loop. In each turn it *brings* a piece (loads from memory, a wait, stores to
shared memory, a barrier) and then *computes* with it. A multiprocessor that holds one block does these one
after the other; one that holds several computes in one while another waits::

    busy             =  what the busiest unit needs for a turn
    a turn alone     =  wait for memory  +  bring  +  compute        the longer of the two, with two buffers;
                        no shorter than a warp's instructions, one after the other, at its own pace
    turns a second   =  of as many blocks as begin together, in turns at that unit: `throughput`
    a launch         =  begin  +  max(turns * blocks / turns a second,
                                      bytes of L2 / its speed,  bytes of memory / its speed)

Units that work at once are counted apart, and the busiest counts: the roofline's idea (Williams, Waterman &
Patterson 2009), for every unit inside a multiprocessor. How much of the waiting other blocks hide is a matter
of queues, of those who want the unit and those who wait elsewhere (M. Reiser, S. Lavenberg, "Mean-Value
Analysis of Closed Multichain Queuing Networks", JACM 27, 1980).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from convlab.errors import UnsupportedError
from convlab.gpu.model.speeds import ISSUED, GpuSpeeds
from convlab.gpu.occupancy import WARP, occupancy
from convlab.support.integers import ceil_div


@dataclass(frozen=True)
class Demand:
    """What the warps of a block ask of the units of a multiprocessor, in one turn.

    Attributes
    ----------
    instructions : float
        Of all warps, one after the other; they are issued to `ISSUED` at a time.
    multiply_adds : float
        Those of them that multiply and add 32 numbers each.
    passes : float
        Passes over shared memory and over the first cache: one serves a word of each bank, or one line.
    short : float
        Loads and stores of a single pass: some generations begin only half a warp of them in a cycle.
    matrices : float
        Products of matrices on tensor cores, 16 x 8 x 8 words each: two of float16 or one of tf32 in a word
        take as long.
    """

    instructions: float = 0
    multiply_adds: float = 0
    passes: float = 0
    short: float = 0
    matrices: float = 0

    def __add__(self, other: Demand) -> Demand:
        return Demand(*(mine + its for mine, its in zip(_of(self), _of(other), strict=True)))

    def __rmul__(self, factor: float) -> Demand:
        return Demand(*(factor * mine for mine in _of(self)))


LINE = 128  # bytes of a line of the first cache: a pass looks at one
SECTOR = 32  # bytes that are fetched of it at a time
PACE = 1.8  # cycles; read off our fp32 products with Nsight Compute, see `Work.pace`
IN_A_MATRIX = 16 * 8 * 16  # multiply-adds of float16 in one product of matrices
# What a launch may be busy with, beside its instructions.
MULTIPLY_ADDS, MATRICES, SHARED, L2, MEMORY, WAITING = (
    "multiply-adds",
    "tensor cores",
    "shared memory and L1",
    "L2",
    "memory",
    "waiting",
)


def _of(demand: Demand) -> tuple[float, ...]:
    return demand.instructions, demand.multiply_adds, demand.passes, demand.short, demand.matrices


@dataclass(frozen=True)
class Work:
    """One launch.

    Attributes
    ----------
    name : str
        What it does: "products", "transform the windows".
    blocks, threads : int
        Of the launch; of a block.
    registers, shared_bytes : int
        Of a thread, and of a block: they decide how many blocks a multiprocessor holds.
    turns : float
        Of a block's main loop.
    bring, compute : Demand
        Of a block, in each turn: before the barrier, and after it.
    waits : float
        How often a turn waits for memory.
    ahead : bool
        Whether the block has the rest of the turn to do while it waits.
    pace : float
        Cycles from one instruction of a warp to its next, if no other warp is there: so long does one wait
        for those before it.
    l2_bytes : float
        Of the whole launch: of the sectors that are asked of the L2 cache.
    cold : float
        Bytes of the arrays that come from memory, or have to go there: x, the weights, y.
    passed_on : float
        Bytes of an array that another launch wrote, or will read: the L2 cache keeps it if it is not larger.
    """

    name: str
    blocks: int
    threads: int
    registers: int
    turns: float
    compute: Demand
    bring: Demand = field(default_factory=Demand)
    shared_bytes: int = 0
    waits: float = 0
    ahead: bool = False
    pace: float = PACE
    l2_bytes: float = 0
    cold: float = 0
    passed_on: float = 0


@dataclass(frozen=True)
class Time:
    """The predicted time of a launch: seconds in all, and those that each part would take by itself."""

    name: str
    seconds: float
    parts: dict[str, float]

    @property
    def bound(self) -> str:
        """What the launch waits for most."""
        return max(self.parts, key=self.parts.__getitem__)


def unit_seconds(demand: Demand, speeds: GpuSpeeds) -> dict[str, float]:
    """Return how long each unit of a multiprocessor is busy with a demand, in seconds."""
    cycles = {
        "issuing instructions": demand.instructions / ISSUED,
        SHARED: demand.passes + demand.short * (WARP / speeds.access_lanes - 1),
    }
    seconds = {unit: count / speeds.clock for unit, count in cycles.items()}
    seconds[MULTIPLY_ADDS] = 64 * demand.multiply_adds / (speeds.flops / speeds.multiprocessors)
    seconds[MATRICES] = 2 * IN_A_MATRIX * demand.matrices / (speeds.mma / speeds.multiprocessors)
    return seconds


def throughput(blocks: int, busy: float, alone: float) -> float:
    """Return the turns a second of blocks, where one by itself takes `alone`, and `busy` of it at the unit.

    Whoever comes to the unit waits for those who are there: on average as many as there would be without it.
    """
    waiting, there = max(0.0, alone - busy), 0.0
    for count in range(1, blocks + 1):
        passing = busy * (1 + there)
        each_second = count / (passing + waiting)
        there = each_second * passing
    return each_second


def time_of(work: Work, speeds: GpuSpeeds) -> Time:
    """Return the time of one launch.

    Raises
    ------
    UnsupportedError
        If a multiprocessor holds no block of it.
    """
    blocks = ceil_div(work.blocks, speeds.multiprocessors)  # of the busiest multiprocessor
    held = occupancy(speeds.arch, work.threads, work.registers, work.shared_bytes)
    if not (resident := held.blocks):
        raise UnsupportedError(
            f"{work.name}: a multiprocessor of {speeds.name} has not enough {held.limited_by} for one block "
            f"of {work.threads} threads, {work.registers} registers each, {work.shared_bytes} bytes shared"
        )
    units = unit_seconds(work.bring + work.compute, speeds)
    busy = max(units.values())
    alone = sum(max(unit_seconds(one, speeds).values()) for one in (work.bring, work.compute))
    instructions = (work.bring + work.compute).instructions / ceil_div(work.threads, WARP)
    alone = max(alone, instructions * work.pace / speeds.clock)
    waiting = work.waits * speeds.wait
    alone = max(alone, waiting) if work.ahead else alone + waiting
    parts = {unit: work.turns * blocks * seconds for unit, seconds in units.items()}
    # Blocks that begin together end together; the last ones may be fewer.
    together = [resident] * (blocks // resident) + [blocks % resident] * (blocks % resident > 0)
    computing = work.turns * sum(count / throughput(count, busy, alone) for count in together)
    parts[WAITING] = computing - max(parts.values())
    parts[L2] = work.l2_bytes / speeds.l2
    spilled = work.passed_on if work.passed_on > speeds.l2_keeps else 0
    parts[MEMORY] = (work.cold + spilled) / speeds.memory
    return Time(work.name, speeds.begin + max(computing, parts[L2], parts[MEMORY]), parts)


def one_pass(
    name: str,
    threads: int,
    block: int,
    *,
    registers: int,
    instructions: float,
    loads: float,
    stores: float,
    multiply_adds: float = 0,
    lanes_apart: float = 1,
    moved: float,
    cold: float = 0,
    passed_on: float = 0,
) -> Work:
    """Return the work of a launch in which each thread does a little, once: a copy, a transform.

    Parameters
    ----------
    name : str
    threads, block : int
        Of the launch, and of a block.
    registers : int
        Of a thread.
    instructions : float
        Of a thread, loads and stores included.
    loads, stores, multiply_adds : float
        Of a thread.
    lanes_apart : float
        Lines that a warp's load or store touches: 1 where neighbours are neighbours.
    moved : float
        Bytes that the launch reads and writes.
    cold, passed_on : float
        As `Work` has them.
    """
    accesses = loads + stores
    each = Demand(instructions, multiply_adds, accesses * lanes_apart, accesses if lanes_apart == 1 else 0)
    blocks, warps = ceil_div(threads, block), ceil_div(block, WARP)
    return Work(
        name,
        blocks,
        block,
        registers,
        1,
        warps * each,
        waits=1,
        l2_bytes=moved,
        cold=cold,
        passed_on=passed_on,
    )
