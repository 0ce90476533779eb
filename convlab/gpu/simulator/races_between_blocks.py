"""Races between blocks: they run in any order, unless what `vector_clocks` knows says otherwise."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from convlab.gpu.simulator.access_log import AccessRows
from convlab.gpu.simulator.errors import RACE, Mistake, element
from convlab.gpu.simulator.races_within_block import VERBS, describe_access
from convlab.gpu.simulator.vector_clocks import ELEMENT
from convlab.support.integers import ceil_div

_THREAD, _INSTRUCTION = 10, 20  # bits of each in `_Last.who`; the rest is the path
_CONFLICTS = {"ld": ("st", "atomic"), "st": ("ld", "st", "atomic"), "atomic": ("ld", "st")}


class _Last:
    """When each grain of an allocation was last accessed in one way, and by whom.

    `moment` is counted from 1, 0 is never. Of each grain there are two: the last access of all, and the last
    one of a block before that.
    """

    def __init__(self, grains: int):
        self.moment, self.who = (np.zeros((2, grains), np.int64) for _ in range(2))

    def of_others(self, items, began: int):
        """Return moment and who of the last access by blocks that ran before."""
        row = (self.moment[0, items] > began).astype(np.int64)
        return self.moment[row, items], self.who[row, items]

    def add(self, items, moment, who, began: int) -> None:
        """Keep accesses of the block that runs now."""
        others = items[self.moment[0, items] <= began]
        self.moment[1, others], self.who[1, others] = self.moment[0, others], self.who[0, others]
        self.moment[0, items], self.who[0, items] = moment, who


class RacesBetweenBlocks:
    """Watches global memory: who read, wrote or changed each grain last."""

    def __init__(self, simulation):
        self._simulation, self._seen = simulation, {}
        self._blocks, self._began = [], []  # the blocks that ran, and when

    def begin(self) -> None:
        """Begin a block."""
        self._blocks.append(self._simulation.block_index)
        self._began.append(self._simulation.log.now())

    def add(self, rows: AccessRows) -> None:
        """Note the races of some accesses of a block with those of blocks before."""
        accesses = self._simulation.log.accesses
        for number in np.unique(rows.access):
            access = accesses[number]
            if access.array.space == "global" and access.kind in _CONFLICTS:
                self._add(access, rows[np.flatnonzero(rows.access == number)])

    def _add(self, access, rows):
        start = access.array.start
        grain, size = (
            part[start] for part in (self._simulation.memory.grains, self._simulation.memory.sizes)
        )
        width = access.size // grain
        first = (rows.address - start) // grain
        items = (first[:, None] + np.arange(width)).reshape(-1)
        seen = self._seen.setdefault(start, {})
        for kind in _CONFLICTS[access.kind]:
            if kind in seen:
                moment, who = seen[kind].of_others(items, self._began[-1])
                found = np.flatnonzero(moment)
                if len(found):
                    self._judge(access, kind, rows, found // width, moment[found] - 1, who[found])
        if access.kind not in seen:
            seen[access.kind] = _Last(ceil_div(size, grain))
        who = (rows.path << _THREAD + _INSTRUCTION) | (rows.instruction << _THREAD) | rows.thread
        seen[access.kind].add(
            items, np.repeat(rows.moment + 1, width), np.repeat(who, width), self._began[-1]
        )

    def _judge(self, access, kind, rows, row, moment, who):
        """Note what is a race: `row` by `row`, an access now and one by another block before."""
        order = self._simulation.order
        wrong = np.ones(len(row), bool)
        for i in np.flatnonzero(rows.turn[row]).tolist():
            now, then = int(row[i]), int(moment[i])
            turn = int(rows.turn[now])
            thread = int(who[i]) % (1 << _THREAD)
            wrong[i] = not (
                order.before(order.block_number(self._block_at(then)), thread, then, turn)
                or (kind == "atomic" and order.atomic_before(int(rows.address[now]), then, turn))
            )
        row, moment, who = row[wrong], moment[wrong], who[wrong]
        _, examples, counts = np.unique(rows.instruction[row], return_index=True, return_counts=True)
        for i, count in zip(examples.tolist(), counts.tolist(), strict=True):
            self._note(access, kind, rows, int(row[i]), int(moment[i]), int(who[i]), count)

    def _block_at(self, moment):
        return self._blocks[bisect_right(self._began, moment) - 1]

    def _note(self, access, kind, rows, row, moment, who, count):
        simulation, block = self._simulation, self._simulation.block_index
        thread, index, did, place = describe_access(simulation, rows, row)
        path = simulation.paths[who >> _THREAD + _INSTRUCTION]
        other = simulation.place(path, who >> _THREAD & (1 << _INSTRUCTION) - 1)
        text = f"{element(access.array.name, index)} is {did} by thread {thread} of block {block}"
        text += f", and {VERBS[kind]} by block {self._block_at(moment)}: blocks run in any order"
        if any(key > ELEMENT for key in simulation.order.clocks[int(rows.turn[row])]):
            text += "; an atomic operation tells of what was written before it, but only if a threadfence()"
            text += " stands between, and what tells is atomic too"
        simulation.mistakes.add(
            Mistake(RACE, text, place, other, access.array.name, index, block, thread, count)
        )
