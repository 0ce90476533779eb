"""What an algorithm for a gradient is: a name, what it refuses, and for each backend a form that runs it.

It is the forward `Algorithm` with one array more. A form says the shapes of all it needs beside its operands
and its output, and the door allocates them: so the model of the memory is what is allocated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np

from convlab.backends import choose_backend
from convlab.errors import ParameterError, UnsupportedError, WorkspaceError
from convlab.machine.memory import Memory
from convlab.plans.feasible import check_feasible, serves
from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty
from convlab.support.checked import Threads, checked
from convlab.support.checks import said

Shapes = dict[str, tuple[int, ...]]


def _nothing(problem: ConvProblem, threads: int) -> int:
    return 0


@dataclass(frozen=True)
class Form:
    """One backend's way to compute a gradient.

    Attributes
    ----------
    run : callable
        ``run(problem, one, other, workspace, out, threads)`` writes the gradient into `out`. `one` and
        `other` are dy and w for the gradient of the input, x and dy for that of the weights.
    shapes : callable
        ``shapes(problem, threads)`` returns the shape of each array of the workspace, by its name.
    inside : callable
        ``inside(problem, threads)`` returns the bytes that a convolution inside packs and works in.
    """

    run: Callable[[ConvProblem, np.ndarray, np.ndarray, dict[str, np.ndarray], np.ndarray, int], None]
    shapes: Callable[[ConvProblem, int], Shapes]
    inside: Callable[[ConvProblem, int], int] = _nothing

    def memory(self, problem: ConvProblem, threads: int) -> dict[str, int]:
        """Return the bytes of all that a run allocates beside its operands and its output, by name."""
        shapes = self.shapes(problem, threads)
        sizes = {name: prod(shape) * problem.itemsize for name, shape in shapes.items()}
        return sizes | {"the convolution inside": self.inside(problem, threads)}

    def allocate(self, problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
        """Return the arrays of the workspace; nothing has been written to them."""
        shapes = self.shapes(problem, threads)
        return {name: aligned_empty(shape, problem.dtype) for name, shape in shapes.items()}


@dataclass(frozen=True)
class Gradient:
    """One way to compute a gradient of a convolution.

    Attributes
    ----------
    name : str
        The name `convlab.dgrad` or `convlab.wgrad` takes.
    summary, source : str
        One sentence; where it is described.
    forms : dict of str to Form
        Backend name to form.
    refuses : callable
        ``refuses(problem)`` returns the reason why this problem is not served, or None.
    macs : callable
        ``macs(problem)`` returns the multiply-adds of one run, taps that fall on padding included.
    """

    name: str
    summary: str
    source: str
    forms: dict[str, Form] = field(repr=False)
    refuses: Callable[[ConvProblem], str | None] = field(default=lambda problem: None, repr=False)
    macs: Callable[[ConvProblem], int] = field(default=lambda problem: problem.macs, repr=False)

    @checked
    def supports(self, problem: ConvProblem) -> str | None:
        """Return None if the algorithm serves `problem`, else the reason why not."""
        return self.refuses(problem)

    @checked
    def workspace_bytes(self, problem: ConvProblem, backend: str = "auto", threads: Threads = 1) -> int:
        """Return the bytes a run allocates beside its operands and its output, packed weights included."""
        return sum(self.forms[_runs_on(backend)].memory(problem, threads).values())


Table = Mapping[str, Gradient]


def shortage(
    problem: ConvProblem, algorithm: Gradient, backend: str, threads: int, memory: Memory
) -> str | None:
    """Return why what a run would allocate does not fit into the memory, or None."""
    try:
        sizes = algorithm.forms[backend].memory(problem, threads)
    except WorkspaceError as error:
        return f"rests on a convolution for which {error}"
    return memory.lacking(sizes | {"output": memory.output, "contiguous copies": memory.copied})


def choose(
    problem: ConvProblem, table: Table, wanted: str, backend: str, threads: int, memory: Memory
) -> tuple[Gradient, str]:
    """Return the algorithm that is wanted, or for "auto" the first of the table that serves and fits.

    And the backend it runs on.

    Raises
    ------
    ConvError
        If there is none of that name, if it does not serve the problem, or if the memory does not suffice.
    """
    backend = _runs_on(backend)
    if not isinstance(wanted, str) or (wanted != "auto" and wanted not in table):
        raise ParameterError(f"algorithm={said(wanted)}; expected 'auto' or one of {', '.join(table)}")
    if wanted == "auto":
        serving = [one for one in table.values() if serves(problem, one, backend)]
        fitting = (one for one in serving if not shortage(problem, one, backend, threads, memory))
        chosen = next(fitting, serving[0])
    else:
        chosen = table[wanted]
    check_feasible(problem, chosen, backend, threads, memory, table, shortage)
    return chosen, backend


def _runs_on(backend: str) -> str:
    backend = choose_backend(backend)
    if backend == "gpu":
        raise UnsupportedError("backend='gpu' computes no gradients; backend='cpu' and 'numpy' do")
    return backend
