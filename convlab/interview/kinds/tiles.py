"""What a tile takes of a multiprocessor: registers for its sums, and how full that leaves it."""

from __future__ import annotations

from random import Random

from convlab.errors import ParameterError
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.occupancy import (
    GPUS,
    MOST_REGISTERS,
    MULTIPROCESSORS,
    REGISTER_UNIT,
    REGISTERS,
    SHARED_RESERVED,
    WARP,
    occupancy,
)
from convlab.interview.kind import Asked, Kind, Slip
from convlab.interview.units import PERCENT, count
from convlab.support.units import plural

BLOCKS = (16, 32, 48, 64, 96, 128, 192, 256)
THREADS = (1, 2, 4, 6, 8, 12, 16)
WORDS = {"float32": 1, "float64": 2}  # registers of a number
PIECE = 8  # length of a piece of the sums; no question is about it


def _tile(random: Random) -> tuple[Tile, str]:
    """Return a tile, and a type in which its sums leave registers for all else: of a thread, of a block."""
    while True:
        sizes = (
            random.choice(BLOCKS),
            random.choice(BLOCKS),
            PIECE,
            random.choice(THREADS),
            random.choice(THREADS),
        )
        try:
            tile = Tile(*sizes, width=1)
        except ParameterError:  # they do not go into each other
            continue
        sums = tile.thread_m * tile.thread_n
        if tile.threads >= WARP and 1 < sums <= 128:
            dtype = random.choice(tuple(WORDS))
            if sums * WORDS[dtype] < min(MOST_REGISTERS, REGISTERS // tile.threads):
                return tile, dtype


def _ask_registers(random: Random) -> Asked:
    tile, dtype = _tile(random)
    words = WORDS[dtype]
    sums = tile.thread_m * tile.thread_n
    answer, outputs = sums * words, tile.block_m * tile.block_n
    return Asked(
        f"A block of {tile.threads} threads computes {tile.block_m} × {tile.block_n} sums in {dtype}, every "
        "thread as many as the others, and keeps them in registers of 4 bytes. How many registers of each "
        "thread hold sums? Nothing else is counted.",
        answer,
        (
            f"sums of the block: {tile.block_m} · {tile.block_n} = {outputs:,}",
            f"of a thread: {outputs:,} / {tile.threads} = {sums}, such as {tile.thread_m} × {tile.thread_n}",
            f"registers: {sums} · {words} = {answer}",
        ),
        (
            Slip(
                "takes a float64 for one register" if words == 2 else "takes a float32 for two registers",
                answer / 2 if words == 2 else answer * 2,
                "A register has 4 bytes.",
            ),
            Slip("counts bytes", 4 * answer, "Asked are registers, of 4 bytes each."),
            Slip("counts for a warp", WARP * answer, "Asked is one thread of the warp."),
            Slip("counts for the whole block", outputs * words, "All threads of the block share that work."),
            Slip("shares the sums among warps", outputs * words / tile.warps, "A warp has 32 threads."),
            Slip(
                "adds the sides of a thread's tile",
                (tile.thread_m + tile.thread_n) * words,
                "Every row meets every column: that is a product.",
            ),
        ),
    )


TILE_REGISTERS = Kind(
    name="tile_registers",
    title="registers for a tile's sums",
    unit=count("register", "registers", "regs"),
    ask=_ask_registers,
    read=(("12", "register_tile"), ("03", "registers")),
    tolerance=0,
)


def _ask_occupancy(random: Random) -> Asked:
    while True:
        gpu = random.choice(tuple(GPUS))
        arch, _ = GPUS[gpu]
        whole = MULTIPROCESSORS[arch]
        threads = random.choice((64, 128, 192, 256, 384, 512, 768, 1024))
        registers, shared = (
            random.randrange(24, 200, 8),
            1024 * random.choice((0, 4, 8, 12, 16, 20, 24, 32, 48)),
        )
        fits = {
            "threads": (whole.threads, threads),
            "blocks": (whole.blocks, 1),
            "registers": (REGISTERS, registers * threads),
            "shared memory": (whole.shared_bytes, shared + SHARED_RESERVED),
        }
        limits = {name: room // wanted for name, (room, wanted) in fits.items()}
        held = occupancy(arch, threads, registers, shared)
        # Left out: where registers are lost because a warp's must lie in one quarter.
        if held.blocks == min(limits.values()) > 0 and not registers * WARP % REGISTER_UNIT:
            break
    answer = 100 * held.share

    def share(blocks: float) -> float:
        return 100 * blocks * threads / whole.threads

    return Asked(
        f"A multiprocessor of {gpu} has room for {whole.threads} threads, {whole.blocks} blocks, "
        f"{REGISTERS:,} registers and {whole.shared_bytes // 1024} KiB of shared memory, of which the system "
        f"takes 1 KiB for each block. A kernel has blocks of {threads} threads, {registers} registers a "
        f"thread and {shared // 1024} KiB of shared memory a block. How full does it get: what share of its "
        "threads is there at once?",
        answer,
        (
            f"by threads: floor({whole.threads} / {threads}) = {plural(limits['threads'], 'block')}",
            f"by registers: floor({REGISTERS:,} / ({threads} · {registers})) = "
            f"{plural(limits['registers'], 'block')}",
            f"by shared memory: floor({whole.shared_bytes // 1024} / ({shared // 1024} + 1)) = "
            f"{plural(limits['shared memory'], 'block')}",
            f"the least of these, and {whole.blocks} at most: {plural(held.blocks, 'block')}",
            f"{held.blocks} · {threads} / {whole.threads} = {PERCENT.text(answer)}",
        ),
        (
            *(
                Slip(f"looks at the {name} alone", share(limit), "The thing that runs out first decides.")
                for name, limit in limits.items()
                if share(limit) <= 100
            ),
            Slip(
                "does not round down",
                share(min(room / wanted for room, wanted in fits.values())),
                "A block fits whole, or not at all.",
            ),
            Slip("gives the blocks", held.blocks, "Asked is a share of the threads."),
            Slip("gives the warps", held.warps, "Asked is a share of the threads."),
        ),
    )


OCCUPANCY = Kind(
    name="occupancy",
    title="occupancy of a multiprocessor",
    unit=PERCENT,
    ask=_ask_occupancy,
    read=(("14", "blocks_at_once"),),
    tolerance=0.03,
)
