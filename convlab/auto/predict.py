"""How long will it take? The model: a phase takes as long as its slower half, then comes what is begun.

    seconds of a phase = max(flops / peak, sum over streams of bytes / speed of the memory they come from)
                         + sum over what is begun of (how often * seconds of each)
    seconds of a run   = seconds of a call + sum over its phases
    and if all is done for a single run, the weights are packed before it: phases as well

The speeds are roofs and overheads that were measured on a machine; nothing is fitted to the times of
convolutions. What an algorithm's phases are stands in its own file. The idea of the slower half is the
roofline's (Williams, Waterman & Patterson 2009), phase by phase.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from convlab.algorithms import ALGORITHMS
from convlab.algorithms.form import Form
from convlab.algorithms.spec import Algorithm
from convlab.cost.phases import OVERHEADS, Phase, Stream
from convlab.errors import UnsupportedError
from convlab.problem import ConvProblem
from convlab.support.checked import Threads, checked
from convlab.support.checks import check_choice

_MOST = 1e18  # a second: no machine computes or copies more
_LONGEST = 1e9  # seconds, of anything that was measured
_MOST_THREADS = 1 << 20


@dataclass(frozen=True)
class Speeds:
    """What a machine was measured to do, as the model needs it.

    Attributes
    ----------
    flops, flops_all : float
        Multiply-adds: floating-point operations a second, of one core and of `threads` together.
    threads : int
    memory : tuple of (float, float)
        For each level of memory, the nearest first: the bytes it holds, and the bytes a second it moves.
    overheads : dict of str to float
        Seconds of a call, and of what is begun.
    model : str or None
        Whose speeds these are, in words, if not this machine's own.
    """

    flops: float
    flops_all: float
    threads: int
    memory: tuple[tuple[float, float], ...]
    overheads: dict[str, float]
    model: str | None = field(default=None, compare=False)

    @classmethod
    def of(cls, roofs: dict, overheads: dict, model: str | None = None) -> Speeds:
        """Return the speeds of a machine whose roofs and overheads were measured, as they are saved."""
        # The arrays that were copied are a quarter of their cache, see `roofs.copy_sizes`.
        levels = [(4 * size, speed) for size, speed in roofs["copies"].values()]
        levels[-1] = float("inf"), levels[-1][1]  # the last one is the memory, which holds all
        overheads = overheads | {"step": overheads.get("step", 0.0)}  # earlier versions did not measure it
        return cls(roofs["flops"], roofs["flops_all"], roofs["threads"], tuple(levels), overheads, model)

    def checked(self) -> Speeds:
        """Return the speeds, or say that no machine has them.

        Raises
        ------
        KeyError, TypeError, ValueError
            If one is missing, is no number, or one that is out of all bounds.
        """
        rates = [self.flops, self.flops_all, *(speed for _, speed in self.memory)]
        if not all(1.0 <= rate <= _MOST for rate in rates):
            raise ValueError("a speed is none that a machine has")
        if not all(0 <= self.overheads[name] <= _LONGEST for name in OVERHEADS):
            raise ValueError("an overhead is none that a machine has")
        if not all(room > 0 for room, _ in self.memory):
            raise ValueError("a cache holds nothing")
        if not isinstance(self.threads, int) or not 1 <= self.threads <= _MOST_THREADS:
            raise ValueError("threads is no count")
        return self

    def moves(self, stream: Stream, problem: ConvProblem, threads: int) -> float:
        """Return the seconds in which a stream flows past."""
        size, holds = stream.size.quick(problem, threads), stream.holds.quick(problem, threads)
        speed = next(speed for room, speed in self.memory if holds <= room)
        return size / speed


@dataclass(frozen=True)
class Part:
    """The prediction of one phase: its name, its seconds, and what they are spent on."""

    name: str
    seconds: float
    computing: float
    moving: float
    beginning: float

    @property
    def bound(self) -> str:
        """What most of the time goes to: "computing", "moving" or "beginning"."""
        if self.beginning > max(self.computing, self.moving):
            return "beginning"
        return "computing" if self.computing >= self.moving else "moving"


@dataclass(frozen=True)
class Prediction:
    """The predicted seconds, in all and phase by phase."""

    seconds: float
    parts: tuple[Part, ...]


def predictable(algorithm: Algorithm) -> bool:
    """Say if an algorithm has a form for backend "cpu" that tells what a run consists of."""
    return "cpu" in algorithm.forms and algorithm.forms["cpu"].phases is not None


@checked
def predict(
    problem: ConvProblem,
    algorithm: str | Algorithm,
    speeds: Speeds,
    threads: Threads = 1,
    *,
    include_packing: bool = False,
) -> Prediction:
    """Predict a run of an algorithm on backend "cpu"; with the packing, also what a plan does before it."""
    algorithm = modelled(problem, algorithm, "cpu", predictable)
    return predict_served(problem, algorithm, speeds, threads, include_packing)


def modelled(
    problem: ConvProblem, algorithm: str | Algorithm, backend: str, is_known: Callable[[Algorithm], bool]
) -> Algorithm:
    """Return an algorithm whose time on a backend can be predicted.

    Raises
    ------
    UnsupportedError
        If it does not serve the problem, or its form does not say what it does: `is_known` denies it.
    """
    if not isinstance(algorithm, Algorithm):
        algorithm = ALGORITHMS[check_choice("algorithm", algorithm, ALGORITHMS)]
    if not is_known(algorithm):
        raise UnsupportedError(
            f"algorithm={algorithm.name!r} has no form for backend={backend!r} that says what it does"
        )
    if reason := algorithm.refuses(problem):
        raise UnsupportedError(f"algorithm={algorithm.name!r} cannot serve this: {reason}")
    return algorithm


def predict_served(
    problem: ConvProblem, algorithm: Algorithm, speeds: Speeds, threads: int, include_packing: bool
) -> Prediction:
    """Return the same for an algorithm that is known to serve the problem."""
    phases = phases_of(algorithm.forms["cpu"], include_packing)
    parts = tuple(_part(one, problem, speeds, threads) for one in phases)
    return Prediction(speeds.overheads["call"] + sum(part.seconds for part in parts), parts)


def seconds_of(phases: Iterable[Phase], problem: ConvProblem, speeds: Speeds, threads: int) -> float:
    """Return the predicted seconds of some phases, in the letters of a problem; no call is part of them."""
    return sum(_part(one, problem, speeds, threads).seconds for one in phases)


@lru_cache
def phases_of(form: Form, include_packing: bool) -> tuple[Phase, ...]:
    """Return a form's phases; reading their formulas takes longer than working them out."""
    return (*form.setup(), *form.phases()) if include_packing else form.phases()


def _part(one: Phase, problem: ConvProblem, speeds: Speeds, threads: int) -> Part:
    threads = min(threads, speeds.threads) if one.shared else 1
    flops = speeds.flops if threads == 1 else speeds.flops_all * threads / speeds.threads
    computing = one.flops.quick(problem, threads) / flops
    moving = sum(speeds.moves(stream, problem, threads) for stream in one.streams) / threads
    begun = {
        name: count.quick(problem, threads) * speeds.overheads[name] for name, count in one.begins.items()
    }
    beginning = sum(begun.values()) / threads
    return Part(one.name, max(computing, moving) + beginning, computing, moving, beginning)
