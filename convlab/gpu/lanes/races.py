"""Races: two threads at one element, one of them writes, and nothing says who comes first.

It is one even if both write the same number, or if the device happens to do it in the right order.
Between two barriers nothing does within a block; within a warp `syncwarp` does. Blocks are never in order:
that a block may wait for another one's flag is not seen here. Atomic operations may meet each other, and
nothing else.
"""

from __future__ import annotations

import numpy as np

from convlab.gpu.lanes.log import Rows
from convlab.gpu.lanes.mistakes import RACE, Mistake, element
from convlab.gpu.lanes.requests import numbered

_VERBS = {"ld": "read", "st": "written", "landed": "written by cp.async", "atomic": "changed atomically"}
_NO = np.iinfo(np.int64).max


def within_block(machine, rows: Rows) -> None:
    """Note the races among the accesses between two barriers of a block."""
    touched = _Touched(machine, rows)
    if not touched.shared:
        return
    warp = touched.thread // 32
    among_warps = _pairs(touched.grain, warp, touched)
    _, group = numbered(touched.grain, warp, touched.turn)
    within_warp = _pairs(group, touched.thread, touched)
    for first, second in (within_warp, among_warps):
        _note(machine, touched, first, second)


class _Touched:
    """The grains (the smallest elements of the launch) that were touched, one item a grain an access.

    `shared` says if any grain was written, and touched more than once: without that there is no race.
    """

    def __init__(self, machine, rows):
        accesses = machine.log.accesses
        kinds = np.array([access.kind for access in accesses])[rows.access]
        sizes = np.array([access.size for access in accesses])[rows.access]
        grain = min(access.array.itemsize for access in accesses) if len(rows) else 1
        write = kinds != "ld"
        self.shared = bool(write.any())
        if not self.shared:
            return
        times = sizes // grain
        start = np.repeat(np.cumsum(times) - times, times)
        self.row = np.repeat(np.arange(len(rows)), times)
        self.grain = rows.address[self.row] // grain + np.arange(len(start)) - start
        # What no one wrote cannot be in a race.
        written = np.isin(self.grain, self.grain[write[self.row]])
        self.row, self.grain = self.row[written], self.grain[written]
        self.shared = len(np.unique(self.grain)) < len(self.grain)
        self.rows, self.kinds = rows, kinds[self.row]
        self.thread, self.turn = rows.thread[self.row], rows.turn[self.row]


def _pairs(group, party, touched):
    """Return two items of every group in which two parties are in a race."""
    order = np.argsort(group, kind="stable")
    group, party, kinds = group[order], party[order], touched.kinds[order]
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    sizes = np.diff(np.append(starts, len(group)))
    items = np.arange(len(group))

    def first_where(condition):
        return np.minimum.reduceat(np.where(condition, items, _NO), starts)

    plain = (kinds == "st") | (kinds == "landed")
    writer = first_where(plain)
    writer = np.where(writer == _NO, first_where(kinds == "atomic"), writer)
    found = writer != _NO
    by_plain = np.repeat(found & plain[np.where(found, writer, 0)], sizes)
    other_party = party != np.repeat(party[np.where(found, writer, 0)], sizes)
    # Whoever meets a plain write; or an atomic one, without being atomic.
    other = first_where(other_party & (by_plain | (kinds != "atomic")))
    race = found & (other != _NO)
    return order[writer[race]], order[other[race]]


def _note(machine, touched, first, second):
    rows, block = touched.rows, machine.block_index
    first, second = touched.row[first], touched.row[second]
    spots = [rows.path[first], rows.instruction[first], rows.path[second], rows.instruction[second]]
    _, spot = numbered(*spots)
    _, examples, counts = np.unique(spot, return_index=True, return_counts=True)
    for example, count in sorted(zip(examples.tolist(), counts.tolist(), strict=True)):
        (one, index, did, place), (two, _, also, other) = (
            _described(machine, rows, row[example]) for row in (first, second)
        )
        array = machine.log.accesses[rows.access[first[example]]].array.name
        text = f"{element(array, index)} is {did} by thread {one} and {also} by thread {two}"
        text += f" of block {block}, with no barrier between"
        machine.mistakes.add(Mistake(RACE, text, place, other, array, index, block, one, count))


def _described(machine, rows, row):
    """Return (thread, index, verb, place) of an access."""
    access = machine.log.accesses[rows.access[row]]
    index = access.array.index((int(rows.address[row]) - access.array.base) // access.array.itemsize)
    place = machine.place(machine.paths.nodes[rows.path[row]], int(rows.instruction[row]))
    return machine.thread_index(int(rows.thread[row])), index, _VERBS[access.kind], place


class BetweenBlocks:
    """Watches global memory for races between blocks: which block read, wrote or changed each element."""

    def __init__(self, machine):
        self._machine, self._seen = machine, {}

    def add(self, rows: Rows) -> None:
        """Note the races of some accesses of a block with those of blocks before."""
        accesses = self._machine.log.accesses
        for number in np.unique(rows.access):
            access = accesses[number]
            if access.array.space == "global":
                self._add(access, rows[np.flatnonzero(rows.access == number)])

    def _add(self, access, rows):
        array, me = access.array, 1 + self._block_number(self._machine.block_index)
        width = access.size // array.itemsize
        first = (rows.address - array.start) // array.itemsize  # of the allocation: arrays may overlap
        items = (first[:, None] + np.arange(width)).reshape(-1)
        by_kind = self._seen.setdefault((array.start, array.itemsize), {})
        for kind, last in by_kind.items():
            if kind == access.kind and kind in ("ld", "atomic"):
                continue
            before = last[items]
            wrong = np.flatnonzero((before != 0) & (before != me))
            if len(wrong):
                self._note(access, rows, kind, wrong, width, before)
        if access.kind not in by_kind:
            size = self._machine.memory.sizes[array.start] // array.itemsize
            by_kind[access.kind] = np.zeros(size, np.int32)
        last = by_kind[access.kind]
        last[items] = np.where((last[items] == 0) | (last[items] == me), me, -1)

    def _block_number(self, index):
        x, y, _ = self._machine.grid
        return index[0] + x * (index[1] + y * index[2])

    def _note(self, access, rows, kind, wrong, width, before):
        machine, block = self._machine, self._machine.block_index
        thread, index, did, place = _described(machine, rows, int(wrong[0]) // width)
        earlier = int(before[wrong[0]]) - 1
        x, y, _ = machine.grid
        who = (
            f"block {(earlier % x, earlier // x % y, earlier // (x * y))}" if earlier >= 0 else "other blocks"
        )
        text = f"{element(access.array.name, index)} is {did} by thread {thread} of block {block}"
        text += f", and {_VERBS[kind]} by {who}: blocks run in any order"
        machine.mistakes.add(
            Mistake(RACE, text, place, None, access.array.name, index, block, thread, len(wrong))
        )
