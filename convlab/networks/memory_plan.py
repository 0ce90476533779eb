"""Which arrays a network needs at once, and how few of them will do.

An array is alive from the step that makes it to the last step that reads it. After that its memory can hold
another one. So a network of thirty steps runs in three or four pieces of memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from convlab.networks.graph import Step
from convlab.support.aligned import aligned_empty


def last_reads(steps: Sequence[Step]) -> dict[str, int]:
    """Return for each array the place of the last step that reads it; the very last array is kept."""
    last = {name: place for place, step in enumerate(steps) for name in step.takes}
    return last | {steps[-1].name: len(steps)}


def alive(steps: Sequence[Step]) -> list[int]:
    """Return the bytes of all arrays that are alive while each step runs: old ones, and the one it makes.

    A sum is written over its first summand, and so makes no new array.
    """
    last, sizes = last_reads(steps), {step.name: step.nbytes for step in steps}
    living: dict[str, int] = {}
    totals = []
    for place, step in enumerate(steps):
        living = {name: size for name, size in living.items() if last[name] >= place}
        if step.does == "add":
            del living[step.takes[0]]
        living[step.name] = sizes[step.name]
        totals.append(sum(living.values()))
    return totals


def share(steps: Sequence[Step]) -> tuple[dict[str, int], list[int]]:
    """Find a piece of memory for each array; a piece is used again as soon as its array is dead.

    Returns
    -------
    dict of str to int, list of int
        The piece of each array, and the bytes of each piece.
    """
    last = last_reads(steps)
    piece: dict[str, int] = {}
    sizes: list[int] = []
    free: set[int] = set()
    for place, step in enumerate(steps):
        if step.does == "add":  # the first summand dies here: nobody else reads the inside of a block
            assert last[step.takes[0]] == place
            piece[step.name] = piece[step.takes[0]]
        else:
            # The smallest that is large enough; else the largest, which then grows; else a new one.
            enough = [i for i in free if sizes[i] >= step.nbytes]
            chosen = (
                min(enough, key=sizes.__getitem__)
                if enough
                else max(free, key=sizes.__getitem__, default=None)
            )
            if chosen is None:
                chosen = len(sizes)
                sizes.append(0)
            sizes[chosen] = max(sizes[chosen], step.nbytes)
            free.discard(chosen)
            piece[step.name] = chosen
        free |= {piece[name] for name in step.takes if last[name] == place} - {piece[step.name]}
    return piece, sizes


def allocate(steps: Sequence[Step]) -> tuple[dict[str, np.ndarray], int]:
    """Return an array for each step, several of them in one piece of memory, and the bytes of all pieces."""
    piece, sizes = share(steps)
    memory = [aligned_empty((size,), np.uint8) for size in sizes]
    arrays = {
        step.name: memory[piece[step.name]][: step.nbytes].view(step.dtype).reshape(step.shape)
        for step in steps
    }
    return arrays, sum(sizes)
