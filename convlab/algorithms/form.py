"""One backend's way to run an algorithm: what runs, what is made once before it, and what it all costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from convlab.cost.formula import Formula
from convlab.cost.phases import NOTHING, Phase, packing
from convlab.gpu.model.work import Work
from convlab.problem import ConvProblem

WEIGHTS = Formula("K*R*S*C/G * b")


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
    largest : Formula or callable
        Of a GPU form: the numbers of the largest array of its workspace, where that may be larger than x and
        y. Kernels count them with 32 bits.
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
    largest: Formula | Callable[[ConvProblem], int] = NOTHING
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
