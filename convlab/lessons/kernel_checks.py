"""`check` for a kernel: run it lane by lane, look at the numbers, the mistakes and the price."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from convlab.gpu import simulator
from convlab.lessons.attempt import said_of_error
from convlab.lessons.guard import TimeUp, guarded
from convlab.lessons.kernel_exercise import Costs, KernelExercise, Launch, costs, parameter
from convlab.lessons.note import Note
from convlab.support.checks import said

SECONDS = 8.0  # for all launches together: a lane simulator is slow


@dataclass
class Ran:
    """What came of one launch."""

    kernel: Any
    launch: Launch
    y: np.ndarray | None = None
    trace: simulator.Trace | None = None
    error: BaseException | None = None

    @property
    def mistakes(self) -> tuple[simulator.Mistake, ...]:
        return self.trace.mistakes if self.trace else getattr(self.error, "mistakes", ())

    @property
    def right(self) -> bool:
        return self.y is not None and not self.mistakes and np.allclose(self.y, self.launch.expected, 1e-4, 0)

    @property
    def costs(self) -> Costs:
        return costs(self.kernel, self.trace)

    @property
    def totals(self) -> dict[tuple, int]:
        """Sectors and passes, in all."""
        return {key: sum(access["cost"] for access in accesses) for key, accesses in self.costs.items()}

    @property
    def kinds(self) -> set[tuple]:
        """What was noted, without the names and the lines, which are the learner's own."""
        return {(m.kind, parameter(self.kernel, m.array), m.index, m.block, m.thread) for m in self.mistakes}

    def behaves_like(self, other: Ran) -> bool:
        """Return whether two kernels did the same: the same mistakes, else the same numbers and costs."""
        if self.mistakes or other.mistakes:
            return self.kinds == other.kinds
        if self.error or other.error:
            return type(self.error) is type(other.error)
        if not np.allclose(self.y, other.y, 1e-4, 0, equal_nan=True):
            return False
        return not self.right or self.totals == other.totals


def check_kernel(exercise: KernelExercise, kernel: Any) -> Note:
    """Try a kernel on all launches and say how it went; see `convlab.lessons.check`."""
    if not callable(getattr(kernel, "py_func", kernel)):
        return Note(False, "Hand over the kernel itself.", f"This is {said(kernel)}.")
    runs = attempt(exercise, kernel)
    count = len(list(exercise.cases()))
    for number, ran in enumerate(runs, 1):
        where = f"Case {number} of {count}: {ran.launch}"
        if isinstance(ran.error, TimeUp):
            return Note(False, "The kernel takes too long.", f"{where}\n{said_of_error(ran.error, SECONDS)}")
        if ran.error is not None and not ran.mistakes:
            body = f"{where}\n{said_of_error(ran.error)}"
            return Note(False, "The kernel cannot be run.", body, diagnosis=_diagnosis(exercise, runs))
        if ran.mistakes:
            body = "\n".join([where, *map(str, ran.mistakes)])
            title = "The lane simulator found a mistake."
            return Note(False, title, body, diagnosis=_diagnosis(exercise, runs))
        used = ran.costs
        if number == 1 and not used:
            return Note(None, "Not started: the kernel touches no memory yet.", exercise.statement)
        if wrong := _difference(ran.launch.expected, ran.y):
            return Note(False, "Not yet.", f"{where}\n{wrong}", diagnosis=_diagnosis(exercise, runs))
        spaces = {space for space, *_ in used}
        if missing := [space for space in exercise.needs if space not in spaces]:
            body = (
                f"{where}\nThe kernel never touches {' or '.join(missing)} memory, which is the point here."
            )
            title = "Right numbers, but not in the way that was asked for."
            return Note(False, title, body, diagnosis=_diagnosis(exercise, runs))
        best = attempt(exercise, exercise.solution, only=number)[-1]
        if waste := _waste(used, best.costs, exercise.generous):
            title = "Right numbers, but at too high a price."
            return Note(False, title, f"{where}\n{waste}", diagnosis=_diagnosis(exercise, runs))
    return Note(True, f"Right, in all {count} cases, with no race and no waste.")


def attempt(exercise: KernelExercise, kernel: Any, only: int | None = None) -> list[Ran]:
    """Run a kernel on all launches, or on launch number `only`; the last is the one that failed to end."""
    runs = []
    until = time.monotonic() + SECONDS
    for number, launch in enumerate(exercise.cases(), 1):
        if only not in (None, number):
            continue
        runs.append(ran := Ran(kernel, launch))
        try:
            with guarded(until - time.monotonic()):
                ran.y, ran.trace = launch.run(kernel)
        except TimeUp as error:
            ran.error = error
            break
        except Exception as error:  # a learner's own bug: say it, do not crash
            ran.error = error
    return runs


def _diagnosis(exercise: KernelExercise, runs: Sequence[Ran]) -> str:
    """Say which known mistake a kernel behaves like, or ""."""
    for mistake in exercise.mistakes:
        wrong = exercise.wrong(mistake)
        if all(ran.behaves_like(_run(ran.launch, wrong)) for ran in runs):
            return str(mistake)
    return ""


def _run(launch: Launch, kernel: Any) -> Ran:
    try:
        return Ran(kernel, launch, *launch.run(kernel))
    except Exception as error:  # a wrong kernel may well fail
        return Ran(kernel, launch, error=error)


def _difference(expected: np.ndarray, y: np.ndarray) -> str:
    unwritten = np.isnan(y)
    if unwritten.any():
        first = tuple(int(i) for i in np.argwhere(unwritten)[0])
        return (
            f"{unwritten.sum()} of {y.size} numbers of y were not written, or computed from numbers that "
            f"were not; the first is y{list(first)}."
        )
    wrong = ~np.isclose(y, expected, rtol=1e-4, atol=0)
    if not wrong.any():
        return ""
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"{wrong.sum()} of {y.size} numbers differ; the first is y{list(first)}:\n"
        f"expected {expected[first]:g}\ngot      {y[first]:g}"
    )


def _waste(used: Costs, best: Costs, generous: float) -> str:
    """Say where a kernel asks for much more than the solution does, or nothing if it does not."""
    for (space, kind, which), accesses in used.items():
        mine = sum(access["cost"] for access in accesses)
        least = sum(access["cost"] for access in best.get((space, kind, which), ()))
        if mine > generous * least:
            worst = max(accesses, key=lambda access: access["cost"])
            unit = "sectors" if space == "global" else "passes over shared memory"
            verb = "reading" if kind == "ld" else "writing"
            each = worst["cost"] / worst["count"]
            return (
                f"{mine} {unit} for {verb}, where {least} are enough. "
                f"Look at line {worst['line']}: {worst['array']} takes {each:.3g} for each of "
                f"{worst['count']} requests."
            )
    return ""
