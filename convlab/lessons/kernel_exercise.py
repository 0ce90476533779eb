"""Exercises whose answer is a GPU kernel: run in the lane simulator, so that mistakes show on any machine.

Not only what comes out is held against the worked solution, but also what was asked of the memory.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from convlab.gpu import simulator
from convlab.inspect.trace_view import trace_as_dict
from convlab.lessons.exercise import Task

# The accesses of a trace by space, kind, and which parameter it was (-1: an array of the kernel's own).
Costs = dict[tuple[str, str, int], list[dict[str, Any]]]


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

    def run(self, kernel: Any) -> tuple[np.ndarray, simulator.Trace]:
        """Run a kernel lane by lane; return y and the trace, in which mistakes are noted."""
        copied: dict[str, Any] = {
            n: a.copy() if isinstance(a, np.ndarray) else a for n, a in self.arguments.items()
        }
        copied["y"] = simulator.poisoned(self.expected.shape, self.expected.dtype)
        trace = simulator.run(kernel, self.grid, self.block, *copied.values())
        return copied["y"], trace

    def __str__(self) -> str:
        shapes = ", ".join(
            f"{name} {a.shape}" if isinstance(a, np.ndarray) else f"{name}={a}"
            for name, a in {**self.arguments, "y": self.expected}.items()
        )
        return f"{shapes}; grid {self.grid}, block {self.block}"


@dataclass(frozen=True, kw_only=True)
class KernelExercise(Task):
    """An exercise whose answer is a kernel.

    Attributes
    ----------
    cases : callable
        Returns the launches to try, the smallest first.
    needs : tuple of str
        Kinds of memory that the kernel must make use of, because they are the point: "shared", "local".
    generous : float
        A kernel that asks for more than this many times the solution's sectors of an array, or passes over
        shared memory, is told so.
        There is more than one good way to stage a tile: the bound leaves room for the others.
    """

    cases: Callable[[], Iterable[Launch]]
    needs: tuple[str, ...] = ()
    generous: float = 1.3


def parameter(kernel: Any, array: str) -> int:
    """Return which parameter of a kernel an array is; -1 if it is one of its own. Names are the learner's."""
    names = list(inspect.signature(getattr(kernel, "py_func", kernel)).parameters)
    return names.index(array) if array in names else -1


def costs(kernel: Any, trace: simulator.Trace) -> Costs:
    """Return the accesses of a trace."""
    found: Costs = {}
    for access in trace_as_dict("", trace)["accesses"]:
        key = access["space"], access["kind"], parameter(kernel, access["array"])
        found.setdefault(key, []).append(access)
    return found
