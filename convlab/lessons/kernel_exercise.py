"""Exercises whose answer is a GPU kernel: run in the lane simulator, so that mistakes show on any machine.

Not only what comes out is held against the worked solution, but also what was asked of the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from convlab.gpu import simulator
from convlab.lessons.exercise import Task


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
    arguments: Mapping[str, Any]
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
    shapes : dict of str to str or tuple of str
        What the axes of y are, as {"return": "PQ"} or {"return": ("row", "column")}.
    carries : bool
        Whether shared memory is the point: threads must find there what others have put there.
    generous : float
        A kernel that asks for more than this many times the solution's sectors of an array is told so. There
        is more than one good way to walk over it: the bound leaves room for the others. With `inf` nothing
        is too much.
    conflicts : float
        The same for passes over shared memory, over those that a kernel's own accesses would take at best.
    method : callable, optional
        ``method(ran)`` looks at *how* a right kernel works, see `kernel_run.Ran`: what is missing, or "".
    """

    cases: Callable[[], Iterable[Launch]]
    shapes: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    carries: bool = False
    generous: float = 1.3
    conflicts: float = 2.0
    method: Callable[[Any], str] | None = None
    window: ClassVar[None] = None
