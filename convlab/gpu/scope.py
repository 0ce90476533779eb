"""What a traced kernel asked of the memory, as plain data that a figure can draw."""

from __future__ import annotations

import inspect
import linecache
import textwrap

from convlab.gpu.lanes import Trace

MOST_REQUESTS = 40  # of one access: more of the same teach nothing


def described(name: str, trace: Trace) -> dict:
    """Return a trace as numbers, words and lists.

    Returns
    -------
    dict
        "name"; "source", the lines of the kernel as {"number", "text"}; "accesses", one for each place in
        them that reads or writes an array::

            kind "ld" or "st", space "global" or "shared", array, shape, itemsize,
            line, begin, end, text  where it stands in the source, and the line itself
            count, lanes            requests of a warp, and lanes that took part in them, in all
            cost, least             sectors (global) or passes (shared) of all of them, and at best
            requests                the first of them, each with block, warp, size (bytes for each lane),
                                    lanes (the byte each of the 32 asks for, from the start of the array or of
                                    shared memory; None if it asks for none), cost, least and wanted (bytes)
    """
    kernel = trace.simulator.kernel
    lines, first = inspect.getsourcelines(kernel.py_func)
    text = textwrap.dedent("".join(lines)).splitlines()
    source = [{"number": first + i, "text": line} for i, line in enumerate(text)]
    return {"name": name, "source": source, "accesses": _accesses(trace, 0)}


def _accesses(trace, indent):
    from convlab.gpu.lanes.simulator import wavefronts

    simulator, found = trace.simulator, {}
    lowest = {}
    for (_, space, array, *_), asked in simulator.records.items():
        at = min(a for _, a, _ in asked) // 512 * 512 if space == "global" else 0
        lowest[array] = min(at, lowest.get(array, at))
    for (kind, space, array, site, _, block, warp), asked in simulator.records.items():
        access = found.setdefault(
            (kind, space, array, site),
            {
                "kind": kind,
                "space": space,
                "array": array,
                "shape": [],
                "itemsize": 4,
                "line": site[1],
                "text": linecache.getline(site[0], site[1]).strip(),
                "begin": site[2] - indent,
                "end": site[3] - indent,
                "count": 0,
                "lanes": 0,
                "cost": 0,
                "least": 0,
                "requests": [],
            },
        )
        lanes = [None] * 32
        for lane, at, _ in asked:
            lanes[lane] = at - lowest[array]
        wanted = len({w for _, a, s in asked for w in range(a // 4, (a + s) // 4)}) * 4
        if space == "global":
            cost = len({b for _, a, s in asked for b in range(a // 32, (a + s - 1) // 32 + 1)})
            least = -(-wanted // 32)
        else:
            cost, least = wavefronts(asked)
        access["count"] += 1
        access["lanes"] += len(asked)
        access["cost"] += cost
        access["least"] += least
        if len(access["requests"]) < MOST_REQUESTS:
            access["requests"].append(
                {
                    "block": ", ".join(map(str, block)),
                    "warp": warp,
                    "size": asked[0][2],
                    "lanes": lanes,
                    "cost": cost,
                    "least": least,
                    "wanted": wanted,
                }
            )
    return list(found.values())  # in the order of their first request


def name_of(trace: Trace) -> str:
    """Return the name of the kernel that was traced."""
    return trace.simulator.kernel.py_func.__name__
