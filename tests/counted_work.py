"""A launch's work, counted: from its machine code, and from the requests of one block in the lane simulator.

The machine code says what a warp does in one turn of the main loop: its instructions, those that multiply and
add, those that load and store. How many turns there are follows from the multiply-adds of a thread. How often
an access passes over shared memory or the first cache, and which sectors it asks for, depends on the
addresses: that is counted where they are known, lane by lane.

Loads of neighbouring words of shared memory are one load of two or four where the compiler sees that they
are, and that they begin where such a load may. The requests are put together by the same rule.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from convlab.gpu.assembly import Assembly
from convlab.gpu.model.work import LINE, SECTOR, Demand, Work
from convlab.gpu.occupancy import WARP
from convlab.gpu.simulator.bank_conflicts import wavefronts
from convlab.support.integers import ceil_div

if TYPE_CHECKING:
    from convlab.gpu.simulator import Trace

WORD = 4  # bytes


class Seen(NamedTuple):
    """Accesses of one kind in a trace.

    Attributes
    ----------
    passes : int
    short : int
        Those of a single pass.
    widths : Counter
        How many there are, by the bytes of a lane.
    """

    passes: int
    short: int
    widths: Counter


def work_of(
    name: str,
    built: Assembly,
    trace: Trace,
    *,
    blocks: int,
    threads: int,
    multiply_adds: float,
    turns: int,
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
    multiply_adds : float
        Of one thread.
    turns : int
        Of the main loop, in the trace.
    cold : float
        Bytes of the arrays that come from memory, or go there.
    """
    loop, warps = built.main_loop, ceil_div(threads, WARP)
    stored, loaded = loop.count("STS"), loop.count("LDG")
    seen = accesses(trace, turns)
    bring = Demand(
        instructions=warps * (stored + loaded),
        passes=(seen["ld global"].passes + seen["st shared"].passes) / turns,
        short=(seen["ld global"].short + seen["st shared"].short) / turns,
    )
    compute = Demand(
        instructions=warps * (len(loop) - stored - loaded),
        multiply_adds=warps * loop.multiply_adds,
        passes=seen["ld shared"].passes / turns,
        short=seen["ld shared"].short / turns,
    )
    staged, all_turns = stored > 0, multiply_adds / loop.multiply_adds
    return Work(
        name,
        blocks,
        threads,
        built.registers,
        all_turns,
        compute if staged else bring + compute,  # where nothing is staged, a warp waits alone
        bring if staged else Demand(),
        built.shared_bytes,
        waits=1 if staged else 0,
        l2_bytes=blocks * SECTOR * sectors(trace) / turns * all_turns,
        cold=cold,
    )


def accesses(trace: Trace, turns: int) -> dict[str, Seen]:
    """Return what a block's loads from global memory and its accesses to shared memory take."""
    found = {kind: Seen(0, 0, Counter()) for kind in ("ld global", "ld shared", "st shared")}
    for site in trace.sites():
        kind, requests = f"{site.kind} {site.space}", trace.requests(site)
        if kind not in found:
            continue
        if site.space == "shared":
            each = _together(requests, site.size, turns) if site.kind == "ld" else _one_by_one(requests)
        else:
            each = [(_lines(request), request.size) for request in requests]
        before, passes = found[kind], [one for one, _ in each]
        found[kind] = Seen(
            before.passes + sum(passes),
            before.short + passes.count(1),
            before.widths + Counter(size for _, size in each),
        )
    return found


def _one_by_one(requests) -> list[tuple[int, int]]:
    return [(request.wavefronts, request.size) for request in requests]


def _lines(request) -> int:
    """Return the passes of a load from global memory: one for each line, and for each 128 bytes."""
    places = np.unique(request.addresses)
    return max(len(np.unique(places // LINE)), ceil_div(len(places) * request.size, LINE))


def _together(requests, size: int, turns: int) -> list[tuple[int, int]]:
    """Return (passes, bytes of a lane) of shared loads, words that lie side by side put together."""
    if size != WORD:
        return _one_by_one(requests)
    by_warp = defaultdict(list)
    for request in requests:
        by_warp[request.block, request.warp].append(request)
    found = []
    for all_of_it in by_warp.values():
        each = ceil_div(len(all_of_it), turns)
        for begin in range(0, len(all_of_it), each):  # one turn: nothing is loaded ahead of a barrier
            found += _merged(all_of_it[begin : begin + each])
    return found


def _merged(requests) -> list[tuple[int, int]]:
    words = {tuple(request.addresses // WORD): request for request in requests}
    rows, found = np.array(sorted(words)), []
    taken = set()
    for row in rows:
        if tuple(row) in taken:
            continue
        for count in (4, 2, 1):
            run = [tuple(row + i) for i in range(count)]
            if (row % count == 0).all() and all(place in words and place not in taken for place in run):
                break
        taken.update(run)
        lanes = words[run[0]].lanes
        passes = wavefronts(np.zeros(len(lanes), int), lanes, row * WORD, WORD * count, "ld")[0]
        found.append((int(passes), WORD * count))
    return found


def sectors(trace: Trace) -> int:
    """Return the different sectors that the block loads: what it asks for again, the first cache has."""
    asked: dict[str, list] = {}
    for site in trace.sites():
        if (site.kind, site.space) == ("ld", "global"):
            every = [request.addresses // SECTOR for request in trace.requests(site)]
            asked.setdefault(site.array, []).extend(every)
    return sum(len(np.unique(np.concatenate(every))) for every in asked.values())
