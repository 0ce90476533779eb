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
from convlab.gpu.simulator.errors import BOUNDS, NEGATIVE
from convlab.lessons.difference import same
from convlab.lessons.exercise import Mistake
from convlab.lessons.kernel_clues import clue
from convlab.lessons.kernel_exercise import KernelExercise
from convlab.lessons.kernel_run import Access, Ran, run
from convlab.lessons.kernel_waste import wasteful


@dataclass(frozen=True)
class Behaviour:
    """What a kernel did in one launch, without its names and lines.

    Attributes
    ----------
    found : tuple
        What the simulator noted, as (kind, which parameter, axes that it is beyond, how often, and the first
        time: index, block, thread).
    y : ndarray or None
        What it left, if it came to its end.
    totals : frozenset
        Sectors and passes by array.
    wasted : frozenset
        What it asks too much of.
    raised : str
        The error that ended it, if the simulator has no name for it.
    """

    found: tuple = ()
    y: np.ndarray | None = field(default=None, compare=False)
    totals: frozenset = frozenset()
    wasted: frozenset[Access] = frozenset()
    raised: str = ""


_KNOWN: dict[tuple, Behaviour] = {}
Level = Callable[[Behaviour], Hashable]


def _exactly(one: Behaviour) -> Hashable:
    return frozenset(one.found), one.raised, one.totals if not one.found else None


def _as_often(one: Behaviour) -> Hashable:
    return frozenset(f[:4] for f in one.found), one.raised, one.wasted


def _in_the_same_array(one: Behaviour) -> Hashable:
    return frozenset(f[:3] for f in one.found), one.raised, one.wasted


def _of_the_same_kind(one: Behaviour) -> Hashable:
    """Without the array: where one kernel leaves x first, another one leaves y."""
    kinds = frozenset(
        (kind, which if kind not in (BOUNDS, NEGATIVE) else None, beyond)
        for kind, which, beyond, *_ in one.found
    )
    return kinds, one.raised, one.wasted


LEVELS: tuple[Level, ...] = (_exactly, _as_often, _in_the_same_array, _of_the_same_kind)


def diagnosis(exercise: KernelExercise, runs: Sequence[Ran]) -> str:
    """Say which known mistake a kernel behaves like, or what can be told from what it did, or ""."""
    mine = [behaviour(exercise, number, ran) for number, ran in enumerate(runs)]
    left = list(exercise.mistakes)
    if len(runs) == len(list(exercise.cases())):
        for level in LEVELS:
            fits = [mistake for mistake in left if _fits(exercise, mistake, mine, level)]
            if len(fits) == 1:
                return str(fits[0])
            if fits:
                break
    return clue(exercise, runs)


def behaviour(exercise: KernelExercise, number: int, ran: Ran) -> Behaviour:
    """Return what is compared of a run of launch `number`."""
    if ran.mistakes:
        return Behaviour(found=tuple(_found(ran, m) for m in ran.mistakes))
    if ran.error is not None or ran.y is None:
        return Behaviour(raised=type(ran.error).__name__)
    totals = frozenset((key, cost.cost) for key, cost in ran.costs.items())
    wasted = frozenset(wasteful(exercise, number, ran)) if ran.right else frozenset()
    return Behaviour(y=np.where(ran.unwritten, np.nan, ran.y), totals=totals, wasted=wasted)


def _found(ran: Ran, mistake: simulator.Mistake) -> tuple:
    which = ran.parameter(mistake.array)
    array = list(ran.launch.arguments.values())[which] if which >= 0 else None
    shape = ran.launch.expected.shape if which >= 0 and array is None else np.shape(array)
    beyond = tuple(
        axis
        for axis, (i, size) in enumerate(zip(mistake.index, shape, strict=False))
        if isinstance(i, int | np.integer) and not 0 <= i < size
    )
    return mistake.kind, which, beyond, mistake.count, mistake.index, mistake.block, mistake.thread


def _fits(exercise: KernelExercise, mistake: Mistake, mine: Sequence[Behaviour], level: Level) -> bool:
    for number, one in enumerate(mine):
        its = _of_mistake(exercise, mistake, number)
        if level(one) != level(its) or not _alike(one, its):
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
