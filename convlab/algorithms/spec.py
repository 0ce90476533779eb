"""What an algorithm is: a name, a reason when it cannot serve, and for each backend a form that runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

from convlab.algorithms.form import Form
from convlab.backends import choose_backend
from convlab.cost.formula import Formula
from convlab.errors import UnsupportedError
from convlab.problem import ConvProblem
from convlab.support.checked import Threads, checked

DIRECT_FLOPS = Formula("2 * N*P*Q * K * R*S*C/G")
FormT = TypeVar("FormT")


@dataclass(frozen=True)
class Cost:
    """What one run of an algorithm costs, by its model.

    Attributes
    ----------
    flops : int
        Floating-point operations of one run.
    bytes_moved : int
        Bytes read and written if every array is streamed once per pass over it.
    workspace_bytes : int
        Bytes allocated beside x, w, y and the packed weights.
    packed_bytes : int
        Bytes of the weights in the layout this form wants.
    """

    flops: int
    bytes_moved: int
    workspace_bytes: int
    packed_bytes: int

    @property
    def intensity(self) -> float:
        """FLOPs for each byte moved."""
        return self.flops / self.bytes_moved


class Mixing(NamedTuple):
    """What a transform mixes, and how far numbers grow on the way: see `convlab.auto.magnitudes`.

    Attributes
    ----------
    pixels : (int, int)
        Rows and columns of x that are transformed together, a tile.
    outputs : (int, int)
        Rows and columns of y that come of a tile.
    growth : float
        No number on the way is so many times as large as the largest of x, of w, and of their products.
    """

    pixels: tuple[int, int]
    outputs: tuple[int, int]
    growth: float


class Served(Generic[FormT]):
    """What is asked of each algorithm, forward or backward: does it serve, and by which form?"""

    name: str
    forms: dict[str, FormT]
    refuses: Callable[[ConvProblem], str | None]

    @checked
    def supports(self, problem: ConvProblem) -> str | None:
        """Return None if the algorithm serves `problem`, else the reason why not."""
        return self.refuses(problem)

    def form(self, backend: str = "auto") -> FormT:
        """Return the form that runs on `backend`.

        Raises
        ------
        ConvError
            If there is no such backend, or no form for it.
        """
        name = choose_backend(backend)
        if name not in self.forms:
            raise UnsupportedError(f"algorithm={self.name!r} has no form for backend={name!r}")
        return self.forms[name]


@dataclass(frozen=True)
class Algorithm(Served[Form]):
    """One way to compute a convolution.

    Attributes
    ----------
    name : str
        The name `conv2d` takes.
    summary : str
        One sentence for tables and figures.
    source : str
        Where the algorithm is described.
    forms : dict of str to Form
        Backend name to form.
    refuses : callable
        ``refuses(problem)`` returns the reason why this problem is not served, or None.
    family : str
        What it does to the windows: "definition" (loops over all taps), "copies" (into a matrix), "gathers"
        (multiplies the pixels where they lie), "winograd" or "fourier". Those of a family share a colour.
    flops : Formula
        Floating-point operations of one run.
    rounding : float
        Rounding error beside that of a plain sum: 1 where each output is one, more where large numbers
        cancel on the way.
    mixing : callable, optional
        ``mixing(problem)`` returns what it mixes, if it is a transform. Without it a NaN or an infinity in x
        reaches just the outputs whose windows hold it.
    """

    name: str
    summary: str
    source: str
    forms: dict[str, Form] = field(repr=False)
    refuses: Callable[[ConvProblem], str | None] = field(default=lambda problem: None, repr=False)
    family: str = field(default="gathers", repr=False)
    flops: Formula = field(default=DIRECT_FLOPS, repr=False)
    rounding: float = field(default=1.0, repr=False)
    mixing: Callable[[ConvProblem], Mixing] | None = field(default=None, repr=False)

    @checked
    def cost(self, problem: ConvProblem, backend: str = "auto", threads: Threads = 1) -> Cost:
        """Return the cost model's figures for one run on `backend`."""
        form = self.form(backend)
        return Cost(
            flops=self.flops(problem),
            bytes_moved=form.bytes_moved(problem),
            workspace_bytes=form.workspace_bytes(problem, threads),
            packed_bytes=form.packed_bytes(problem),
        )

    @checked
    def workspace_bytes(self, problem: ConvProblem, backend: str = "auto", threads: Threads = 1) -> int:
        """Return the bytes this algorithm allocates beside x, w, y and the packed weights."""
        return self.form(backend).workspace_bytes(problem, threads)

    @cached_property
    def backends(self) -> tuple[str, ...]:
        """Names of the backends that run this algorithm."""
        return tuple(self.forms)
