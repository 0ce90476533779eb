"""The roofline: what a machine can do at most, drawn as lines over the work that is done for each byte.

    FLOP/s  <=  min(FLOP/s of the multiply-adds,  bytes/s of a memory × FLOPs for each byte)

Across stands the *intensity*, FLOPs for each byte; up stands the speed. A memory is a rising line: more work
for each byte means more work a second. The multiply-adds are a flat one. A kernel is a point below both
(`convlab.benchmark.roofline_points`), and the line it comes near is what holds it up.

Williams, Waterman and Patterson, 2009.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf

from convlab.benchmark.datasheets import Datasheet
from convlab.benchmark.roofline_points import Point
from convlab.support.checked import checked
from convlab.support.checks import check_names

ADDS = "multiply-adds"
LEVELS = {"L1": "l1d", "L2": "l2", "L3": "l3"}  # a level of cache, and what `Machine` calls its size
ENOUGH = 0.5  # of a roof: who comes so near is held up by it

# What holds a run up; the roofline explorer says the same.
BOUND = {
    "far": "nothing it touches: {percent} of its roof, {where}; the rest is waiting and loops",
    "near": "{where}: {percent} of that roof",
    "adds_above": "{near}; the roof was measured at another moment",
    "bytes_above": "{near}; some bytes come from nearer",
}
OPEN = "too noisy to tell: other programs disturbed this"


@dataclass(frozen=True)
class Roof:
    """One line.

    Attributes
    ----------
    name : str
        "multiply-adds", or a level of memory.
    rate : float
        Operations a second, or bytes a second, read and written.
    per_byte : bool
        Is it a memory's?
    measured : bool
        False: a datasheet promises it.
    holds : float
        Bytes that stay in this memory; infinite for the last.
    """

    name: str
    rate: float
    per_byte: bool = True
    measured: bool = True
    holds: float = inf

    def at(self, intensity: float) -> float:
        """Return the FLOPs a second that this roof allows, for so many FLOPs a byte."""
        return self.rate * intensity if self.per_byte else self.rate


@dataclass(frozen=True)
class Roofline:
    """The roofs of one machine.

    Attributes
    ----------
    machine : str
        The machine, and when or by whom its roofs were found.
    adds : Roof
        Its multiply-adds.
    memories : tuple of Roof
        From the nearest to the farthest.
    more : tuple of Roof
        Other flat roofs, to be drawn: all cores, tensor cores.
    missing : dict of str to str
        Roofs that are not known, and why.
    """

    machine: str
    adds: Roof
    memories: tuple[Roof, ...]
    more: tuple[Roof, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)

    def home(self, size: float) -> Roof:
        """Return the nearest memory that holds so many bytes."""
        return next((memory for memory in self.memories if size <= memory.holds), self.memories[-1])

    def attainable(self, intensity: float, memory: Roof | None = None) -> float:
        """Return the most FLOPs a second at an intensity, fed by a memory (without one: the farthest)."""
        return min(self.adds.rate, (memory or self.memories[-1]).at(intensity))

    def shares(self, point: Point) -> dict[str, float]:
        """Return how much of each roof a point uses: of the multiply-adds, and of the memory it lives in."""
        home = self.home(point.size)
        return {
            self.adds.name: point.done / point.seconds / self.adds.rate,
            home.name: point.moved / point.seconds / home.rate,
        }

    def reached(self, point: Point) -> float:
        """Return the largest of these shares: how near a point comes to its own ceiling."""
        return max(self.shares(point).values())

    def ceiling(self, point: Point) -> float:
        """Return what a point's algorithm could reach at most: FLOPs of the definition, a second."""
        return point.speed / self.reached(point)

    def bound(self, point: Point) -> str:
        """Say in words what holds a point up."""
        name, share = max(self.shares(point).items(), key=lambda one: one[1])
        where = in_a_sentence(name)
        percent = f"{share:.0%}"
        if getattr(share, "noisy", False):
            return OPEN
        if share < ENOUGH:
            return BOUND["far"].format(percent=percent, where=where)
        near = BOUND["near"].format(percent=percent, where=where)
        if share <= 1.005:
            return near
        return BOUND["adds_above" if name == ADDS else "bytes_above"].format(near=near)


def in_a_sentence(name: str) -> str:
    """Return a roof's name as a sentence has it: "the L2 cache", "the memory"."""
    return f"the {name} cache" if name in LEVELS else f"the {name}"


# -- whose roofs -------------------------------------------------------------------------------------------


@checked
def of_machine(roofs: Mapping, machine: Mapping, *, name: str | None = None) -> Roofline:
    """Return the roofline of one core of a processor, from its measured roofs.

    Parameters
    ----------
    roofs : mapping
        `Roofs.as_dict()`; the header of a saved measurement has it.
    machine : mapping
        `Machine.as_dict()`, likewise: a cache whose size is not known has no roof.
    name : str, optional
        By default the processor's.
    """
    check_names("roofs", roofs, ("copies", "flops", "flops_all", "threads"))
    missing = {
        level: "the size of this cache could not be read, so no copy was sure to stay in it"
        for level, fact in LEVELS.items()
        if not machine.get(fact)
    }
    missing |= dict.fromkeys(LEVELS.keys() - roofs["copies"].keys() - missing.keys(), "not measured")
    memories = tuple(
        Roof(level, speed, holds=machine[LEVELS[level]] if level in LEVELS else inf)
        for level, (_, speed) in roofs["copies"].items()
        if level not in missing
    )
    together = Roof(f"{roofs['threads']} cores together", roofs["flops_all"], per_byte=False)
    return Roofline(
        machine=name or machine.get("processor") or "this machine",
        adds=Roof(ADDS, roofs["flops"], per_byte=False),
        memories=memories,
        more=(together,) if roofs["threads"] > 1 else (),
        missing=missing,
    )


def here() -> Roofline:
    """Measure the roofs of one core of this machine; takes about two seconds."""
    from convlab.auto.roofs import Roofs
    from convlab.machine.facts import Machine

    return of_machine(Roofs.here().as_dict(), Machine.here().as_dict(), name="this machine")


@checked
def look_again(line: Roofline, points: Iterable[Point]) -> Roofline:
    """Return the roofs of this core; its multiply-adds are measured again if a kernel seems to do more.

    What seems to do more tells of a roof that was measured while another program disturbed it, or before the
    clock was up (or of taps on padding that are counted and left out); the faster look counts.
    """
    from convlab.auto.roofs import multiply_adds

    if all(point.done / point.seconds <= line.adds.rate for point in points):
        return line
    return replace(line, adds=replace(line.adds, rate=max(line.adds.rate, multiply_adds())))


def of_device(roofs: Mapping, name: str) -> Roofline:
    """Return the roofline of a GPU from its measured roofs (`convlab.benchmark.gpu.roofs`)."""
    memories = (Roof("L2", roofs["l2"], holds=roofs["l2_bytes"]), Roof("memory", roofs["copy"]))
    missing = {"tensor cores": "not measured", "shared memory": "not measured"}
    return Roofline(name, Roof(ADDS, roofs["flops"], per_byte=False), memories, missing=missing)


@checked
def of_datasheet(sheet: Datasheet) -> Roofline:
    """Return the roofline that a datasheet promises."""
    adds = {dtype: Roof(dtype, rate, False, False) for dtype, rate in sheet.flops.items()}
    first = Roof(ADDS, adds.pop("float32").rate, False, False)
    missing = {"caches": "the datasheet says nothing of their speed"}
    return Roofline(
        sheet.name, first, (Roof("memory", sheet.memory, measured=False),), tuple(adds.values()), missing
    )
