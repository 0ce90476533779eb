"""cp.async: a thread begins a copy, and it arrives when it waits for it; until then it is in flight.

What a copy reads must stay as it is until it has arrived, and nobody else may write where it goes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convlab.gpu.simulator import errors
from convlab.gpu.simulator.access_log import AccessRows
from convlab.gpu.simulator.errors import Mistake, element
from convlab.gpu.simulator.global_memory import COPYING
from convlab.gpu.simulator.races_within_block import describe_access

BYTES = 16
_NEVER = 1 << 40  # moments; no launch has as many


@dataclass
class AsyncCopy:
    """A copy: from where (None: zeros), to where, whose, and when.

    `begun` and `arrived` are moments, as in `VectorClocks`.
    """

    array: object
    source: int | None
    shared: object
    k: int
    values: tuple
    thread: int
    path: int
    instruction: int
    begun: int
    arrived: int = _NEVER


class AsyncCopies:
    """The copies of the block that runs now."""

    def __init__(self, simulation):
        self._simulation, self._flying = simulation, []

    def begin_block(self) -> None:
        """Forget the copies of other blocks."""
        self._flying = []

    def begin(self, shared, to, array, index, wanted, instruction: int) -> AsyncCopy:
        """Begin a copy: read now, written when the thread has waited for it."""
        simulation, count, source = self._simulation, BYTES // shared.itemsize, None
        if wanted:
            values = array.load(index, count, instruction)
            source = array.base + array.locate(index) * array.itemsize
        else:
            values = (0,) * count
        k = shared.run(to, count, instruction, "st")
        shared.mark(k, count, COPYING)
        path, now = simulation.path.number, simulation.log.now()
        copy = AsyncCopy(array, source, shared, k, values, simulation.lane.thread, path, instruction, now)
        self._flying.append(copy)
        return copy

    def arrive(self, copy: AsyncCopy) -> None:
        """Write what was copied. Its ends were in use until now: that is noted where the copy was begun."""
        log, shared = self._simulation.log, copy.shared
        if copy.source is not None:
            access = log.access("fetched", copy.array.whole, BYTES)
            log.numbers.extend((copy.path, copy.instruction, access, copy.source))
        access = log.access("landed", shared.whole, BYTES)
        log.numbers.extend((copy.path, copy.instruction, access, shared.base + copy.k * shared.itemsize))
        for i, value in enumerate(copy.values):
            shared.put(copy.k + i, value)
        copy.arrived = log.now()

    def check(self, rows: AccessRows) -> None:
        """Note which accesses between two barriers wrote to an end of a copy in flight."""
        if not self._flying or not len(rows):
            return
        ends = [(copy.source, copy) for copy in self._flying if copy.source is not None]
        ends += [(copy.shared.base + copy.k * copy.shared.itemsize, copy) for copy in self._flying]
        ends.sort(key=lambda end: (end[0], end[1].begun))
        self._flying = [copy for copy in self._flying if copy.arrived == _NEVER]
        kinds = [access.kind in ("st", "atomic") for access in self._simulation.log.accesses]
        place = np.array([address // BYTES for address, _ in ends])
        written = np.flatnonzero(np.array(kinds)[rows.access] & np.isin(rows.address // BYTES, place))
        # In one long row, place by place: the last copy that begun before a write, and the latest to arrive.
        _, number = np.unique(np.append(place, rows.address[written] // BYTES), return_inverse=True)
        far, near = number[: len(ends)] * 2 * _NEVER, number[len(ends) :] * 2 * _NEVER
        begun = far + np.array([copy.begun for _, copy in ends])
        arrived = np.maximum.accumulate(far + np.array([copy.arrived for _, copy in ends]))
        last = np.searchsorted(begun, near + rows.moment[written], side="right") - 1
        hit = (last >= 0) & (arrived[last] > near + rows.moment[written])
        for row, end in zip(written[hit].tolist(), last[hit].tolist(), strict=True):
            moment = rows.moment[row]
            while not ends[end][1].begun <= moment < ends[end][1].arrived:
                end -= 1
            self._note(rows, row, *ends[end])

    def _note(self, rows, row, address, copy):
        simulation = self._simulation
        thread, index, did, place = describe_access(simulation, rows, row)
        array = simulation.log.accesses[rows.access[row]].array
        text = f"{element(array.name, index)} is {did} by thread {thread} of block {simulation.block_index}"
        if address == copy.source:
            text += " while cp.async still copies from it"
        else:
            text += " while cp.async still copies to it"
        text += f", for thread {simulation.thread_index(copy.thread)}: wait for the copy first"
        begun = simulation.place(simulation.paths[copy.path], copy.instruction)
        who = simulation.block_index, thread
        simulation.mistakes.add(Mistake(errors.IN_FLIGHT, text, place, begun, array.name, index, *who))
