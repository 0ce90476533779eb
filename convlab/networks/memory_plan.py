"""Which arrays a network needs at once, and how few of them will do.

An array is alive from the node that makes it to the last node that reads it. After that its memory can hold
another one. So a network of thirty nodes runs in three or four pieces of memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from convlab.networks.graph import Node
from convlab.support.aligned import aligned_empty


def last_reads(nodes: Sequence[Node]) -> dict[str, int]:
    """Return for each array the place of the last node that reads it; the very last array is kept."""
    last = {name: place for place, node in enumerate(nodes) for name in node.inputs}
    return last | {nodes[-1].name: len(nodes)}


def alive(nodes: Sequence[Node]) -> list[int]:
    """Return the bytes of all arrays that are alive while each node runs: old ones, and the one it makes.

    A sum is written over its first summand, and so makes no new array.
    """
    last, sizes = last_reads(nodes), {node.name: node.nbytes for node in nodes}
    living: dict[str, int] = {}
    totals = []
    for place, node in enumerate(nodes):
        living = {name: size for name, size in living.items() if last[name] >= place}
        if node.op == "add":
            del living[node.inputs[0]]
        living[node.name] = sizes[node.name]
        totals.append(sum(living.values()))
    return totals


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
        if node.op == "add":  # the first summand dies here: nobody else reads the inside of a block
            assert last[node.inputs[0]] == place
            piece[node.name] = piece[node.inputs[0]]
        else:
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
        free |= {piece[name] for name in node.inputs if last[name] == place} - {piece[node.name]}
    return piece, sizes


def allocate(nodes: Sequence[Node]) -> tuple[dict[str, np.ndarray], int]:
    """Return an array for each node, several of them in one piece of memory, and the bytes of all pieces."""
    piece, sizes = share(nodes)
    memory = [aligned_empty((size,), np.uint8) for size in sizes]
    arrays = {
        node.name: memory[piece[node.name]][: node.nbytes].view(node.dtype).reshape(node.shape)
        for node in nodes
    }
    return arrays, sum(sizes)
