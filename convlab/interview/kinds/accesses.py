"""What one access of a warp costs: sectors of global memory, passes over shared memory."""

from __future__ import annotations

from random import Random

import numpy as np

from convlab.gpu.occupancy import WARP
from convlab.gpu.simulator.bank_conflicts import BANKS, WORD
from convlab.gpu.simulator.requests import SECTOR, Request
from convlab.interview.kind import Asked, Kind, Slip
from convlab.interview.units import count

LANES = np.arange(WARP)
LINE = 128  # bytes of a cache line: four sectors
TYPES = {"float16": 2, "float32": 4, "float64": 8}
STRIDES = (*(1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8), *(12, 16, 64, 256))
WAY = "way", "way conflict", "way bank conflict"  # "a 4-way conflict" takes 4 passes
WIDTHS = (*range(4, 41), 48, 56, 60, 63, 64, 65, 66, 68, 72, 80, 96, 100, 128, 129, 132)


def request(addresses: np.ndarray, size: int) -> Request:
    """Return the request of a warp whose lanes read `size` bytes each, from these first bytes on."""
    return Request((0, 0, 0), 0, (), LANES, addresses, size, "ld")


def _ask_sectors(random: Random) -> Asked:
    dtype = random.choice(tuple(TYPES))
    size, stride, offset = TYPES[dtype], random.choice(STRIDES), random.choice((0, 0, *range(1, 32)))
    addresses = (LANES * stride + offset) * size
    one = request(addresses, size)
    first, last = int(addresses[0]), int(addresses[-1]) + size - 1
    apart = stride * size
    where = (f"{stride} · i" if stride > 1 else "i") + (f" + {offset}" if offset else "")
    if apart <= SECTOR:
        how: tuple[str, ...] = (
            f"lanes are {apart} bytes apart, so no sector between is left out",
            f"first byte {first} in sector {first // SECTOR}, last byte {last} in sector {last // SECTOR}",
            f"{last // SECTOR} - {first // SECTOR} + 1 = {one.sectors}",
        )
    else:
        how = (
            f"lanes are {apart} bytes apart, more than a sector of {SECTOR}: each has its own, {one.sectors}",
        )
    aligned = request(addresses - first, size)
    return Asked(
        f"Each of the {WARP} lanes of a warp reads one {dtype}: lane i reads x[{where}], and x begins at a "
        f"multiple of {LINE} bytes. How many sectors of {SECTOR} bytes does that touch?",
        one.sectors,
        (f"lane i reads {size} bytes from byte {apart} · i + {offset * size} on", *how),
        (
            Slip(
                "forgets where the first lane begins",
                aligned.sectors,
                "Lane 0 may begin in the middle of a sector; then the last lanes reach into one more.",
            ),
            Slip(
                "counts only the bytes that are wanted",
                one.ideal_sectors,
                "What lies between the lanes is fetched with them: memory comes in whole sectors.",
            ),
            Slip("counts a sector for each lane", WARP, "Lanes that want the same sector get it together."),
            Slip(
                f"counts lines of {LINE} bytes",
                len(np.unique(addresses // LINE)),
                f"A sector has {SECTOR} bytes; a line has four of them.",
            ),
            Slip(
                "takes every number for one byte",
                request(addresses // size, 1).sectors,
                "Count in bytes: a number has more than one.",
            ),
            Slip(
                "counts the sectors between too",
                last // SECTOR - first // SECTOR + 1,
                "A sector that no lane wants is not fetched.",
            ),
        ),
    )


SECTORS = Kind(
    name="sectors",
    title="sectors of a warp's access",
    unit=count("sector"),
    ask=_ask_sectors,
    read=(("10", "sectors of neighbouring pixels"), ("11", "sectors of the second rung")),
    tolerance=0,
)


def _busiest(words: np.ndarray, banks: int = BANKS) -> int:
    """Return how many different words the busiest of some banks has to give."""
    return int(np.bincount(np.unique(words) % banks, minlength=banks).max())


def _ask_passes(random: Random) -> Asked:
    width, across = random.choice(WIDTHS), random.choice((1, 1, 1, 2, 4, 8, 16))
    column = random.randrange(min(4, width)) if across == 1 else 0
    across = min(across, 1 << (width.bit_length() - 1))
    words = LANES // across * width + LANES % across + column
    one = request(words * WORD, WORD)
    down = WARP // across
    where = f"tile[i, {column}]" if across == 1 else f"tile[i / {across} rounded down, i mod {across}]"
    banks = words % BANKS
    busiest = int(np.bincount(banks, minlength=BANKS).argmax())
    met = [int(lane) for lane in LANES if banks[lane] == busiest]
    shown = ", ".join(map(str, met[:4])) + (f" and {len(met) - 4} more" if len(met) > 4 else "")
    beside = f" + {column}" if column else ""
    rows = f"word of lane i: {width} · i{beside}" if across == 1 else f"word: {width} · row + column"
    return Asked(
        f"A tile of {down} rows lies in shared memory, {width} float32 to a row and no gap between "
        f"rows, from bank 0 on. Lane i of a warp of {WARP} reads {where}. There are {BANKS} banks of {WORD} "
        "bytes. How many passes does the access take?",
        one.wavefronts,
        (
            f"{rows}; its bank: that mod {BANKS}",
            f"the busiest bank, e.g. {busiest}, is wanted by lane{'s' if len(met) > 1 else ''} {shown}",
            f"different words in it: {one.wavefronts}, one for each pass",
        ),
        (
            Slip(
                "sees no conflict", 1, "Two lanes that want different words of one bank wait for each other."
            ),
            Slip(
                "lets every lane wait for all others", WARP, "Lanes in different banks are served together."
            ),
            Slip(
                "counts the passes that are too many",
                one.wavefronts - 1,
                "Without any conflict it takes one pass.",
            ),
            Slip(
                "takes the distance in bytes for words",
                _busiest(words * WORD),
                f"A bank is a word wide, {WORD} bytes: neighbouring words lie in neighbouring banks.",
            ),
            Slip("has 16 banks", _busiest(words, 16), f"There are {BANKS} banks."),
            Slip("counts the rows", down, "Rows that begin in different banks can be served together."),
            Slip(
                "counts the banks that are wanted", len(np.unique(banks)), "The more banks, the fewer passes."
            ),
        ),
    )


BANK_PASSES = Kind(
    name="bank_passes",
    title="passes over shared memory",
    unit=count("pass", "passes", "wavefronts", "wavefront", *WAY),
    ask=_ask_passes,
    read=(("10", "passes for rows of 34"), ("14", "ldmatrix_passes")),
    tolerance=0,
)
