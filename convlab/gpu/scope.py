"""What a traced kernel asked of the memory, as plain data that a figure can draw."""

from __future__ import annotations

import inspect
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
    lines, first = inspect.getsourcelines(trace.function)
    text = textwrap.dedent("".join(lines)).splitlines()
    indent = len(lines[0].expandtabs()) - len(lines[0].expandtabs().lstrip())
    source = [{"number": first + i, "text": line} for i, line in enumerate(text)]
    accesses = [_access(trace, site, indent) for site in trace.sites()]
    return {"name": name, "source": source, "accesses": accesses}


def _access(trace, site, indent):
    in_global = site.space == "global"
    return {
        "kind": site.kind,
        "space": site.space,
        "array": site.array,
        "shape": list(site.shape),
        "itemsize": site.itemsize,
        "line": site.line,
        "text": site.source,
        "begin": site.place.column - indent,
        "end": site.place.end - indent,
        "count": site.requests,
        "lanes": site.lanes,
        "cost": site.sectors if in_global else site.wavefronts,
        "least": site.ideal_sectors if in_global else site.ideal_wavefronts,
        "requests": [_request(request, site) for request in trace.requests(site)[:MOST_REQUESTS]],
    }


def _request(request, site):
    lanes = [None] * 32
    for lane, at in zip(request.lanes.tolist(), request.addresses.tolist(), strict=True):
        lanes[lane] = at - (site.offset if site.space == "global" else 0)
    wanted = len(set(request.addresses.tolist())) * request.size
    in_global = site.space == "global"
    return {
        "block": ", ".join(map(str, request.block)),
        "warp": request.warp,
        "size": request.size,
        "lanes": lanes,
        "cost": request.sectors if in_global else request.wavefronts,
        "least": request.ideal_sectors if in_global else request.ideal_wavefronts,
        "wanted": wanted,
    }


def name_of(trace: Trace) -> str:
    """Return the name of the kernel that was traced."""
    return trace.kernel
