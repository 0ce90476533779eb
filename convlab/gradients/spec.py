"""What an algorithm for a gradient is: a name, what it refuses, and for each backend a form that runs it.

It is the forward `Algorithm` with one array more. A form says what it packs and the shapes of all it works
in, and a plan allocates that: so the model of the memory is what is allocated.

A form for backend "gpu" is a `Form` like the others. Its `run` is given arrays of the device, C-contiguous,
and launches kernels without waiting for them; its workspace is the device's, of the shapes it says; its
`pack` is given w where it lies, and puts what it makes of it on the device (`convlab.gpu.device`). What
differs for a plan there stands in `device_plan`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import prod
from typing import Any

from convlab.algorithms.spec import Cost, Served
from convlab.cost.formula import Formula
from convlab.cost.phases import NOTHING, Phase
from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty
from convlab.support.checked import Threads, checked

Shapes = dict[str, tuple[int, ...]]
Work = tuple[tuple[Phase, ...], ConvProblem]


def _packs_nothing(problem: ConvProblem, w: Any, threads: int, before: Any = None, dy: Any = None) -> None:
    return None


def no_arrays(problem: ConvProblem, threads: int) -> Shapes:
    """Return the workspace of a form that needs none."""
    return {}


def copy_of_w(problem: ConvProblem, threads: int) -> dict[str, int]:
    """Return the bytes of what lies on a device while filters are packed there."""
    return {"a copy of w": problem.w_bytes}


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
    phases : callable, optional
        ``phases(problem, threads)`` yields what the packing and a run consist of, for `convlab.auto.predict`:
        pairs of phases and the problem in whose letters they are.
    """

    run: Callable[[ConvProblem, tuple, Any, dict[str, Any], Any, int], None]
    shapes: Callable[[ConvProblem, int], Shapes]
    bytes_moved: Formula | Callable[[ConvProblem, int], int]
    pack: Callable[..., Any] = _packs_nothing
    packed_bytes: Formula | Callable[[ConvProblem, int], int] = NOTHING
    tables: Callable[[ConvProblem, int], dict[str, int]] = _no_tables
    phases: Callable[[ConvProblem, int], Iterable[Work]] | None = None

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
class Gradient(Served[Form]):
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
    def workspace_bytes(self, problem: ConvProblem, backend: str = "auto", threads: Threads = 1) -> int:
        """Return the bytes a plan allocates beside its operands, its output and the packed weights."""
        return sum(self.form(backend).workspace(problem, threads).values())

    @checked
    def cost(self, problem: ConvProblem, backend: str = "auto", threads: Threads = 1) -> Cost:
        """Return the cost model's figures for one run on `backend`; the packing is no part of them."""
        form = self.form(backend)
        return Cost(
            flops=2 * self.macs(problem),
            bytes_moved=form.bytes_moved(problem, threads),
            workspace_bytes=sum(form.workspace(problem, threads).values()),
            packed_bytes=form.packed_bytes(problem, threads),
        )
