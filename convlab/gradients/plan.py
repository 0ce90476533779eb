"""A plan of a gradient: one algorithm made ready for one problem. `plan_dgrad` and `plan_wgrad` make it.

What can be done once is done once, as in a forward `Plan`: the choice, the packed weights, the workspace.
What is learned changes its weights at every step; `update` packs them anew, and the rest stays.

Any number of threads may call a plan at once. Workspaces that nobody uses lie in a list: a call takes one
out, or makes one if there is none, and puts it back. Python's `pop` gives an item to one thread only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from convlab.algorithms.spec import Cost
from convlab.errors import WorkspaceError
from convlab.gradients.select import Chosen
from convlab.gradients.spec import Gradient
from convlab.machine.memory import Memory
from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty
from convlab.support.checks import check_array, check_out
from convlab.support.system_memory import asking_the_system, refused_by_the_system
from convlab.support.units import bytes_text

X, W, Y = "(N, H, W, C)", "(K, R, S, C/groups)", "(N, P, Q, K)"


class GradientPlan:
    """A gradient made ready: what both kinds have in common.

    Attributes
    ----------
    problem : ConvProblem
        The forward convolution.
    algorithm : Gradient
    why : str
        Why it is this algorithm, in words.
    backend : str
    threads : int
    workspace : dict of str to ndarray
        The arrays a run works in.
    packed
        What was made of the weights; None for a gradient that has none.
    """

    takes: tuple[str, ...]  # the names of what a call is given
    makes: str  # the axes of what it returns

    def __init__(self, problem: ConvProblem, chosen: Chosen, threads: int, w: Any = None, dy: Any = None):
        self.problem, self.threads = problem, threads
        self.algorithm: Gradient
        self.algorithm, self.backend, self.why = chosen
        self._form, self._shapes = self.algorithm.forms[self.backend], shapes(problem)
        with asking_the_system():
            self.packed = self._packed(w, None, dy)
            self.workspace = self._form.allocate(problem, threads, self._empty)
        self._idle = [self.workspace]  # those that no call uses

    def run_checked(self, given: tuple, out: Any = None) -> Any:
        """Do what a call does, for who has looked at the operands and `out` already."""
        return self._compute(given, out)

    def _run(self, given: tuple, out: Any) -> None:
        """Write the gradient into `out`, in a workspace that no other call uses."""
        workspace = self._workspace()
        try:
            self._form.run(self.problem, given, self.packed, workspace, out, self.threads)
        finally:
            self._idle.append(workspace)

    def _workspace(self) -> dict[str, Any]:
        try:
            return self._idle.pop()
        except IndexError:
            pass
        size = sum(array.nbytes for array in self.workspace.values())
        if lacking := self._memory().lacking({"a workspace of its own": size}):
            raise WorkspaceError(
                f"a call of this plan beside another one {lacking}; let one wait for the other"
            )
        return self._form.allocate(self.problem, self.threads, self._empty)

    @property
    def cost(self) -> Cost:
        """The cost model's figures for one run."""
        return self.algorithm.cost(self.problem, self.backend, self.threads)

    # -- what is different on a device ---------------------------------------------------------------------

    _empty = staticmethod(aligned_empty)

    def _packed(self, w: Any, before: Any, dy: Any) -> Any:
        """Return what is made of the weights."""
        return self._form.pack(self.problem, w, self.threads, before, dy)

    def _check(self, given: tuple, out: Any) -> None:
        """Refuse operands or an `out` that do not fit."""
        named = dict(zip(self.takes, given, strict=True))
        check_operands(self.problem, self.makes, out, named, self.workspace | {"packed": self.packed})

    def _compute(self, given: tuple, out: Any) -> Any:
        try:
            if out is None:
                out = self._empty(self._shapes[self.makes], self.problem.dtype)
            self._run(tuple(np.ascontiguousarray(one) for one in given), out)
        except MemoryError as error:
            raise refused_by_the_system(error) from error
        return out

    def _memory(self) -> Memory:
        return Memory()

    def __repr__(self) -> str:
        return (
            f"<plan: {self.algorithm.name} on {self.backend}, {self.problem}, "
            f"workspace {bytes_text(self.cost.workspace_bytes)}>"
        )


class DataGradient(GradientPlan):
    """The gradient of the input, made ready by `convlab.plan_dgrad`: call it with dy."""

    takes, makes = ("dy",), X

    def __call__(self, dy: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the gradient of the input, written into `out` if it is given.

        Parameters
        ----------
        dy : ndarray, (N, P, Q, K)
            Of the plan's shape and dtype. Copied first if it is not C-contiguous.
        out : ndarray, (N, H, W, C), optional

        Raises
        ------
        ConvError
            If dy or out does not fit the plan.
        """
        self._check((dy,), out)
        return self._compute((dy,), out)

    def update(self, w: np.ndarray) -> None:
        """Pack new weights. A call that another thread is in goes on with those it began with.

        Parameters
        ----------
        w : ndarray, (K, R, S, C/groups)
            Always copied: what is written to it later changes nothing.

        Raises
        ------
        ConvError
            If w does not fit the plan; the plan is as before.
        """
        self._check_weights(w)
        with asking_the_system():
            self.packed = self._packed(w, self.packed, None)

    def _check_weights(self, w: Any) -> None:
        check_array("w", w, self.problem.w_shape, W, (self.problem.dtype,))


class WeightGradient(GradientPlan):
    """The gradient of the weights, made ready by `convlab.plan_wgrad`: call it with x and dy."""

    takes, makes = ("x", "dy"), W

    def __call__(self, x: np.ndarray, dy: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the gradient of the weights, written into `out` if it is given.

        Parameters
        ----------
        x : ndarray, (N, H, W, C)
        dy : ndarray, (N, P, Q, K)
            Of the plan's shapes and dtype. Copied first if they are not C-contiguous.
        out : ndarray, (K, R, S, C/groups), optional

        Raises
        ------
        ConvError
            If x, dy or out does not fit the plan.
        """
        self._check((x, dy), out)
        return self._compute((x, dy), out)


def shapes(problem: ConvProblem) -> dict[str, tuple[int, ...]]:
    """Return the shape of each array by its axes."""
    return {X: problem.x_shape, W: problem.w_shape, Y: problem.y_shape}


AXES = {"x": X, "w": W, "dy": Y}


def check_operands(problem: ConvProblem, makes: str, out: Any, given: dict, others: Any = ()) -> None:
    """Refuse operands, by their names, or an `out` that do not fit a problem; nor may it share others."""
    expected = shapes(problem)
    for name, array in given.items():
        check_array(name, array, expected[AXES[name]], AXES[name], (problem.dtype,))
    if out is not None:
        check_out(out, expected[makes], problem.dtype, makes, **given, **dict(others))
