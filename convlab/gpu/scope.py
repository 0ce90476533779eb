"""What a traced kernel asked of the memory, as plain data that a figure can draw."""

from __future__ import annotations

import inspect
import textwrap

from convlab.gpu.lanes import Site, Trace

MOST_REQUESTS = 40  # of one access: more of the same teach nothing
WARP = 32


def described(name: str, trace: Trace) -> dict:
    """Return a trace as numbers, words and lists.

    Returns
    -------
    dict
        "name"; "source", the lines of the kernel as {"number", "text"}; "accesses", one for each place in
        them that reads or writes an array::

            kind "ld" or "st", space "global" or "shared", array, shape, itemsize,
            base                    byte at which the array begins, in its allocation or in shared memory
            line, begin, end, text  where it stands in the source, and the line itself
            count, lanes            requests of a warp, and lanes that took part in them, in all
            cost, least             sectors (global) or passes (shared) of all of them, and at best
            requests                the first of them, each with block, warp, size (bytes for each lane),
                                    lanes (the byte each of the 32 asks for, counted as `base`; None if it
                                    asks for none), cost, least and wanted (bytes)
    """
    text, first = inspect.getsourcelines(trace.function)
    indent = len(text[0]) - len(text[0].lstrip())
    text = textwrap.dedent("".join(text)).splitlines()
    lines = [{"number": first + i, "text": line} for i, line in enumerate(text)]
    accesses = [_access(trace, site, indent) for site in in_order(trace)]
    return {"name": name, "source": lines, "accesses": accesses}


def in_order(trace: Trace) -> list[Site]:
    """Return the places that touch global or shared memory; in a line, reads stand before writes."""
    sites = [site for site in trace.sites() if site.space in ("global", "shared")]
    return sorted(sites, key=lambda site: (site.file, site.line, site.kind == "st", site.place.column))


def _access(trace, site, indent: int) -> dict:
    shared = site.space == "shared"
    return {
        **{"kind": site.kind, "space": site.space, "array": site.array, "shape": list(site.shape)},
        **{"itemsize": site.itemsize, "base": site.offset},
        **{"line": site.line, "text": site.source},
        **{"begin": site.place.column - indent, "end": site.place.end - indent},
        **{"count": site.requests, "lanes": site.lanes},
        "cost": site.wavefronts if shared else site.sectors,
        "least": site.ideal_wavefronts if shared else site.ideal_sectors,
        "requests": [_request(request, shared) for request in trace.requests(site)[:MOST_REQUESTS]],
    }


def _request(request, shared: bool) -> dict:
    lanes, addresses = request.lanes.tolist(), request.addresses.tolist()
    asked = dict(zip(lanes, addresses, strict=True))
    return {
        **{"block": _short(request.block), "warp": request.warp, "size": request.size},
        "lanes": [asked.get(lane) for lane in range(WARP)],
        "cost": request.wavefronts if shared else request.sectors,
        "least": request.ideal_wavefronts if shared else request.ideal_sectors,
        "wanted": len(set(addresses)) * request.size,
    }


def _short(block) -> str:
    """Return "3" for block (3, 0, 0) and "3, 1" for (3, 1, 0)."""
    used = max((axis for axis, place in enumerate(block) if place), default=0)
    return ", ".join(map(str, block[: used + 1]))
