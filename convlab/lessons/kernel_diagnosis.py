"""Which mistake a kernel behaves like: matched by what it did, strictly first, then more loosely.

A learner names arrays otherwise, numbers blocks otherwise, stages in another order. So a kernel is compared
by which parameter an access went astray in, never by names and lines; and where no known mistake did just the
same, by less and less of it. Where two fit equally well, none is named: a wrong name is worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from convlab.gpu import simulator
from convlab.gpu.simulator.errors import BARRIER, BOUNDS, NEGATIVE, RACE
from convlab.lessons.difference import same
from convlab.lessons.exercise import Mistake
from convlab.lessons.guard import TimeUp
from convlab.lessons.kernel_clues import clue
from convlab.lessons.kernel_exercise import KernelExercise
from convlab.lessons.kernel_run import Access, Ran, carried, run
from convlab.lessons.kernel_waste import manner, wasteful


@dataclass(frozen=True)
class Found:
    """One thing that the simulator noted: what, in which parameter, beyond which axes of it, how often."""

    kind: str
    which: int
    beyond: tuple[int, ...]
    count: int
    first: tuple = ()  # index, block and thread


@dataclass(frozen=True)
class Behaviour:
    """What a kernel did in one launch, without its names and lines.

    Attributes
    ----------
    found : frozenset of Found
        What the simulator noted.
    raised : str
        The error that ended it, if the simulator has no name for it.
    y : ndarray or None
        What it left, if it came to its end.
    totals : frozenset
        Sectors and passes by array.
    wasted : frozenset
        Where the numbers are right, what it asks too much of, and in which manner.
    way : tuple
        Where the numbers are right: whether it has shared memory, whether threads met there, and whether the
        exercise's `method` misses something.
    """

    found: frozenset[Found] = frozenset()
    raised: str = ""
    y: np.ndarray | None = field(default=None, compare=False)
    totals: frozenset = frozenset()
    wasted: frozenset[tuple[Access, tuple[str, int]]] = frozenset()
    way: tuple = ()


_KNOWN: dict[tuple, Behaviour] = {}
Level = Callable[[Behaviour], Hashable]


def _exactly(one: Behaviour) -> Hashable:
    return one.found, one.totals


def _as_often(one: Behaviour) -> Hashable:
    return frozenset((f.kind, f.which, f.beyond, f.count) for f in one.found)


def _in_the_same_array(one: Behaviour) -> Hashable:
    """However often: a kernel may have more threads at it. But blocks that meet in y meet in many ways."""
    return frozenset(
        (f.kind, f.which, f.beyond, f.count if f.kind == RACE and f.which >= 0 else None) for f in one.found
    )


def _of_the_same_kind(one: Behaviour) -> Hashable:
    """Out of whichever array, but by the same thread: where one kernel leaves x first, another leaves y."""
    return frozenset(
        (
            f.kind,
            None if f.kind in (BOUNDS, NEGATIVE) else f.which,
            f.beyond,
            f.count if f.kind == RACE else f.first[1:] if f.kind in (BOUNDS, NEGATIVE) else None,
        )
        for f in one.found
    )


LEVELS: tuple[Level, ...] = (_exactly, _as_often, _in_the_same_array, _of_the_same_kind)


def diagnosis(exercise: KernelExercise, runs: Sequence[Ran]) -> str:
    """Say which known mistake a kernel behaves like, or what can be told from what it did, or ""."""
    # A kernel that takes too long is not known to the end; one that went wrong before is, as far as it came.
    if runs and not isinstance(runs[-1].error, TimeUp):
        mine = [behaviour(exercise, number, ran) for number, ran in enumerate(runs)]
        for level in LEVELS:
            fits = [mistake for mistake in exercise.mistakes if _fits(exercise, mistake, mine, level)]
            if len(fits) == 1:
                return str(fits[0])
            if fits:
                break
    return clue(exercise, runs)


def behaviour(exercise: KernelExercise, number: int, ran: Ran) -> Behaviour:
    """Return what is compared of a run of launch `number`."""
    if ran.mistakes:
        return Behaviour(found=frozenset(_found(ran, m) for m in ran.mistakes))
    if ran.error is not None or ran.y is None:
        return Behaviour(raised=type(ran.error).__name__)
    y = np.where(ran.unwritten, np.nan, ran.y)
    totals = frozenset((key, cost.cost) for key, cost in ran.costs.items())
    if not ran.right:
        return Behaviour(y=y, totals=totals)
    wasted = frozenset((key, manner(ran, key)) for key in wasteful(exercise, number, ran))
    shares = any(site.space == "shared" for site in ran.sites)
    way = shares, carried(ran), bool(exercise.method and exercise.method(ran))
    return Behaviour(y=y, totals=totals, wasted=wasted, way=way)


def _found(ran: Ran, mistake: simulator.Mistake) -> Found:
    which = ran.parameter(mistake.array)
    given = list({**ran.launch.arguments, "y": ran.launch.expected}.values())
    shape = np.shape(given[which]) if which >= 0 else ()
    beyond = tuple(
        axis
        for axis, (i, size) in enumerate(zip(mistake.index, shape, strict=False))
        if isinstance(i, int | np.integer) and not 0 <= i < size
    )
    first = tuple(mistake.index), tuple(mistake.block), tuple(mistake.thread)
    # At two barriers, or at one while others are gone: these are two things.
    apart = mistake.kind == BARRIER and mistake.other is not None
    kind = f"{mistake.kind}, at two places" if apart else mistake.kind
    return Found(kind, which, beyond, mistake.count, first)


def _fits(exercise: KernelExercise, mistake: Mistake, mine: Sequence[Behaviour], level: Level) -> bool:
    """Return whether a mistake does the same in all launches; the price counts where numbers are right."""
    priced = all(one.way for one in mine)
    for number, one in enumerate(mine):
        its = _of_mistake(exercise, mistake, number)
        if level(one) != level(its) or one.raised != its.raised or not _alike(one, its):
            return False
        if priced and (one.wasted, one.way) != (its.wasted, its.way):
            return False
    return True


def _of_mistake(exercise: KernelExercise, mistake: Mistake, number: int) -> Behaviour:
    """Return what a known mistake does in launch `number`; worked out once."""
    key = exercise.solution, mistake.name, number
    if key not in _KNOWN:
        launch = list(exercise.cases())[number]
        _KNOWN[key] = behaviour(exercise, number, run(launch, exercise.wrong(mistake)))
    return _KNOWN[key]


def _alike(one: Behaviour, other: Behaviour) -> bool:
    """Return whether two kernels left the same in y."""
    if one.y is None or other.y is None:
        return one.y is other.y
    return same(one.y, other.y)
