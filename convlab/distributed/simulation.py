"""Many machines that take tiles from one queue, simulated event by event.

A machine asks for a tile; the scheduler, which serves one after the other, hands it out; what the tile needs
travels over the machine's own link; it is computed; the result travels back, and the machine asks again. So
Dask works, with a queue that is served in order; it says itself that each task costs its scheduler about a
millisecond (https://distributed.dask.org/en/latest/, Motivation). Ten thousand machines are then never all
busy with tiles that take less than ten seconds.

Simulated is what decides how long that takes, and nothing else: no tile is computed. A machine has one tile
at a time, and does not fetch the next one while it computes. A tile is not handed to a second machine because
the first is slow.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from itertools import count
from math import inf
from typing import Any

import numpy as np

from convlab.distributed.network import FREE, Network
from convlab.distributed.simulated import Simulated, Timeline, check_slowness, seconds_of_tiles, simulated
from convlab.errors import ParameterError
from convlab.support.checked import Count, Limit, NotNegative, checked
from convlab.support.checks import check_choice, check_number, check_whole

ASK, FETCH, SEND, DONE, FAIL, MISSED = range(6)  # what happens at a moment
NONE = -1  # no tile


@checked
def simulate_queue(
    machines: Count,
    seconds: NotNegative | Sequence[float] | np.ndarray,
    tiles: Count | None = None,
    *,
    overhead: NotNegative = 0.0,
    network: Network = FREE,
    bytes_in: NotNegative = 0.0,
    bytes_out: NotNegative = 0.0,
    disk: Limit = inf,
    slowness: float | np.ndarray = 1.0,
    failures: Sequence[tuple[int, float]] = (),
    detection: NotNegative = 0.0,
    results: str = "held",
) -> Simulated:
    """Return what happens if machines take tiles from one queue.

    Parameters
    ----------
    machines : int
    seconds : float, or sequence or array of float, (tiles,)
        What each tile takes to compute, on a machine whose slowness is 1.
    tiles : int, optional
        How many there are, if they all take as long.
    overhead : float
        Seconds of the scheduler for each tile; it hands out one after the other.
    network : Network
        Each machine's own link. A tile waits for its latency twice: when it is handed out, and when its end
        is told.
    bytes_in, bytes_out : float
        Bytes that a tile reads before it is computed, and writes afterwards.
    disk : float
        Bytes/s of one disk that all read from and write to. It serves one after the other.
    slowness : float or array of float, (machines,)
        Factor by which a machine takes longer: `stragglers` and `lognormal` draw some.
    failures : sequence of (int, float)
        Which machine stops for ever, and when, in seconds.
    detection : float
        Seconds until that is noticed. What was lost is then handed out again, before all else.
    results : str
        "held": each machine holds its results until all are done, and they are lost with it. "written": they
        are safe once they are done; only the running tile is lost.

    Returns
    -------
    Simulated

    Raises
    ------
    ConvError
        If no machine is left, or arguments do not fit each other.

    Examples
    --------
    >>> simulate_queue(4, 1.0, tiles=10).makespan          # three rounds
    3.0
    >>> round(simulate_queue(10_000, 1.0, tiles=100_000, overhead=1e-3).makespan)   # the scheduler's time
    101
    """
    check_choice("results", results, ("held", "written"))
    times = seconds_of_tiles(seconds, tiles)
    for place, (machine, moment) in enumerate(failures):
        check_whole(f"failures[{place}][0]", machine, 0, machines - 1)
        check_number(f"failures[{place}][1]", moment, least=0)
    if len({machine for machine, _ in failures}) == machines:
        raise ParameterError("failures leaves no machine; expected at least one that does not fail")
    work = _Queue(machines, times, check_slowness(slowness, machines), disk, results == "held")
    return work.run(overhead, network, bytes_in, bytes_out, failures, detection)


class _Queue:
    """The tiles that wait, what every machine is at, and what it has done."""

    def __init__(self, machines: int, seconds, slowness, disk: float, held: bool) -> None:
        self.machines, self.seconds, self.slowness = machines, seconds.tolist(), slowness.tolist()
        self.waiting = list(range(len(seconds)))  # a heap: tiles are handed out in their order
        self.idle: deque[int] = deque()
        self.alive = [True] * machines
        self.tile = [NONE] * machines
        self.holds: list[list[int]] = [[] for _ in range(machines)] if held else []
        self.entry: dict[int, int] = {}  # of each tile: its place in the log, the last time it was begun
        self.log: list[list] = []  # machine, tile, start, stop, kept
        self.disk, self.disk_free = disk, 0.0
        self.events: list[tuple[float, int, int, Any]] = []
        self.order = count()  # of two events at one moment the one that was foreseen first is first

    def run(self, overhead, network, bytes_in, bytes_out, failures, detection) -> Simulated:
        """Let one event after the other happen, until all results are there."""
        rest, moment, scheduler_free = len(self.seconds), 0.0, 0.0
        for machine, when in failures:
            self.at(when, FAIL, machine)
        for machine in range(self.machines):
            self.at(0.0, ASK, machine)
        while rest:
            moment, _, what, who = heapq.heappop(self.events)
            if what == MISSED:
                for tile in who:
                    heapq.heappush(self.waiting, tile)
                while self.idle:
                    self.at(moment, ASK, self.idle.popleft())
            elif not self.alive[who]:
                continue
            elif what == ASK and not self.waiting:
                self.idle.append(who)
            elif what == ASK:
                self.tile[who] = heapq.heappop(self.waiting)
                scheduler_free = max(moment, scheduler_free) + overhead
                self.at(scheduler_free + network.latency, FETCH, who)
            elif what == FETCH:
                start = self.transfer(moment, bytes_in, network)
                self.at(self.compute(who, start), SEND, who)
            elif what == SEND:
                self.at(self.transfer(moment, bytes_out, network) + network.latency, DONE, who)
            elif what == DONE:
                rest -= 1
                if self.holds:
                    self.holds[who].append(self.tile[who])
                self.tile[who] = NONE
                self.at(moment, ASK, who)
            else:
                lost = self.fail(who, moment)
                rest += len(lost) - (self.tile[who] != NONE)
                if lost:
                    self.at(moment + detection, MISSED, lost)
        columns = list(zip(*(one for one in self.log if one), strict=True))
        return simulated(self.machines, moment, Timeline(*map(np.array, columns)), len(self.seconds))

    def at(self, moment: float, what: int, who: Any) -> None:
        """Note what will happen at a moment, and to whom."""
        heapq.heappush(self.events, (moment, next(self.order), what, who))

    def transfer(self, moment: float, nbytes: float, network: Network) -> float:
        """Return when bytes have passed the machine's link and the disk, through both at once."""
        linked = moment + nbytes / network.bandwidth
        if not nbytes or self.disk == inf:
            return linked
        self.disk_free = max(moment, self.disk_free) + nbytes / self.disk
        return max(linked, self.disk_free)

    def compute(self, machine: int, start: float) -> float:
        """Note that a machine computes its tile, and return when it is done."""
        tile = self.tile[machine]
        stop = start + self.seconds[tile] * self.slowness[machine]
        self.entry[tile] = len(self.log)
        self.log.append([machine, tile, start, stop, True])
        return stop

    def fail(self, machine: int, moment: float) -> list[int]:
        """Stop a machine for ever, and return the tiles that are lost with it."""
        self.alive[machine] = False
        running, lost = self.tile[machine], list(self.holds[machine]) if self.holds else []
        for tile in lost:
            self.log[self.entry[tile]][4] = False
        if running != NONE:
            lost.append(running)
            # If another machine has begun it, and lost it, and this one has not, nothing changes here.
            if begun := self.log[self.entry[running]] if running in self.entry else []:
                begun[3:] = min(begun[3], moment), False
                if begun[2] >= moment:  # it would have begun later
                    begun.clear()
        return lost
