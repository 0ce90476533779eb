"""A block: its threads, each a greenlet that runs until it has to wait for others.

Threads of a warp run one after the other, in order, each as far as it gets; one that goes round and round in
a ``while`` lets the others have a turn now and then, for it may wait for what they do. When none of the warp
can go on without the others, lanes that wait for each other exchange what they brought and go on; when no
thread of the block can, all have reached the barrier, or one of them never will.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

from greenlet import getcurrent, greenlet

from convlab.gpu.occupancy import WARP
from convlab.gpu.simulator import errors
from convlab.gpu.simulator.access_log import AccessRows
from convlab.gpu.simulator.errors import Mistake

_NOTHING = MappingProxyType({})


class Lane:
    """One thread.

    Attributes
    ----------
    thread : int
        Its number in the block, x fastest.
    number : int
        Its number in the warp.
    turn, clock : int, dict
        What comes before what it does next, and the number of that: see `vector_clocks`.
    fenced : dict
        How far a `threadfence` of its reaches -> what came before that.
    waits : tuple or None
        (what, spot, mask, value) while it waits for "block" or "warp"; and, of a warp, if that puts in order.
    """

    # What few threads need is here until then: there are many of them.
    turn, clock, fenced = 0, _NOTHING, _NOTHING
    mark = waited = 0  # of a `while` that goes round and round: see `Simulation.next_round`
    wraps, suspect = _NOTHING, (None, None)  # see `WraparoundChecks`

    def __init__(self, simulation, thread, hub):
        self.simulation, self.hub, self.thread, self.number = simulation, hub, thread, thread % WARP
        self.index = simulation.thread_index(thread)
        self.waits = self.got = None
        self.path = simulation.paths[0]
        self.copies = [[]]  # groups of cp.async not waited for; the last one is still open
        self.greenlet = greenlet(simulation.function, hub)
        self.greenlet.gr_context = simulation.context
        self._arguments = simulation.arguments

    def go(self) -> None:
        """Run until it waits or returns."""
        simulation = self.simulation
        simulation.lane, simulation.path = self, self.path
        simulation.log.begin(self.thread, self.turn)
        arguments, self._arguments = self._arguments, ()
        try:
            self.greenlet.switch(*arguments)
        except Exception as error:
            error.add_note(f"in thread {self.index} of block {simulation.block_index}")
            raise

    def end(self) -> None:
        """Let it end where it waits, if it began and has not returned."""
        if self.greenlet:
            self.greenlet.throw()

    def adopt(self, turn: int, clock: dict, fenced: dict) -> None:
        """Know more than before of what others have done."""
        self.turn, self.clock, self.fenced = turn, clock, fenced
        self.simulation.log.begin(self.thread, turn)

    @property
    def done(self) -> bool:
        """Whether it has returned."""
        return self.greenlet.dead

    def wait_for_block(self, value, spot) -> list:
        """Wait for the block's barrier; return the value of every thread."""
        return self._wait(("block", spot, None, value))

    def wait_for_warp(self, mask, value, spot, ordered) -> dict:
        """Wait for lanes of the warp; return the value of each."""
        return self._wait(("warp", spot, mask, value, ordered))

    def _wait(self, waits):
        self.waits, self.path = waits, self.simulation.path
        self.hub.switch()
        return self.got

    def pause(self) -> None:
        """Let others have a turn."""
        self.path = self.simulation.path
        self.hub.switch()

    def release(self, got) -> None:
        """Let it go on."""
        self.waits, self.got = None, got


class Exchange(dict):
    """The value of each lane, by its number."""

    def once(self, compute):
        """Return what `compute` returns: it is called for the first of the lanes, the others share it."""
        if not hasattr(self, "_result"):
            self._result = compute()
        return self._result


