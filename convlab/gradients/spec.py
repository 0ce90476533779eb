"""What an algorithm for a gradient is: a name, what it refuses, and for each backend a form that runs it.

It is the forward `Algorithm` with one array more. A form says what it packs and the shapes of all it works
in, and a plan allocates that: so the model of the memory is what is allocated.

A form for backend "gpu" is a `Form` like the others. Its `run` is given arrays of the device, C-contiguous,
and launches kernels without waiting for them; its workspace is the device's, of the shapes it says; its
`pack` is given w as NumPy's array, and puts what it makes of it on the device (`convlab.gpu.device`). What
differs for a plan there, four names of `GradientPlan` say: `_empty`, `_check`, `_compute` and `_memory`; the
last three are those of `Plan` and `DevicePlan`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

from convlab.algorithms.spec import Cost
from convlab.backends import choose_backend
from convlab.cost.formula import Formula
from convlab.cost.phases import NOTHING
from convlab.errors import ParameterError, UnsupportedError, WorkspaceError
from convlab.machine.memory import Memory
from convlab.plans.feasible import check_feasible, serves
from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty
from convlab.support.checked import Threads, checked
from convlab.support.checks import said

Shapes = dict[str, tuple[int, ...]]


def _packs_nothing(problem: ConvProblem, w: Any, threads: int, before: Any = None, dy: Any = None) -> None:
    return None


def no_arrays(problem: ConvProblem, threads: int) -> Shapes:
    """Return the workspace of a form that needs none."""
    return {}


def _no_tables(problem: ConvProblem, threads: int) -> dict[str, int]:
    return {}


@dataclass(frozen=True)
class Form:
    """One backend's way to compute a gradient.

    Attributes
    ----------
    run : callable
        ``run(problem, given, packed, workspace, out, threads)`` writes the gradient into `out`. `given` is
        (dy,) for the gradient of the input, (x, dy) for that of the weights.
    shapes : callable
        ``shapes(problem, threads)`` returns the shape of each array of the workspace, by its name. A run may
        find anything in them.
    pack : callable
        ``pack(problem, w, threads, before, dy)`` returns what is made of the weights once, and only read
        after that. `before` is what it returned for other weights, None the first time: what does not depend
        on them is taken from there. dy is that of a plan's only call, None for a plan that is called often.
    bytes_moved, packed_bytes : Formula or callable
        The cost model, of the problem and the threads: bytes read and written by a run, if every array is
        streamed once per pass over it; bytes of the packed weights.
    tables : callable
        ``tables(problem, threads)`` returns the bytes of what else `pack` allocates, by name.
    """

    run: Callable[[ConvProblem, tuple, Any, dict[str, Any], Any, int], None]
    shapes: Callable[[ConvProblem, int], Shapes]
    bytes_moved: Formula | Callable[[ConvProblem, int], int]
    pack: Callable[..., Any] = _packs_nothing
    packed_bytes: Formula | Callable[[ConvProblem, int], int] = NOTHING
    tables: Callable[[ConvProblem, int], dict[str, int]] = _no_tables

    def workspace(self, problem: ConvProblem, threads: int) -> dict[str, int]:
        """Return the bytes of all that a plan allocates beside the packed weights, by name."""
        shapes = self.shapes(problem, threads)
        sizes = {name: prod(shape) * problem.itemsize for name, shape in shapes.items()}
        return sizes | self.tables(problem, threads)

    def allocate(self, problem: ConvProblem, threads: int, empty=aligned_empty) -> dict[str, Any]:
        """Return the arrays of the workspace, made by ``empty(shape, dtype)``; nothing is written to them."""
        shapes = self.shapes(problem, threads)
        return {name: empty(shape, problem.dtype) for name, shape in shapes.items()}


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
        """Return the bytes a plan allocates beside its operands, its output and the packed weights."""
        return sum(self.forms[runs_on(backend)].workspace(problem, threads).values())

    @checked
    def cost(self, problem: ConvProblem, backend: str = "auto", threads: Threads = 1) -> Cost:
        """Return the cost model's figures for one run on `backend`; the packing is no part of them."""
        form = self.forms[runs_on(backend)]
        return Cost(
            flops=2 * self.macs(problem),
            bytes_moved=form.bytes_moved(problem, threads),
            workspace_bytes=sum(form.workspace(problem, threads).values()),
            packed_bytes=form.packed_bytes(problem, threads),
        )


Table = Mapping[str, Gradient]


class Chosen(NamedTuple):
    """An algorithm, the backend it runs on, and why it is this one."""

    algorithm: Gradient
    backend: str
    why: str


def shortage(
    problem: ConvProblem, algorithm: Gradient, backend: str, threads: int, memory: Memory
) -> str | None:
    """Return why what a run would allocate does not fit into the memory, or None."""
    form = algorithm.forms[backend]
    try:
        sizes = form.workspace(problem, threads) | {"packed weights": form.packed_bytes(problem, threads)}
    except WorkspaceError as error:
        return f"rests on a convolution for which {error}"
    return memory.lacking(sizes | {"output": memory.output, "contiguous copies": memory.copied})


def choose(
    problem: ConvProblem, table: Table, wanted: str, backend: str, threads: int, memory: Memory
) -> Chosen:
    """Return the algorithm that is wanted, or for "auto" the first of the table that serves and fits.

    Raises
    ------
    ConvError
        If there is none of that name, if it does not serve the problem, or if the memory does not suffice.
    """
    backend = runs_on(backend)
    if not isinstance(wanted, str) or (wanted != "auto" and wanted not in table):
        raise ParameterError(f"algorithm={said(wanted)}; expected 'auto' or one of {', '.join(table)}")
    if wanted == "auto":
        serving = [one for one in table.values() if serves(problem, one, backend)]
        fitting = (one for one in serving if not shortage(problem, one, backend, threads, memory))
        chosen = next(fitting, serving[0])
        why = "it is the first by the rule that serves the problem"
        if chosen is not serving[0]:
            why = f"it is the first by the rule that fits into the memory; {serving[0].name} does not"
    else:
        chosen, why = table[wanted], "it was asked for"
    check_feasible(problem, chosen, backend, threads, memory, table, shortage)
    return Chosen(chosen, backend, why)


def runs_on(backend: str) -> str:
    """Return the backend that is meant; refuse one on which no gradient has a form."""
    backend = choose_backend(backend)
    if backend == "gpu":
        raise UnsupportedError("backend='gpu' computes no gradients; backend='cpu' and 'numpy' do")
    return backend
