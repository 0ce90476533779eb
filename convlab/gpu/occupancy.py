"""How many blocks a multiprocessor holds at once: the more, the less each of them takes.

A multiprocessor that waits for memory in one warp runs another, if it holds another. What it can hold is in
one table, and the rules by which registers and shared memory are handed out are those of `cuda_occupancy.h`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from convlab.support.checked import checked
from convlab.support.checks import check_choice, check_whole
from convlab.support.integers import ceil_div, round_up


@dataclass(frozen=True)
class Multiprocessor:
    """What one multiprocessor has: threads, blocks, and bytes of shared memory that blocks may take."""

    threads: int
    blocks: int
    shared_bytes: int


# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". All have 65536 registers.
MULTIPROCESSORS = {
    "sm_80": Multiprocessor(threads=2048, blocks=32, shared_bytes=164 * 1024),
    "sm_86": Multiprocessor(threads=1536, blocks=16, shared_bytes=100 * 1024),
    "sm_90": Multiprocessor(threads=2048, blocks=32, shared_bytes=228 * 1024),
}
# A few GPUs: what their code is compiled for, and their multiprocessors (NVIDIA's architecture white papers).
GPUS = {
    "A100": ("sm_80", 108),
    "RTX 3090": ("sm_86", 82),
    "RTX A6000": ("sm_86", 84),
    "H100": ("sm_90", 132),
}
WARP = 32
REGISTERS = 65536  # 4 bytes each
MOST_REGISTERS = 255  # of a thread
MOST_THREADS = 1024  # of a block
MOST_SHARED = 48 * 1024  # bytes of a block's shared memory, where the driver is not asked for more
QUARTERS = 4  # a multiprocessor is four, each with a quarter of the registers
REGISTER_UNIT = 256  # a warp's registers are rounded up to this
SHARED_UNIT = 128  # a block's bytes of shared memory are rounded up to this ...
SHARED_RESERVED = 1024  # ... after the system's own, from sm_80 on


@dataclass(frozen=True)
class Occupancy:
    """How full a multiprocessor gets.

    Attributes
    ----------
    blocks : int
        Blocks it holds at once.
    warps : int
        Their warps.
    share : float
        Their threads, as a share of what it could hold.
    limited_by : str
        What there is too little of for one more block: "registers", "shared memory", "threads" or "blocks".
    """

    blocks: int
    warps: int
    share: float
    limited_by: str


@checked
def occupancy(
    arch: Annotated[str, partial(check_choice, words=MULTIPROCESSORS)],
    threads: Annotated[int, partial(check_whole, least=1, most=MOST_THREADS)],
    registers: Annotated[int, partial(check_whole, least=0, most=MOST_REGISTERS)],
    shared_bytes: Annotated[int, partial(check_whole, least=0, most=2**31 - 1)],
) -> Occupancy:
    """Return how many blocks one multiprocessor holds.

    Parameters
    ----------
    arch : str
        A key of `MULTIPROCESSORS`.
    threads : int
        Of a block.
    registers : int
        Of a thread.
    shared_bytes : int
        Of a block, static and dynamic.
    """
    whole = MULTIPROCESSORS[arch]
    warps = ceil_div(threads, WARP)
    warp_registers = round_up(max(registers, 1) * WARP, REGISTER_UNIT)
    warps_that_fit = REGISTERS // QUARTERS // warp_registers * QUARTERS
    block_shared = round_up(shared_bytes + SHARED_RESERVED, SHARED_UNIT)
    # A launch counts a block's warps in full quarters.
    launches = warp_registers * round_up(warps, QUARTERS) <= REGISTERS
    limits = {
        "threads": whole.threads // (warps * WARP),
        "blocks": whole.blocks,
        "registers": warps_that_fit // warps if launches else 0,
        "shared memory": whole.shared_bytes // block_shared,
    }
    limited_by = min(limits, key=limits.__getitem__)
    blocks = limits[limited_by]
    return Occupancy(blocks, blocks * warps, blocks * warps * WARP / whole.threads, limited_by)


@checked
def registers_for(
    threads: Annotated[int, partial(check_whole, least=1, most=MOST_THREADS)],
    blocks: Annotated[int, partial(check_whole, least=1, most=MOST_THREADS)],
) -> int:
    """Return the most registers that a thread may have if so many blocks are to be held at once.

    Parameters
    ----------
    threads : int
        Of a block.
    blocks : int
        Of a multiprocessor; no more than any has room for count.

    Returns
    -------
    int
        0 if so many threads find no registers at all.
    """
    blocks = min(blocks, max(one.blocks for one in MULTIPROCESSORS.values()))
    warps = ceil_div(ceil_div(threads, WARP) * blocks, QUARTERS)  # of the fullest quarter
    of_a_warp = REGISTERS // QUARTERS // warps // REGISTER_UNIT * REGISTER_UNIT
    return min(MOST_REGISTERS, of_a_warp // WARP)
