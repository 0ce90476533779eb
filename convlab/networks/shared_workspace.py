"""One workspace for all layers: they never run at once.

What a layer writes before it reads it is dead when the next layer begins. So one piece of memory serves all
of them. That saves more than memory: the piece is in the cache already when the next layer comes to it.
Tables, such as the places of an indirection buffer, must stay; layers of one shape share them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from convlab.plans.plan import Plan
from convlab.support.aligned import CACHE_LINE, aligned_empty
from convlab.support.integers import round_up


def share(plans: Iterable[Plan]) -> int:
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
