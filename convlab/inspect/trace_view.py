"""What a traced kernel asked of the memory, as plain data that a figure can draw."""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from convlab.gpu.occupancy import WARP
from convlab.gpu.simulator import Site, Trace

MOST_REQUESTS = 40  # of one access: more of the same teach nothing


def trace_as_dict(name: str, trace: Trace) -> dict:
    """Return a trace as numbers, words and lists.

    Returns
    -------
    dict
        "name"; "source", the lines of the kernel as {"number", "file", "text"}, and below them those of the
        functions it calls, where they touch memory; "accesses", one for each place in them that reads or
        writes an array::

            kind "ld" or "st", space "global" or "shared", array, shape, itemsize,
            base                    byte at which the array begins, in its allocation or in shared memory
            file, line, begin, end, text  where it stands in the source, and the line itself
            count, lanes            requests of a warp, and lanes that took part in them, in all
            cost, least             sectors (global) or passes (shared) of all of them, and at best
            requests                the first of them, each with block, warp, size (bytes for each lane),
                                    lanes (the byte each of the 32 asks for, counted as `base`; None if it
                                    asks for none), cost, least and wanted (bytes)
    """
    sites, pieces = sites_in_order(trace), [_kernel(trace)]
    for site in sites:
        if not any(piece.holds(site) for piece in pieces):
            pieces.append(_around(site.file, site.line))
    lines = list(pieces[0].lines())
    for piece in pieces[1:]:
        lines += [{"number": "", "file": "", "text": ""}, *piece.lines()]
    indents = [next(piece.indent for piece in pieces if piece.holds(site)) for site in sites]
    accesses = [_access(trace, site, indent) for site, indent in zip(sites, indents, strict=True)]
    return {"name": name, "source": lines, "accesses": accesses}


@dataclass(frozen=True)
class _Piece:
    """A function's source: its text, and where in a file it begins."""

    file: str
    first: int
    text: tuple[str, ...]

    @property
    def indent(self) -> int:
        return len(self.text[0]) - len(self.text[0].lstrip())

    def holds(self, site: Site) -> bool:
        return site.file == self.file and self.first <= site.line < self.first + len(self.text)

    def lines(self) -> Iterator[dict]:
        for i, line in enumerate(textwrap.dedent("".join(self.text)).splitlines()):
            yield {"number": self.first + i, "file": os.path.basename(self.file), "text": line}


def _kernel(trace: Trace) -> _Piece:
    text, first = inspect.getsourcelines(trace.function)
    return _Piece(trace.function.__code__.co_filename, first, tuple(text))


def _around(file: str, line: int) -> _Piece:
    """Return the innermost function around a line, with its decorators; or the line, if there is none."""
    text = linecache.getlines(file)
    try:
        nodes = [node for node in ast.walk(ast.parse("".join(text))) if isinstance(node, ast.FunctionDef)]
    except SyntaxError:  # a cell of a notebook may hold more than Python
        nodes = []
    around = [node for node in nodes if node.lineno <= line <= (node.end_lineno or 0)]
    if not around:
        return _Piece(file, line, tuple(text[line - 1 : line]))
    inner = max(around, key=lambda node: node.lineno)
    first = min([inner.lineno, *(decorator.lineno for decorator in inner.decorator_list)])
    return _Piece(file, first, tuple(text[first - 1 : inner.end_lineno]))


def sites_in_order(trace: Trace) -> list[Site]:
    """Return the places that touch global or shared memory; in a line, reads stand before writes."""
    sites = [site for site in trace.sites() if site.space in ("global", "shared")]
    return sorted(sites, key=lambda site: (site.file, site.line, site.kind == "st", site.place.column))


def _access(trace, site, indent: int) -> dict:
    shared = site.space == "shared"
    return {
        **{"kind": site.kind, "space": site.space, "array": site.array, "shape": list(site.shape)},
        **{"itemsize": site.itemsize, "base": site.offset},
        **{"file": os.path.basename(site.file), "line": site.line, "text": site.source},
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
        **{"block": _short(request.block), "warp": request.warp},
        **{"size": request.size, "kind": request.kind},
        "lanes": [asked.get(lane) for lane in range(WARP)],
        "cost": request.wavefronts if shared else request.sectors,
        "least": request.ideal_wavefronts if shared else request.ideal_sectors,
        "wanted": len(set(addresses)) * request.size,
    }


def _short(block) -> str:
    """Return "3" for block (3, 0, 0) and "3, 1" for (3, 1, 0)."""
    used = max((axis for axis, place in enumerate(block) if place), default=0)
    return ", ".join(map(str, block[: used + 1]))
