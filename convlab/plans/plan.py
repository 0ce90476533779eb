"""A plan: one algorithm made ready for one problem. It chooses nothing; `convlab.plan` does.

A plan does once what can be done once: it packs the weights and allocates the workspace. Calling it runs the
convolution. The split is XNNPACK's create / run, and the two are always timed apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from convlab.algorithms.spec import Algorithm, Cost
from convlab.errors import ArrayError, ConvError, ShapeError, WorkspaceError
from convlab.machine.memory import Memory
from convlab.plans.epilogue import EPILOGUES, apply, check_epilogue, check_residual
from convlab.plans.feasible import check_feasible
from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty
from convlab.support.checks import check_array, check_instance, check_pixels_out
from convlab.support.system_memory import asking_the_system, refused_by_the_system
from convlab.support.units import bytes_text


class Ready(NamedTuple):
    """What belongs together in a plan; `resize` puts another one in its place, all at once.

    Attributes
    ----------
    spares : list of dict of str to ndarray
        Workspaces for calls that find the first one in use, as far as nobody uses them now.
    """

    problem: ConvProblem
    packed: Any
    workspace: dict[str, np.ndarray]
    spares: list[dict[str, np.ndarray]]


class Watch(Protocol):
    """What looks at numbers that were not known when the algorithm was chosen: `convlab.auto.watch`."""

    def see(self, problem: ConvProblem, x: np.ndarray) -> bool:
        """Look at the x of a call; return whether that is enough, or the next one is to be shown, too."""
        ...

    def with_weights(self, problem: ConvProblem, w: np.ndarray) -> Watch:
        """Look at weights that take the place of others; return what looks at x beside them.

        It is itself if x need not be looked at once more.
        """
        ...


class Plan:
    """A convolution made ready by `convlab.plan`: call it with x.

    Any number of threads may call it at once. Python's lists are the locks: `pop` gives an item to one
    thread only. Nobody waits, so nothing can hang, not even in a child that is forked during a call.

    Attributes
    ----------
    problem : ConvProblem
    algorithm : Algorithm
    why : str
        Why it is this algorithm, in words.
    backend : str
    threads : int
    workspace : dict of str to ndarray
        The arrays allocated beside x, w, y and the packed weights.
    packed
        The weights in the layout the kernel reads.
    epilogue : str or None
        What is done to y beside the convolution, one of `EPILOGUES`.
    """

    def __init__(
        self,
        problem: ConvProblem,
        w: np.ndarray,
        bias: np.ndarray | None,
        algorithm: Algorithm,
        backend: str,
        threads: int,
        why: str = "it was asked for",
        watch: Watch | None = None,
        epilogue: str | None = None,
    ):
        self.algorithm, self.backend, self.threads, self.why = algorithm, backend, threads, why
        self._form, self._dtype = algorithm.forms[backend], np.dtype(problem.dtype)
        self.epilogue = epilogue
        with asking_the_system():
            packed = self._form.pack(problem, w)  # always a copy: changing w later changes nothing
            self._w = None if self._form.pack_key is None else w.copy()
            self._ready = Ready(problem, packed, self._form.allocate(problem, threads), [])
            self.bias = None if bias is None else bias.copy()
        self._idle = [True]  # empty while a call uses the workspace
        self._watch, self._unseen = watch, watch is not None  # it is shown x until it has seen enough

    @property
    def problem(self) -> ConvProblem:
        return self._ready.problem

    @property
    def packed(self):
        return self._ready.packed

    @packed.setter
    def packed(self, packed) -> None:
        self._ready = self._ready._replace(packed=packed)

    @property
    def workspace(self) -> dict[str, np.ndarray]:
        return self._ready.workspace

    @workspace.setter
    def workspace(self, workspace: dict[str, np.ndarray]) -> None:
        self._ready = self._ready._replace(workspace=workspace)

    @property
    def cost(self) -> Cost:
        """The cost model's figures for one run."""
        return self.algorithm.cost(self.problem, self.backend, self.threads)

    def resize(self, *, N: int | None = None, H: int | None = None, W: int | None = None) -> str:
        """Make the plan ready for another batch or another size of picture.

        The packed weights stay, but for those that are made for one size: spectra. The padding stays as it
        is in pixels; "same" is not worked out anew.

        Parameters
        ----------
        N, H, W : int, optional
            The new sizes; what is not given stays as it is.

        Returns
        -------
        str
            How much had to be made anew: "nothing", "part" or "all".

        Raises
        ------
        ConvError
            If the new sizes do not suit the filter, the algorithm or the memory; the plan is as before.
        """
        given = {name: size for name, size in {"N": N, "H": H, "W": W}.items() if size is not None}
        old, packed, workspace, spares = self._ready
        new, rebuilt = replace(old, **given), "nothing"
        check_feasible(new, self.algorithm, self.backend, self.threads, self._memory(output=new.y_bytes))
        with asking_the_system():
            if self._w is not None and self._form.pack_key(new) != self._form.pack_key(old):
                packed = self._form.pack(new, self._w)
            if self._form.resize is not None:
                workspace, rebuilt = self._form.resize(old, new, workspace)
            elif new != old:
                before, workspace = workspace, self._form.allocate(new, self.threads)
                rebuilt = "all" if before or workspace else "nothing"
        # All at once, at the end: what fails before this leaves the plan as it was. A call that another
        # thread is in goes on with what it began with.
        self._ready = Ready(new, packed, workspace, spares if new == old else [])
        return rebuilt

    def __call__(
        self, x: np.ndarray, out: np.ndarray | None = None, *, residual: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the convolution of x, written into `out` if it is given.

        Parameters
        ----------
        x : ndarray, (N, H, W, C)
            Of the plan's shape and dtype. Copied first if it is not C-contiguous.
        out : ndarray, (N, P, Q, K), optional
            It may be some channels of a wider array, as in ``y[..., 64:128]``: nothing need be put side by
            side then.
        residual : ndarray, (N, P, Q, K)
            What the epilogues "add" and "add_relu" add; it may lie as `out` may. It may even be `out`: then
            the convolution is added to what is there.

        Raises
        ------
        ConvError
            If an array does not fit the plan.
        """
        ready = self._ready
        self._check(x, out, residual, ready)
        if self._unseen:
            self._show(ready.problem, x)
        return self._compute(ready, x, out, residual)

    def run_checked(self, x, out=None):
        """Do what a call does, for who has looked at x and `out` already."""
        return self._compute(self._ready, x, out)

    def bound(self, x: np.ndarray, out: np.ndarray, residual: np.ndarray | None = None) -> Callable[[], None]:
        """Return the call with these arrays, as a function of nothing: looked at once, it runs many times.

        Raises
        ------
        ConvError
            If an array does not fit the plan.
        """
        if out is None:
            raise ArrayError("out=None; expected an array (N, P, Q, K) that every run writes into")
        ready = self._ready
        self._check(x, out, residual, ready)
        finishes = self._form.epilogue and x.flags.c_contiguous
        if finishes:
            run = self._bound_to(ready, x, self._output(out, residual))
        else:
            run = partial(self._compute, ready, x, out, residual)
        if finishes and not self._unseen:
            return run

        def show_and_run() -> None:
            if self._unseen:
                self._show(ready.problem, x)
            run()

        return show_and_run

    def _bound_to(self, ready: Ready, x, y) -> Callable[[], None]:
        """Return a run of a form with an epilogue, as far as it can be worked out before."""
        if self._form.bind is None:
            return partial(self._run, ready, x, y)
        run = self._form.bind(ready.problem, x, ready.packed, ready.workspace, y, self.threads)
        return partial(self._run, ready, x, y, run) if self._form.scratch else run  # one call at a time

    def _show(self, problem: ConvProblem, x) -> None:
        """Show x to what watches; calls of other threads, meanwhile, do not."""
        self._unseen = False
        self._unseen = not self._watch.see(problem, x)

    def _compute(self, ready: Ready, x, out, residual=None):
        problem = ready.problem
        try:
            if out is None:
                out = aligned_empty(problem.y_shape, problem.dtype)
            x = np.ascontiguousarray(x)
            if self._form.epilogue:
                self._run(ready, x, self._output(out, residual))
                return out
            aside = not out.flags.c_contiguous or (
                residual is not None and np.may_share_memory(out, residual)
            )
            y = aligned_empty(problem.y_shape, problem.dtype) if aside else out
            self._run(ready, x, y)
        except MemoryError as error:
            raise refused_by_the_system(error) from error
        self._finish(y, residual)
        if aside:
            out[...] = y
        return out

    def _finish(self, y, residual) -> None:
        """Do the epilogue in place, for a form that has none."""
        floor = EPILOGUES[self.epilogue].floor
        if self.backend == "cpu" and (self.bias is not None or self.epilogue is not None):
            from convlab.cpu.finish import finish

            bias = np.zeros(y.shape[-1], y.dtype) if self.bias is None else self.bias
            finish(y, bias, floor, None if residual is None else np.ascontiguousarray(residual))
        else:
            apply(y, self.bias, residual, floor)

    def _output(self, out, residual):
        """Return `out` as a form with an epilogue takes it."""
        from convlab.cpu.epilogue import output

        return output(out, self.bias, EPILOGUES[self.epilogue].floor, residual)

    def _run(self, ready: Ready, x, y, bound: Callable[[], None] | None = None) -> None:
        """Write the convolution of x into y, in a workspace that no other call uses.

        `bound` does so in the first one.
        """
        workspace, waiting = ready.workspace, self._idle
        try:
            token = waiting.pop()
        except IndexError:
            waiting, bound = ready.spares, None
            token = workspace = self._spare(ready)
        try:
            if bound is None:
                self._form.run(ready.problem, x, ready.packed, workspace, y, self.threads)
            else:
                bound()
        finally:
            waiting.append(token)

    def _spare(self, ready: Ready) -> dict[str, np.ndarray]:
        """Return a workspace beside the first one, which is in use."""
        try:
            return ready.spares.pop()
        except IndexError:
            pass
        size = self._form.workspace_bytes(ready.problem, self.threads)
        if lacking := self._memory().lacking({"a workspace of its own": size}):
            raise WorkspaceError(
                f"a call of this plan beside another one {lacking}; let one wait for the other"
            )
        return self._form.allocate(ready.problem, self.threads)

    def with_weights(self, w: np.ndarray) -> Plan:
        """Return the same plan with other weights; both work in the same memory, by turns or in spares.

        Parameters
        ----------
        w : ndarray, (K, R, S, C/groups)
            Of the plan's shape and dtype; always copied. A plan on a device takes one of the device, too.

        Raises
        ------
        ConvError
            If w does not fit the plan.

        Warns
        -----
        RuntimeWarning
            If "auto" chose a transform, in which numbers of w would be lost.
        """
        problem = self.problem
        check_array("w", w, problem.w_shape, "(K, R, S, C/groups)", (problem.dtype,))
        other = self.repacked(w)
        if self._watch is not None:
            other._watch = self._watch.with_weights(problem, w)
            other._unseen = self._unseen or other._watch is not self._watch
        return other

    def repacked(self, w: np.ndarray) -> Plan:
        """Do what `with_weights` does, for who has looked at w already."""
        other = copy(self)
        other._w = None if self._w is None else w.copy()
        other.packed = self._form.pack(self.problem, w)
        return other

    @property
    def watch(self) -> Watch | None:
        """What looks at x."""
        return self._watch

    def watched_by(self, watch: Watch) -> Plan:
        """Return the same plan, whose x is shown to `watch`; both work in the same memory."""
        other = copy(self)
        other._watch, other._unseen = watch, True
        return other

    def with_epilogue(self, epilogue: str | None) -> Plan:
        """Return the same plan with another epilogue; both work in the same memory, by turns or in spares.

        Raises
        ------
        ConvError
            If there is no such epilogue.
        """
        check_epilogue(epilogue)
        other = copy(self)
        other.epilogue = epilogue
        return other

    def twin(self) -> Plan:
        """Return the same plan with a workspace of its own; the packed weights are the same."""
        other = copy(self)
        other._ready = self._ready._replace(workspace=self._spare(self._ready), spares=[])
        other._idle = [True]
        return other

    def takes_turns_with(self, other: Plan) -> None:
        """Share memory with another plan: while one of them is called, the other works in a spare."""
        check_instance("other", other, Plan)
        self._idle = other._idle

    def _check(self, x, out, residual, ready: Ready) -> None:
        """Refuse an array that does not fit."""
        problem = ready.problem
        # What is right is found right in a tenth of a microsecond.
        if not (type(x) is np.ndarray and x.shape == problem.x_shape and x.dtype == self._dtype):
            with self._hinting(x, problem):
                check_array("x", x, problem.x_shape, "(N, H, W, C)", (problem.dtype,))
        if out is not None:
            check_pixels_out(out, problem.y_shape, self._dtype, x=x, **self._inside(ready))
        if residual is not None or EPILOGUES[self.epilogue].adds:
            check_residual(self.epilogue, residual, out, problem.y_shape, self._dtype)

    def _inside(self, ready: Ready) -> dict[str, Any]:
        """Return the plan's own arrays by their names: none of them may be written over."""
        return {"packed": ready.packed, "bias": self.bias} | ready.workspace

    @contextmanager
    def _hinting(self, x, problem: ConvProblem) -> Iterator[None]:
        """Say it in a refusal of x's shape inside a ``with`` if `resize` would make the plan fit x."""
        try:
            yield
        except ShapeError as error:
            raise ShapeError(f"{error}{self._hint(x.shape, problem)}") from None

    def _hint(self, shape: tuple, problem: ConvProblem) -> str:
        """Return how `resize` would make the plan fit a shape; nothing where it would not."""
        if len(shape) != 4 or shape[3] != problem.C:
            return ""
        N, H, W, _ = shape
        try:
            refused = self.algorithm.supports(replace(problem, N=N, H=H, W=W))
        except ConvError:
            return ""
        return "" if refused else f"; plan.resize(N={N}, H={H}, W={W}) makes the plan fit"

    def _memory(self, output: int = 0) -> Memory:
        """Return what is asked if another size would fit."""
        return Memory(output=output)

    def __repr__(self) -> str:
        return (
            f"<plan: {self.algorithm.name} on {self.backend}, {self.problem}, "
            f"workspace {bytes_text(self.cost.workspace_bytes)}>"
        )
