"""Who comes before whom: what a thread has waited for, as a vector clock.

A *clock* says, thread by thread, up to which moment the others are known to be done: whatever they did before
it comes before what this thread does next. A moment is a number of accesses, of all threads together, in the
order in which they ran here. Clocks are merged where threads meet:

    syncwarp           among the lanes that called it together, and no others
    syncthreads        among all threads of the block
    an atomic one      takes over what earlier ones on the same element have published: what came before a
                       `threadfence` of theirs. Without a fence nothing is published; and one whose result
                       is not looked at takes over nothing (the device sends it off and goes on)

The usual last block is right by this: every block writes its sum, fences, and counts up; the one whose count
is the last has all the others' sums before it.

A clock is a dictionary that is never changed once a thread has it. Its keys are whole numbers: a thread
(`VectorClocks.thread_key`), all of a block at once (below zero), or an element that atomic operations changed
(`ELEMENT` and its address): these come one after the other, with or without a fence.
"""

from __future__ import annotations

import numpy as np

from convlab.gpu.simulator.global_memory import FIRST

ELEMENT = 1 << 60
_THREADS = 1 << 10  # of a block, at most

DEVICE, BLOCK = "device", "block"  # how far a fence reaches


class VectorClocks:
    """The clocks of one launch.

    Attributes
    ----------
    clocks : list of dict
        Those since the last barrier. A thread's `turn` says which is its own; turn 0 has waited for nobody.
    """

    def __init__(self, simulation):
        self._simulation, self.clocks = simulation, [{}]
        self._block, self._since, self._used = 0, 0, False
        self._published: dict[tuple, dict] = {}  # (how far, address) -> what atomic operations have published

    def begin(self) -> None:
        """Begin a block."""
        self._block = self.block_number(self._simulation.block_index)
        self._since, self.clocks, self._used = self._simulation.log.now(), [{}], False
        self._published = {key: clock for key, clock in self._published.items() if key[0] == DEVICE}

    def block_number(self, index) -> int:
        """Return the number of a block in the grid."""
        x, y, _ = self._simulation.grid
        return index[0] + x * (index[1] + y * index[2])

    def thread_key(self, thread: int) -> int:
        """Return the key of a thread of the block that runs now."""
        return self._block * _THREADS + thread

    # -- where threads meet ----------------------------------------------------------------------------------

    def syncwarp(self, lanes) -> None:
        """Merge the clocks of the lanes that called it together, before any of them goes on."""
        first = self.thread_key(0)
        clock = _together([lane.clock for lane in lanes])
        clock.update(dict.fromkeys([first + lane.thread for lane in lanes], self._simulation.log.now()))
        turn, fenced = self._turn(clock), _fences_together(lanes)
        for lane in lanes:
            lane.turn, lane.clock, lane.fenced = turn, clock, fenced

    def barrier(self, lanes) -> None:
        """All threads of the block have met."""
        self._since = self._simulation.log.now()
        if not self._used:
            return
        self.clocks, self._used = [{}], False
        mine = range(self.thread_key(0), self.thread_key(_THREADS))
        clock = _together([lane.clock for lane in lanes])
        clock = {key: time for key, time in clock.items() if key not in mine}
        fenced, turn = _fences_together(lanes), 0
        if clock or fenced:
            turn = self._turn(clock)
        for lane in lanes:
            lane.turn, lane.clock, lane.fenced = turn, clock, fenced

    def fence(self, *reaches: str) -> None:
        """The thread that runs has called `threadfence`: what it did, or waited for, can be published."""
        self._used = True
        lane = self._simulation.lane
        clock = {
            **lane.clock,
            ~self._block: self._since,
            self.thread_key(lane.thread): self._simulation.log.now(),
        }
        lane.fenced = {**lane.fenced, **dict.fromkeys(reaches, clock)}

    def atomic(self, address: int, looked_at: bool) -> None:
        """The thread that runs has changed an element atomically."""
        lane = self._simulation.lane
        for reach, clock in lane.fenced.items():
            if reach == DEVICE and address < FIRST:  # of shared memory: another one for every block
                continue
            key = reach, address
            self._published[key] = _together([self._published.get(key, {}), clock])
        if looked_at:
            clocks = [self._published.get((reach, address), {}) for reach in (DEVICE, BLOCK)]
            clock = _together([lane.clock, *clocks])
            clock[ELEMENT + address] = self._simulation.log.now()
            lane.adopt(self._turn(clock), clock, lane.fenced)

    def _turn(self, clock) -> int:
        self._used = True
        self.clocks.append(clock)
        return len(self.clocks) - 1

    # -- what they say ---------------------------------------------------------------------------------------

    def within(self, thread, moment, turn) -> np.ndarray:
        """Return whether what threads of this block did, at some moments, came before some turns."""
        turns, which = np.unique(turn, return_inverse=True)
        known = np.zeros((len(turns), _THREADS), np.int64)
        for row, number in zip(known, turns.tolist(), strict=True):
            clock = self.clocks[number]
            if clock:
                keys, times = (np.fromiter(part, np.int64, len(clock)) for part in (clock, clock.values()))
                keys -= self.thread_key(0)
                mine = (keys >= 0) & (keys < _THREADS)
                row[keys[mine]] = times[mine]
        return known[which, thread] > moment

    def before(self, block: int, thread: int, moment: int, turn: int) -> bool:
        """Return whether what a thread of any block did came before a turn of this block."""
        clock = self.clocks[turn]
        return max(clock.get(~block, 0), clock.get(block * _THREADS + thread, 0)) > moment

    def atomic_before(self, address: int, moment: int, turn: int) -> bool:
        """Return whether an atomic operation on an element, by whomever, came before a turn."""
        return self.clocks[turn].get(ELEMENT + address, 0) > moment


def _together(clocks) -> dict:
    """Return a new clock that knows what any of them knows."""
    first, *others = {id(clock): clock for clock in clocks}.values()
    result = dict(first)
    for clock in others:
        if result:
            result.update((key, time) for key, time in clock.items() if time > result.get(key, 0))
        else:
            result.update(clock)
    return result


def _fences_together(lanes) -> dict:
    fences = {id(lane.fenced): lane.fenced for lane in lanes}.values()
    reaches = {reach for fenced in fences for reach in fenced}
    return {reach: _together([fenced.get(reach, {}) for fenced in fences]) for reach in reaches}
