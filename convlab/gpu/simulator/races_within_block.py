"""Races: two threads at one element, one of them writes, and nothing says who comes first.

It is one even if both write the same number, or if the device happens to do it in the right order. What says
who comes first are barriers, and what `vector_clocks` knows. Atomic operations may meet each other, and
nothing else.

Accesses are put in the order they had here, grain by grain (the smallest elements of the launch, so that
views with elements of several sizes can be compared). It is enough to hold each against its neighbours: the
last write before it and the next one after. As long as there is no race, all others are in order with these.
"""

from __future__ import annotations

import numpy as np

from convlab.gpu.simulator.access_log import AccessRows, unique_rows
from convlab.gpu.simulator.errors import RACE, Mistake, element

VERBS = {
    "ld": "read",
    "fetched": "read",
    "st": "written",
    "landed": "written",
    "atomic": "changed atomically",
}
_READ, _WRITE, _ATOMIC = 0, 1, 2
_DOES = {"ld": _READ, "fetched": _READ, "st": _WRITE, "landed": _WRITE, "atomic": _ATOMIC}


def within_block(simulation, rows: AccessRows) -> None:
    """Note the races among the accesses between two barriers of a block."""
    touched = _touched(simulation, rows)
    if touched is None:
        return
    row, grain, does = touched
    first, second = (row[part] for part in _neighbours(grain, does))
    one = rows.thread[first] == rows.thread[second]
    turn = rows.turn[second]
    ordered = one | simulation.order.within(rows.thread[first], rows.moment[first], turn)
    for pair in np.flatnonzero(~ordered & (turn > 0)).tolist():
        if simulation.log.accesses[rows.access[first[pair]]].kind == "atomic":
            address, moment = int(rows.address[first[pair]]), int(rows.moment[first[pair]])
            ordered[pair] = simulation.order.atomic_before(address, moment, int(turn[pair]))
    first, second = first[~ordered], second[~ordered]
    if len(first):
        _note(simulation, rows, first, second)


def _touched(simulation, rows):
    """Return row, grain and what was done, one item a grain an access, sorted by grain and moment.

    Only the grains that several threads touched, and one of them wrote; None if there are none.
    """
    accesses = simulation.log.accesses
    does = np.array([_DOES[access.kind] for access in accesses], np.int64)[rows.access]
    if not does.any():
        return None
    size = simulation.memory.grain
    times = np.array([access.size for access in accesses])[rows.access] // size
    start = np.repeat(np.cumsum(times) - times, times)
    row = np.repeat(np.arange(len(rows)), times)
    grain = rows.address[row] // size + np.arange(len(start)) - start
    # What no one wrote cannot be in a race.
    written = np.isin(grain, grain[does[row] != _READ])
    row, grain = row[written], grain[written]
    order = np.argsort(grain, kind="stable")
    row, grain = row[order], grain[order]
    start = np.flatnonzero(np.diff(grain, prepend=-1))
    lengths = np.diff(np.append(start, len(grain)))
    thread = rows.thread[row]
    several = np.logical_or.reduceat(thread != np.repeat(thread[start], lengths), start)
    if not several.any():
        return None
    kept = np.repeat(several, lengths)
    return row[kept], grain[kept], does[row[kept]]


def _neighbours(grain, does):
    """Return the items, two by two, that are in a race unless something puts them in order."""
    items = np.arange(len(grain))
    starts = np.flatnonzero(np.diff(grain, prepend=-1))
    lengths = np.diff(np.append(starts, len(grain)))
    begin, end = np.repeat(starts, lengths), np.repeat(starts + lengths, lengths)
    pairs = []

    def compare(mine, others):
        """Pair items of one sort with the last one of the other sort before them, and the next after."""
        last = np.maximum.accumulate(np.where(others, items, -1))
        last = np.append(-1, last[:-1])
        found = mine & (last >= begin)
        pairs.append((last[found], items[found]))
        following = np.minimum.accumulate(np.where(others, items, len(items))[::-1])[::-1]
        following = np.append(following[1:], len(items))
        found = mine & (following < end)
        pairs.append((items[found], following[found]))

    compare(does >= _READ, does == _WRITE)
    if (does == _ATOMIC).any():
        compare(does == _READ, does == _ATOMIC)
        compare(does == _ATOMIC, does == _READ)
    first, second = (np.concatenate(part) for part in zip(*pairs, strict=True))
    order = np.lexsort((second, first))
    return first[order], second[order]


def _note(simulation, rows, first, second):
    spots = [rows.path[first], rows.instruction[first], rows.path[second], rows.instruction[second]]
    _, spot = unique_rows(*spots)
    _, examples, counts = np.unique(spot, return_index=True, return_counts=True)
    block = simulation.block_index
    for example, count in sorted(zip(examples.tolist(), counts.tolist(), strict=True)):
        pair = int(first[example]), int(second[example])
        if simulation.log.accesses[rows.access[pair[0]]].kind in ("ld", "fetched"):
            pair = pair[::-1]  # the one that writes is named first
        (one, index, did, place), (two, _, also, other) = (
            describe_access(simulation, rows, row) for row in pair
        )
        array = simulation.log.accesses[rows.access[pair[0]]].array.name
        text = f"{element(array, index)} is {did} by thread {one} and {also} by thread {two}"
        text += f" of block {block}, with no barrier between"
        if rows.turn[pair[0]] or rows.turn[pair[1]]:
            text += ", and no syncwarp that both waited at"
        simulation.mistakes.add(Mistake(RACE, text, place, other, array, index, block, one, count))


def describe_access(simulation, rows, row):
    """Return (thread, index, verb, place) of an access."""
    access = simulation.log.accesses[rows.access[row]]
    index = access.array.index((int(rows.address[row]) - access.array.base) // access.array.itemsize)
    place = simulation.place(simulation.paths[rows.path[row]], int(rows.instruction[row]))
    return simulation.thread_index(int(rows.thread[row])), index, VERBS[access.kind], place