class ThreadBlock:
    """All threads of one block."""

    def __init__(self, simulation):
        self.simulation = simulation
        x, y, z = simulation.block
        hub = getcurrent()
        self.lanes = [Lane(simulation, thread, hub) for thread in range(x * y * z)]
        self.warps = [self.lanes[start : start + WARP] for start in range(0, len(self.lanes), WARP)]

    def run(self) -> Iterator[AccessRows]:
        """Run it to the end; give the accesses before each barrier, and after the last."""
        try:
            yield from self._run()
        finally:
            # After a mistake the others still wait. Whoever clears them away later, in the midst of anything,
            # has to end them first, and greenlet cannot do that in every Python.
            for lane in self.lanes:
                lane.end()

    def _run(self):
        while True:
            while any([self._run_warp(warp) for warp in self.warps]):  # each of them, every time
                pass
            yield self.simulation.log.take()
            waiting = [lane for lane in self.lanes if lane.waits]
            if not waiting:
                return
            self._barrier(waiting)

    def _run_warp(self, warp) -> bool:
        """Let its lanes go on until all have returned or wait for the block, or spin: that is returned."""
        while True:
            for lane in warp:
                if not lane.waits and not lane.done:
                    lane.go()
            meeting = [lane for lane in warp if lane.waits and lane.waits[0] == "warp"]
            if meeting and self._exchange(warp, meeting):
                continue
            if any(not lane.waits and not lane.done for lane in warp):
                return True
            if not meeting:
                return False
            self._stuck(warp, meeting)

    def _exchange(self, warp, meeting) -> bool:
        """Let lanes go on that wait at one spot and are all there; return whether there were any."""
        spots = {}
        for lane in meeting:
            spots.setdefault(lane.waits[1:3], []).append(lane)  # the spot and the mask
        here = sum(1 << lane.number for lane in warp if not lane.done)
        ready = [
            lanes
            for (_, mask), lanes in spots.items()
            if mask is not None and {lane.number for lane in lanes} == _lanes(int(mask) & here)
        ]
        # Without a mask the ones that are there count, once no other can come.
        ready = ready or [lanes for (_, mask), lanes in spots.items() if mask is None]
        for lanes in ready:
            if lanes[0].waits[4]:
                self.simulation.order.syncwarp(lanes)
            values = Exchange({lane.number: lane.waits[3] for lane in lanes})
            for lane in lanes:
                lane.release(values)
        return bool(ready)

    def _stuck(self, warp, meeting):
        lane = next((lane for lane in meeting if not _names(lane.waits[2], lane)), meeting[0])
        _, (path, instruction), mask, *_ = lane.waits
        missing = sorted(
            _lanes(int(mask) & sum(1 << other.number for other in warp if not other.done))
            - {other.number for other in meeting if other.waits[1:3] == lane.waits[1:3]}
        )
        if _names(mask, lane):
            text = (
                f"lane {lane.number} waits here for lanes {_ranges(missing)} of its warp, named in its mask"
            )
            text += f" {int(mask):#x}, which never get here"
        else:
            text = f"lane {lane.number} calls this with a mask, {int(mask):#x}, that does not name itself"
        self.simulation.lane = lane
        self.simulation.stop(errors.DIVERGENT_WARP, text, place=self.simulation.place(path, 2 * instruction))

    def _barrier(self, waiting) -> None:
        """Let all threads go on that wait for the block; say so if not all do, or not in one place."""
        first = waiting[0]
        gone = next((lane for lane in self.lanes if lane.done), None)
        if gone is not None:
            some, count = sum(lane.done for lane in self.lanes), len(self.lanes)
            text = f"{some} of {count} threads have already returned, thread {gone.index} among them"
            self._diverged(first, None, text + ", when the others wait here: the barrier is for all")
        other = next((lane for lane in waiting if lane.waits[1] != first.waits[1]), None)
        if other is not None:
            text = f"thread {first.index} waits at one barrier, thread {other.index} at another"
            if self._place(first) == self._place(other):
                text = f"thread {first.index} waits here in one iteration of a loop, thread {other.index}"
                text += " in another"
            self._diverged(first, other, text)
        self.simulation.order.barrier(waiting)
        values = [lane.waits[3] for lane in waiting]
        for lane in waiting:
            lane.release(values)

    def _diverged(self, lane, other, text):
        block = self.simulation.block_index
        place, elsewhere = self._place(lane), other and self._place(other)
        mistake = Mistake(
            errors.BARRIER, f"{text} (block {block})", place, elsewhere, block=block, thread=lane.index
        )
        self.simulation.mistakes.add(mistake)

    def _place(self, lane):
        path, instruction = lane.waits[1]
        return self.simulation.place(path, 2 * instruction)


def _names(mask, lane) -> bool:
    return mask is None or bool(int(mask) >> lane.number & 1)


def _lanes(mask: int) -> set[int]:
    return {lane for lane in range(WARP) if mask >> lane & 1}


def _ranges(numbers) -> str:
    text = ", ".join(map(str, numbers[:4]))
    return text + (" ..." if len(numbers) > 4 else "")
