"""Which arrays a network needs at once, and how few of them will do; and one workspace for all its layers.

An array is alive from the node that makes it to the last node that reads it. After that its memory can hold
another one. So a network of thirty nodes runs in three or four pieces of memory.

Layers never run at once, and what a layer writes before it reads it is dead when the next one begins. So one
piece of memory serves all of them. That saves more than memory: the piece is in the cache already when the
next layer comes to it. Tables, such as the places of an indirection buffer, must stay; layers of one shape
share them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from convlab.networks.graph import Node
from convlab.plans.plan import Plan
from convlab.support.aligned import CACHE_LINE, aligned_empty
from convlab.support.integers import round_up


def last_reads(nodes: Sequence[Node]) -> dict[str, int]:
    """Return for each array the place of the last node that reads it; the very last array is kept."""
    last = {name: place for place, node in enumerate(nodes) for name in node.inputs}
    return last | {nodes[-1].name: len(nodes)}


def alive(nodes: Sequence[Node]) -> list[int]:
    """Return the bytes of all arrays that are alive while each node runs: old ones, and the one it makes.

    A sum is written over a summand if it can, and what fills a part of a wider array makes none of its own.
    """
    last, sizes = last_reads(nodes), {node.name: node.nbytes for node in nodes}
    living: dict[str, int] = {}
    totals = []
    for place, node in enumerate(nodes):
        living = {name: size for name, size in living.items() if last[name] >= place}
        if replaced := written_over(node, place, last):
            del living[replaced]
        if not node.into:
            living[node.name] = sizes[node.name]
        totals.append(sum(living.values()))
    return totals


def written_over(node: Node, place: int, last: dict[str, int]) -> str | None:
    """Return the array whose memory a node writes its own into while it reads it, or None.

    A sum by itself takes that of a summand, a convolution with a residual the residual's: but for one that
    somebody reads later, and one that the windows of the convolution lie in.
    """
    summands = {"add": node.inputs, "conv": node.inputs[1:]}.get(node.op, ())
    windows = node.inputs[:1] if node.op == "conv" else ()
    return next((name for name in summands if last[name] == place and name not in windows), None)


def share(nodes: Sequence[Node]) -> tuple[dict[str, int], list[int]]:
    """Find a piece of memory for each array; a piece is used again as soon as its array is dead.

    Returns
    -------
    dict of str to int, list of int
        The piece of each array, and the bytes of each piece.
    """
    last = last_reads(nodes)
    piece: dict[str, int] = {}
    sizes: list[int] = []
    free: set[int] = set()
    for place, node in enumerate(nodes):
        if replaced := written_over(node, place, last):
            piece[node.name] = piece[replaced]
        elif not node.into:
            # The smallest that is large enough; else the largest, which then grows; else a new one.
            enough = [i for i in free if sizes[i] >= node.nbytes]
            chosen = (
                min(enough, key=sizes.__getitem__)
                if enough
                else max(free, key=sizes.__getitem__, default=None)
            )
            if chosen is None:
                chosen = len(sizes)
                sizes.append(0)
            sizes[chosen] = max(sizes[chosen], node.nbytes)
            free.discard(chosen)
            piece[node.name] = chosen
        free |= {piece[name] for name in node.inputs if last[name] == place} - {piece.get(node.name)}
    return piece, sizes


def allocate(nodes: Sequence[Node]) -> tuple[dict[str, np.ndarray], int]:
    """Return an array for each node, several of them in one piece of memory, and the bytes of all pieces."""
    piece, sizes = share(nodes)
    memory = [aligned_empty((size,), np.uint8) for size in sizes]
    arrays: dict[str, np.ndarray] = {}
    for node in nodes:
        if node.into:
            arrays[node.name] = arrays[node.into][..., node.first : node.first + node.shape[3]]
        else:
            whole = memory[piece[node.name]][: node.nbytes]
            arrays[node.name] = whole.view(node.dtype).reshape(node.shape)
    return arrays, sum(sizes)


# -- the workspaces of the convolutions --------------------------------------------------------------------


def share_workspace(plans: Iterable[Plan]) -> int:
    """Let plans share what they can of their workspaces, and return the bytes left.

    They need not run at once, but may: then they take turns, see `Plan.takes_turns_with`.
    """
    first: dict[tuple, Plan] = {}  # the first plan of each kind
    for one in plans:
        kind = one.problem, id(one.algorithm), one.backend, one.threads
        one.workspace = first.setdefault(kind, one).workspace
        one.takes_turns_with(next(iter(first.values())))
    scratch = [_scratch(one) for one in first.values()]
    room = max((sum(map(_whole_lines, arrays.values())) for arrays in scratch), default=0)
    memory = aligned_empty((room,), np.uint8)
    tables = sum(array.nbytes for one in first.values() for array in one.workspace.values())
    for one, arrays in zip(first.values(), scratch, strict=True):
        at = 0
        for name, array in arrays.items():
            one.workspace[name] = memory[at : at + array.nbytes].view(array.dtype).reshape(array.shape)
            at += _whole_lines(array)
            tables -= array.nbytes
    return room + tables


def _scratch(one: Plan) -> dict[str, np.ndarray]:
    """Return those arrays of a workspace that are written before they are read."""
    return {name: one.workspace[name] for name in one.algorithm.forms[one.backend].scratch}


def _whole_lines(array: np.ndarray) -> int:
    """Return the bytes of an array, rounded up to whole cache lines."""
    return round_up(array.nbytes, CACHE_LINE)
