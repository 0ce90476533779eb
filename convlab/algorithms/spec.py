"""What an algorithm is: a name, a reason when it cannot serve, and for each backend a form that runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from convlab.backends import choose_backend
from convlab.cost.formula import Formula
from convlab.cost.phases import NOTHING, Phase, packing
from convlab.errors import UnsupportedError
from convlab.gpu.model.work import Work
from convlab.problem import ConvProblem
from convlab.support.checked import Threads, checked

WEIGHTS = Formula("K*R*S*C/G * b")
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


def _copy(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    return w.copy()


def _nothing(problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    return {}


@dataclass(frozen=True)
class Form:
    """One backend's way to run an algorithm.

    Attributes
    ----------
    run : callable
        ``run(problem, x, packed, workspace, y, threads)`` writes the convolution of x into y, without
        bias, on at most so many threads.
    epilogue : bool
        Does `run` finish what it stores, bias and all that? Then it takes `convlab.cpu.epilogue.Output` in
        place of y. For other forms the plan does it afterwards.
    bytes_moved, workspace_bytes, packed_bytes : Formula
        The cost model, in the letters of `ConvProblem`. The last two may be functions of the problem (and the
        threads) where a formula cannot say it: they are, to the byte, what `allocate` and `pack` return.
    pack : callable
        ``pack(problem, w)`` returns a copy of the weights in the layout `run` wants. Done once, by `plan`.
    allocate : callable
        ``allocate(problem, threads)`` returns the named arrays of the workspace. Done once, by `plan`.
    scratch : tuple of str
        Names of those that a run writes before it reads them. Plans that never run at once can share them.
    resize : callable, optional
        ``resize(old, new, workspace)`` returns the workspace of another size of the input, and how much of
        it was made anew: "nothing", "part" or "all". Without it all of it is.
    pack_key : callable, optional
        ``pack_key(problem)`` returns what the packed weights depend on beside w: a spectrum is as large as
        a transform. A plan of such a form keeps w, to pack it anew for another size.
    bind : callable, optional
        ``bind(problem, x, packed, workspace, y, threads)`` returns `run` with these arguments, worked out as
        far as can be, as a function of nothing.
    phases : callable, optional
        ``phases()`` returns what a run consists of, for `convlab.auto.predict`. A form that does not say is
        not predicted, and "auto" takes it only where it was measured.
    setup : callable
        ``setup()`` returns the phases of what `plan` does once: `pack`, and `allocate` where it fills tables.
    works : callable, optional
        ``works(problem)`` returns what each launch of a run asks of a GPU, for `convlab.auto.predict_gpu`.
    rank : int, optional
        Place in the order that "auto" follows where no model predicts the times, the lowest first. A form
        without one is not taken by that rule.
    """

    run: Callable[[ConvProblem, np.ndarray, Any, dict[str, np.ndarray], np.ndarray, int], None]
    bytes_moved: Formula
    workspace_bytes: Formula | Callable[[ConvProblem, int], int] = NOTHING
    packed_bytes: Formula | Callable[[ConvProblem], int] = WEIGHTS
    pack: Callable[[ConvProblem, np.ndarray], Any] = _copy
    allocate: Callable[[ConvProblem, int], dict[str, np.ndarray]] = _nothing
    scratch: tuple[str, ...] = ()
    resize: Callable[[ConvProblem, ConvProblem, dict], tuple[dict[str, np.ndarray], str]] | None = None
    pack_key: Callable[[ConvProblem], Any] | None = None
    bind: Callable[..., Callable[[], None]] | None = None
    phases: Callable[[], tuple[Phase, ...]] | None = None
    setup: Callable[[], tuple[Phase, ...]] = lambda: (packing(),)
    works: Callable[[ConvProblem], tuple[Work, ...]] | None = None
    rank: int | None = None
    epilogue: bool = False


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
