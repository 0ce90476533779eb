"""A launch's work, counted: from its machine code, and from the requests of one block in the lane simulator.

The machine code says what a warp does in one turn of the main loop: its instructions, those that multiply and
add, those that load and store. How many turns there are follows from the multiply-adds of a thread. How often
an access passes over shared memory or the first cache, and which sectors it asks for, depends on the
addresses: that is counted where they are known, lane by lane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from convlab.gpu.assembly import Assembly
from convlab.gpu.model.work import Demand, Work
from convlab.gpu.occupancy import WARP
from convlab.gpu.simulator.requests import SECTOR
from convlab.support.integers import ceil_div

if TYPE_CHECKING:
    from convlab.gpu.simulator import Trace

LINE = 128  # bytes of a line of the first cache: a pass looks at one


def work_of(
    name: str,
    built: Assembly,
    trace: Trace,
    *,
    blocks: int,
    threads: int,
    multiply_adds: float,
    traced: float,
    cold: float = 0,
) -> Work:
    """Return the work of a launch.

    Parameters
    ----------
    name : str
    built : Assembly
        The kernel's machine code.
    trace : Trace
        Of one of its blocks; its sums may be shorter.
    blocks, threads : int
        Of the launch, and of a block.
    multiply_adds, traced : float
        Of one thread, in the launch and in the trace.
    cold : float
        Bytes of the arrays that come from memory, or go there.
    """
    loop, warps = built.main_loop, ceil_div(threads, WARP)
    a_turn = loop.multiply_adds
    turns, seen = multiply_adds / a_turn, traced / a_turn
    stored, loaded = loop.count("STS"), loop.count("LDG")
    passes = {kind: count / seen for kind, count in _passes(trace).items()}
    bring = Demand(
        instructions=warps * (stored + loaded),
        accesses=warps * (stored + loaded),
        passes=passes["ld global"] + passes["st shared"],
    )
    compute = Demand(
        instructions=warps * (len(loop) - stored - loaded),
        multiply_adds=warps * a_turn,
        accesses=warps * loop.count("LDS"),
        passes=passes["ld shared"],
    )
    staged = stored > 0  # else no barrier parts the two, and a warp waits alone
    return Work(
        name,
        blocks,
        threads,
        built.registers,
        turns,
        compute if staged else bring + compute,
        bring if staged else Demand(),
        built.shared_bytes,
        waits=1 if staged else 0,
        l2_bytes=blocks * SECTOR * _sectors(trace) / seen * turns,
        cold=cold,
    )


def _passes(trace: Trace) -> dict[str, float]:
    """Return the passes of all loads from global memory, and of all accesses to shared memory."""
    passes = dict.fromkeys(("ld global", "ld shared", "st shared"), 0.0)
    for site in trace.sites():
        kind = f"{site.kind} {site.space}"
        if kind == "ld global":
            for request in trace.requests(site):
                lines = len(np.unique(request.addresses // LINE))
                passes[kind] += max(lines, ceil_div(len(np.unique(request.addresses)) * request.size, LINE))
        elif kind in passes:
            passes[kind] += site.wavefronts
    return passes


def _sectors(trace: Trace) -> int:
    """Return the different sectors that the block loads: what it asks for again, the first cache has."""
    asked: dict[str, list] = {}
    for site in trace.sites():
        if (site.kind, site.space) == ("ld", "global"):
            every = [request.addresses // SECTOR for request in trace.requests(site)]
            asked.setdefault(site.array, []).extend(every)
    return sum(len(np.unique(np.concatenate(every))) for every in asked.values())
