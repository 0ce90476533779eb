"""One try of a learner's kernel on all launches: what it left in y, what it asked for, what was wrong."""

from __future__ import annotations

import inspect
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from convlab.gpu import simulator
from convlab.gpu.simulator.global_memory import EMPTY
from convlab.lessons.difference import wrong_cells
from convlab.lessons.guard import Printed, TimeUp, guarded
from convlab.lessons.kernel_exercise import KernelExercise, Launch

SECONDS = 5.0  # for all launches together: a lane simulator is slow
SECONDS_MORE = 1.0  # for the rest, once a launch went wrong: they only tell which mistake it is

Access = tuple[str, str, int]  # space, kind, and which parameter it is (-1: an array of the kernel's own)


@dataclass(frozen=True)
class Cost:
    """What all accesses of one sort took together: sectors or passes, the least, requests, lanes."""

    cost: int = 0
    least: int = 0
    requests: int = 0
    lanes: int = 0

    def __add__(self, other: Cost) -> Cost:
        sums = zip(self.parts, other.parts, strict=True)
        return Cost(*(one + two for one, two in sums))

    @property
    def parts(self) -> tuple[int, int, int, int]:
        return self.cost, self.least, self.requests, self.lanes


@dataclass
class Ran:
    """What came of one launch.

    Attributes
    ----------
    y : ndarray or None
        What the kernel left there; None if it did not come to its end.
    trace : Trace or None
        What it asked of the memory, as far as it came.
    error : BaseException or None
        What ended it.
    printed : str
        The first lines that it printed.
    """

    kernel: Any
    launch: Launch
    y: np.ndarray | None = None
    trace: simulator.Trace | None = None
    error: BaseException | None = None
    printed: str = ""

    @property
    def mistakes(self) -> tuple[simulator.Mistake, ...]:
        """What the simulator found wrong; first what ended the run."""
        if isinstance(self.error, simulator.KernelError):
            return self.error.mistakes
        return self.trace.mistakes if self.trace is not None and self.error is None else ()

    @cached_property
    def unwritten(self) -> np.ndarray:
        """True where nobody wrote anything into y."""
        marks = self.y.marks() if isinstance(self.y, simulator.global_memory.Unwritten) else None
        if marks is None:
            return np.zeros(self.launch.expected.shape, bool)
        states = np.frombuffer(marks.tobytes(), np.uint8).reshape(*marks.shape, -1)
        return (states == EMPTY).any(axis=-1)

    @cached_property
    def wrong(self) -> np.ndarray:
        """True where y is not what it must be."""
        got = np.asarray(self.y, np.float64)
        return self.unwritten | wrong_cells(self.launch.expected, got)

    @property
    def right(self) -> bool:
        """Whether y is what it must be, and nothing else was wrong."""
        return self.y is not None and self.error is None and not self.mistakes and not self.wrong.any()

    def parameter(self, array: str) -> int:
        """Return which parameter an array is, whatever its name; -1 if it is the kernel's own."""
        names = list(inspect.signature(getattr(self.kernel, "py_func", self.kernel)).parameters)
        return names.index(array) if array in names else -1

    @cached_property
    def sites(self) -> list[simulator.Site]:
        """The places that touch global or shared memory."""
        if self.trace is None:
            return []
        return [site for site in self.trace.sites() if site.space in ("global", "shared")]

    @cached_property
    def costs(self) -> dict[Access, Cost]:
        """What was asked of each array."""
        found: dict[Access, Cost] = {}
        for site in self.sites:
            key = site.space, site.kind, self.parameter(site.array)
            found[key] = found.get(key, Cost()) + Cost(*cost_of(site), site.requests, site.lanes)
        return found


def cost_of(site: simulator.Site) -> tuple[int, int]:
    """Return what a site takes and what it would take at best: sectors, or passes over shared memory."""
    if site.space == "shared":
        return site.wavefronts, site.ideal_wavefronts
    return site.sectors, site.ideal_sectors


def address_of(site: simulator.Site, index: tuple[int, ...]) -> int:
    """Return where a number of a site's array lies, in bytes."""
    flat = 0
    for i, size in zip(index, site.shape, strict=True):
        flat = flat * size + int(i)
    return site.offset + flat * site.itemsize


def run_all(exercise: KernelExercise, kernel: Any, seconds: float = SECONDS) -> list[Ran]:
    """Run a kernel on all launches; the last is the one in which the time was up, if it was.

    Where one before went wrong, that is enough to say so: a launch for which there is no time is left out.
    """
    runs: list[Ran] = []
    until = time.monotonic() + seconds
    for launch in exercise.cases():
        ran = run(launch, kernel, max(until - time.monotonic(), 0.01))
        late = isinstance(ran.error, TimeUp)
        if not late or all(earlier.right for earlier in runs):
            runs.append(ran)
        if late:
            break
        if not ran.right:
            until = min(until, time.monotonic() + SECONDS_MORE)
    return runs


def run(launch: Launch, kernel: Any, seconds: float = SECONDS) -> Ran:
    """Run a kernel on one launch; whatever it raises is kept."""
    ran, printed = Ran(kernel, launch), Printed()
    try:
        with guarded(seconds) as printed:
            ran.y, ran.trace = launch.run(kernel)
    except KeyboardInterrupt:  # nobody's bug: who waits for it has stopped it
        raise
    except BaseException as error:  # a learner's own bug: say it, do not crash
        ran.error, ran.trace = error, getattr(error, "trace", None)
    ran.printed = str(printed)
    return ran


def carried(ran: Ran) -> bool:
    """Return whether a thread read in shared memory what another one had put there."""
    assert ran.trace is not None
    writers: dict[tuple, set] = {}
    reads = []
    for site in (site for site in ran.sites if site.space == "shared"):
        for request in ran.trace.requests(site):
            for lane, address in zip(request.lanes.tolist(), request.addresses.tolist(), strict=True):
                at, who = (request.block, address), (request.warp, lane)
                if site.kind == "ld":
                    reads.append((at, who))
                else:
                    writers.setdefault(at, set()).add(who)
    return any(who not in writers.get(at, {who}) for at, who in reads)
