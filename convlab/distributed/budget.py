"""How much memory a tile takes, and how tall a strip may be to take no more than there is."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from functools import cache

from convlab.algorithms.form import Form
from convlab.algorithms.spec import Algorithm
from convlab.distributed.layers import Layers
from convlab.distributed.piece import Piece, piece
from convlab.distributed.regions import Region, Tile, tile_of
from convlab.distributed.sources import CONVERTED
from convlab.distributed.span import Span, windows
from convlab.errors import ParameterError, WorkspaceError
from convlab.machine import facts
from convlab.machine.memory import Memory
from convlab.networks.fuse import fuse
from convlab.networks.memory_plan import share
from convlab.problem import ConvProblem
from convlab.support.aligned import CACHE_LINE
from convlab.support.checks import said
from convlab.support.integers import round_up
from convlab.support.units import bytes_text

UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
SHARE = 4  # without a budget a run takes one part in so many of the memory that is free
Algorithms = Mapping[str, Algorithm]


def bytes_of(memory: int | str | None) -> int:
    """Return a budget in bytes; without one, a quarter of the memory that is free.

    >>> bytes_of("1.5 GiB")
    1610612736

    Raises
    ------
    ParameterError
        If it is no number of bytes, nor one with its unit.
    """
    if memory is None:
        free = facts.memory_at_hand()
        if free is None:
            raise ParameterError("memory=None, and this system does not tell what is free; expected bytes")
        return free // SHARE
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(B|[KMGT]iB)?\s*", str(memory))
    if isinstance(memory, bool) or not found or not float(found[1]):
        raise ParameterError(f"memory={said(memory)}; expected bytes, or text such as '1 GiB' or '300 MiB'")
    wanted = float(found[1]) * UNITS[found[2] or "B"]
    if wanted >= 1 << 63:
        raise ParameterError(f"memory={said(memory)}; expected fewer than 8 EiB")
    return int(wanted)


def takes(small: Piece, algorithms: Algorithms, backend: str, threads: int) -> dict[str, int]:
    """Return the bytes that a tile takes while it is computed: what `Prepared.memory` says, beforehand.

    Returns
    -------
    dict of str to int
        "arrays" between the layers, what is read and what comes out among them; "workspace" of the
        convolutions; their "packed weights"; and "conversion" of what is read.
    """
    forms = {node.name: algorithms[node.name].forms[backend] for node in small.layers}
    spaces: dict[tuple, tuple[int, int]] = {}  # kept, and used in turns; layers of one kind share one
    packed = 0
    for node in small.layers:
        form, problem = forms[node.name], node.convolution
        spaces[problem, algorithms[node.name].name] = _workspace(form, problem, threads)
        packed += int(form.packed_bytes(problem))
        packed += problem.w_bytes if form.pack_key else 0
    fused = fuse(small.nodes, {name for name, form in forms.items() if form.epilogue})
    return {
        "arrays": sum(share(fused)[1]),
        "workspace": sum(kept for kept, _ in spaces.values())
        + max((turns for _, turns in spaces.values()), default=0),
        "packed weights": packed,
        "conversion": CONVERTED,
    }


def _workspace(form: Form, problem: ConvProblem, threads: int) -> tuple[int, int]:
    """Return the bytes of a workspace that are kept, and those that layers use in turns."""
    if not form.scratch:
        return int(form.workspace_bytes(problem, threads)), 0
    space = int(form.workspace_bytes(problem, threads))
    if Memory().lacking({"workspace": space}):
        raise WorkspaceError(f"a workspace of {bytes_text(space)} is more than the memory that is free")
    arrays = form.allocate(problem, threads)
    turns = sum(round_up(arrays[name].nbytes, CACHE_LINE) for name in form.scratch)
    return sum(one.nbytes for name, one in arrays.items() if name not in form.scratch), turns


def strip(layers: Layers, start: int, height: int) -> Tile:
    """Return the strip of the result that begins at a row, as wide as the result."""
    _, P, Q, _ = layers.shape
    output = Region(Span(start, min(start + height, P)), Span(0, Q))
    return tile_of(layers.nodes, output)


def strip_takes(layers: Layers, height: int, algorithms: Algorithms, backend: str, threads: int) -> int:
    """Return the bytes that strips of a height take at most.

    Those in the middle are alike, and have two borders. Near an edge one may look at less padding than the
    next, which has more to read.
    """
    pieces = (piece(layers, strip(layers, start, height)) for start in _unlike(layers, height))
    return max(sum(takes(one, algorithms, backend, threads).values()) for one in pieces)


def _unlike(layers: Layers, height: int) -> set[int]:
    """Return where strips begin of which no two need be alike: all that look over an edge, one that does not.

    The further down a strip begins, the further down lies all that it looks at. So those that look over an
    edge are the first ones, and the last ones.
    """
    starts = range(0, layers.shape[1], height)
    above = bisect_left(starts, True, key=lambda start: not _looks_over(layers, start, height)[0])
    below = bisect_left(starts, True, key=lambda start: _looks_over(layers, start, height)[1])
    return {*starts[: above + 1], *starts[below:], starts[-1]}


def _looks_over(layers: Layers, start: int, height: int) -> tuple[bool, bool]:
    """Say whether a window of a strip's layers looks over the upper edge of an array, and over the lower."""
    needs = strip(layers, start, height).needs
    shapes = {node.name: node.shape for node in layers.nodes}
    above = below = False
    for node in layers.nodes:
        for name in node.inputs if node.name in needs else ():
            down, _ = windows(node, shapes[name])
            first, last = down.look_at(needs[node.name].rows)
            above, below = above or first < 0, below or last > down.size
    return above, below


def tallest(
    layers: Layers, budget: int, algorithms: Algorithms, backend: str, threads: int, beside: int = 0
) -> int:
    """Return the height of the tallest strips that a budget allows: their borders are the smallest part.

    Of the budget so many bytes are taken `beside` the strip.

    Raises
    ------
    WorkspaceError
        If a strip of one row takes more; the message says how much.
    """

    @cache
    def size(height: int) -> int:
        return strip_takes(layers, height, algorithms, backend, threads) + beside

    def fits(height: int) -> bool:
        try:
            return size(height) <= budget
        except WorkspaceError:
            return False

    low, high = 0, layers.shape[1]
    if fits(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    if not low:
        raise WorkspaceError(
            f"memory={bytes_text(budget)}; a strip of one row of the result takes {bytes_text(size(1))}, "
            "with all it needs of the layers before"
        )
    return low
