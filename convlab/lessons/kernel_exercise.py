"""Exercises whose answer is a GPU kernel: run in the lane simulator, so that mistakes show on any machine.

Not only what comes out is held against the library's own kernel, but also what was asked of the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from convlab.gpu.simulator import Trace

Costs = dict[tuple[str, str], list[dict[str, Any]]]  # the accesses of a trace, by space and kind

# A kernel that asks for more than this many times what the library's asks for is told so.
_GENEROUS = 1.3


@dataclass(frozen=True)
class Launch:
    """One case: how a kernel is launched, on what, and what it must leave in `y`.

    Attributes
    ----------
    grid, block : tuple of int
    arguments : dict of str to array or int
        In the order of the kernel's parameters; one of them is "y", whose content does not count.
    expected : ndarray
        What y must hold afterwards.
    """

    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: Mapping[str, object]
    expected: np.ndarray

    def run(self, kernel: Any) -> tuple[np.ndarray, Trace]:
        """Run a kernel lane by lane; return y and the trace."""
        from convlab.gpu import simulator

        copied: dict[str, Any] = {
            n: a.copy() if isinstance(a, np.ndarray) else a for n, a in self.arguments.items()
        }
        copied["y"] = simulator.poisoned(self.expected.shape, self.expected.dtype)
        trace = simulator.run(kernel, self.grid, self.block, *copied.values())
        trace.check()
        return copied["y"], trace

    def __str__(self) -> str:
        shapes = ", ".join(
            f"{name} {a.shape}" if isinstance(a, np.ndarray) else f"{name}={a}"
            for name, a in {**self.arguments, "y": self.expected}.items()
        )
        return f"{shapes}; grid {self.grid}, block {self.block}"


@dataclass(frozen=True)
class KernelExercise:
    """One exercise whose answer is a kernel.

    Attributes
    ----------
    statement : str
        What is asked, in one sentence.
    cases : callable
        Returns the launches to try, the smallest first.
    solution : str
        Name of the library's own answer in `convlab.lessons.kernel_answers`.
    """

    statement: str
    cases: Callable[[], Iterable[Launch]]
    solution: str

    @property
    def answer(self) -> Any:
        """The library's own kernel; it needs Numba, so it is imported no earlier."""
        from convlab.lessons import kernel_answers

        return getattr(kernel_answers, self.solution)


def verdict(exercise: KernelExercise, kernel: Any) -> tuple[bool | None, str, str]:
    """Try a kernel on all cases; return whether it is right, the headline, and what there is to say."""
    launches = list(exercise.cases())
    for number, launch in enumerate(launches, 1):
        where = f"Case {number} of {len(launches)}: {launch}"
        try:
            y, trace = launch.run(kernel)
        except Exception as error:  # a learner's own bug: say it, do not crash
            return False, "The lane simulator found a mistake.", f"{where}\n{_said(error)}"
        used = _costs(trace)
        if number == 1 and not used:
            return None, "Not started: the kernel touches no memory yet.", exercise.statement
        if wrong := _difference(launch.expected, y):
            return False, "Not yet.", f"{where}\n{wrong}"
        if waste := _waste(used, _costs(launch.run(exercise.answer)[1])):
            return False, "Right numbers, but at too high a price.", f"{where}\n{waste}"
    return True, f"Right, in all {len(launches)} cases, with no race and no waste.", ""


def _said(error: Exception) -> str:
    kind = "" if type(error).__name__ == "KernelError" else f"{type(error).__name__}: "
    return f"{kind}{error}"


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


def _costs(trace: Trace) -> Costs:
    """Return the accesses of a trace, by space and kind."""
    from convlab.inspect.trace_view import trace_as_dict

    found: Costs = {}
    for access in trace_as_dict("", trace)["accesses"]:
        found.setdefault((access["space"], access["kind"]), []).append(access)
    return found


def _waste(used: Costs, best: Costs) -> str:
    """Say where a kernel asks for much more than the library's does, or nothing if it does not."""
    for (space, kind), accesses in used.items():
        mine = sum(access["cost"] for access in accesses)
        least = sum(access["cost"] for access in best.get((space, kind), ()))
        if mine > _GENEROUS * least:
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
