"""A network made ready: a plan for every layer, memory for every array, and a loop that runs the steps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from convlab.algorithms import ALGORITHMS
from convlab.algorithms.spec import Algorithm
from convlab.api import plan
from convlab.backends import choose_backend
from convlab.errors import ParameterError, UnsupportedError, WorkspaceError
from convlab.machine.memory import Memory
from convlab.networks.bind import Actions
from convlab.networks.fuse import late
from convlab.networks.graph import Step
from convlab.networks.memory_plan import alive, allocate
from convlab.networks.ops import GLUE
from convlab.networks.profile import Profile, Spent
from convlab.networks.shared_workspace import share
from convlab.plans.plan import Plan
from convlab.support.checked import Count, checked
from convlab.support.checks import said
from convlab.support.progress import shown

if TYPE_CHECKING:
    from convlab.networks.network import Stack


class Prepared:
    """A network ready to run, see `Stack.prepare`.

    Its arrays are reused. A thread that finds them in use gets others, which are kept for the next time.

    Attributes
    ----------
    stack : Stack
    backend : str
    threads : int
    plans : dict of str to Plan
        The plan of every layer.
    replaced : dict of str to str
        Layers for which "auto" chose, since the algorithm that was asked for cannot serve them; and why.
    """

    def __init__(self, stack: Stack, algorithm, backend, threads: int, fused: bool, progress: bool):
        self.backend = choose_backend(backend)
        if self.backend not in GLUE:
            raise ParameterError(f"backend={said(backend)}; a whole network runs on {' or '.join(GLUE)}")
        self.stack, self.threads, self.replaced = stack, threads, {}
        self.plans: dict[str, Plan] = {}
        wanted = self._by_layer(algorithm)
        for step in shown(stack.layers, f"preparing {stack.title}", progress):
            self.plans[step.name] = self._plan(step, wanted[step.name])
        self._late = late(stack.steps) if fused else {}
        self._idle = [self._actions(self.plans)]  # as far as nobody uses them now

    # -- running -------------------------------------------------------------------------------------------

    def run(self, photo: np.ndarray) -> np.ndarray:
        """Return the features of some photos.

        Parameters
        ----------
        photo : ndarray, (N, H, W, 3)
            Numbers from 0 to 1, as `figures.photograph(224)` returns them.

        Returns
        -------
        ndarray, (N, features)

        Raises
        ------
        ConvError
            If the photos do not fit.
        """
        self.stack.check_photo(photo)
        with self._borrowed() as actions:
            actions.photo = np.ascontiguousarray(photo)
            for action in actions.all:
                action()
            return actions.features.reshape(len(photo), -1).copy()

    @checked
    def profile(self, photo: np.ndarray, rounds: Count = 7, progress: bool = True) -> Profile:
        """Run some photos several times, and return the time and the memory of every step.

        Parameters
        ----------
        photo : ndarray, (N, H, W, 3)
        rounds : int
            Each step's time is the median over so many runs, after one that does not count.
        progress : bool
            Show a bar.
        """
        self.run(photo)  # compiles, checks, warms up
        seconds = np.empty((rounds, len(self.stack.steps)))
        with self._borrowed() as actions:
            actions.photo = np.ascontiguousarray(photo)
            for row in shown(seconds, f"running {self.stack.title}", progress):
                for place, action in enumerate(actions.all):
                    start = time.perf_counter()
                    action()
                    row[place] = time.perf_counter() - start
        spent = [
            Spent(step, self._algorithm(step), float(median), live, self._workspace_bytes(step))
            for step, median, live in zip(
                self.stack.steps, np.median(seconds, axis=0), alive(self.stack.steps), strict=True
            )
        ]
        return Profile(self.stack.title, self.threads, tuple(spent), self.memory)

    @property
    def memory(self) -> dict[str, int]:
        """Bytes that are held from now on: "arrays" between the layers, "workspace" of all, "packed weights".

        The weights as they were before packing belong to the stack, and are not counted.
        """
        return {
            "arrays": self._array_bytes,
            "workspace": self._workspace_total,
            "packed weights": sum(one.cost.packed_bytes + _kept(one) for one in self.plans.values()),
        }

    @property
    def rounding(self) -> float:
        """The largest `Algorithm.rounding` of those in use, for `Stack.tolerance`."""
        return max(one.algorithm.rounding for one in self.plans.values())

    # -- memory --------------------------------------------------------------------------------------------

    @contextmanager
    def _borrowed(self) -> Iterator[Actions]:
        """Take arrays that no other thread uses, and give them back; `pop` gives them to one thread only."""
        try:
            actions = self._idle.pop()
        except IndexError:
            actions = self._beside()
        try:
            yield actions
        finally:
            self._idle.append(actions)

    def _beside(self) -> Actions:
        """Return the network once more, in other memory; the packed weights are the same."""
        sizes = {name: self.memory[name] for name in ("arrays", "workspace")}
        if lacking := Memory().lacking(sizes):
            raise WorkspaceError(f"a run of this network beside another one {lacking}; let one wait")
        return self._actions({name: one.twin() for name, one in self.plans.items()})

    def _actions(self, plans: dict[str, Plan]) -> Actions:
        """Return the steps, bound to these plans, which from now on share a workspace, and to new arrays."""
        self._workspace_total = share(plans.values())
        arrays, self._array_bytes = allocate(self.stack.steps)
        return Actions(self.stack.steps, plans, self.stack.weights, arrays, self._late, self.backend)

    # -- preparing -----------------------------------------------------------------------------------------

    def _by_layer(self, algorithm) -> dict[str, str | Algorithm]:
        """Return the algorithm that is wanted for each layer."""
        layers = [step.name for step in self.stack.layers]
        if not isinstance(algorithm, dict):
            return dict.fromkeys(layers, algorithm)
        if unknown := [name for name in algorithm if name not in layers]:
            raise ParameterError(
                f"algorithm names the layer {unknown[0]!r}; expected one of {', '.join(layers)}"
            )
        return dict.fromkeys(layers, "auto") | algorithm

    def _plan(self, step: Step, algorithm: str | Algorithm) -> Plan:
        """Plan a layer without its bias: that is added in one pass with ReLU."""
        w, _ = self.stack.weights[step.name]
        make = partial(plan, step.problem, w, backend=self.backend, threads=self.threads)
        try:
            return make(algorithm=algorithm)
        except UnsupportedError:
            one = algorithm if isinstance(algorithm, Algorithm) else ALGORITHMS[algorithm]
            self.replaced[step.name] = one.supports(step.problem) or "it has no such form"
            return make(algorithm="auto")

    def _algorithm(self, step: Step) -> str | None:
        return self.plans[step.name].algorithm.name if step.does == "conv" else None

    def _workspace_bytes(self, step: Step) -> int:
        return self.plans[step.name].cost.workspace_bytes if step.does == "conv" else 0

    def __repr__(self) -> str:
        used = dict.fromkeys(one.algorithm.name for one in self.plans.values())
        text = f"<{self.stack.title} on {self.backend}: {', '.join(used)}"
        if self.replaced:
            text += f'; "auto" chose for {", ".join(self.replaced)}'
        return text + ">"


def _kept(ready: Plan) -> int:
    """Return the bytes of a copy of the weights, which some plans keep beside the packed ones."""
    return ready.problem.w_bytes if ready.algorithm.forms[ready.backend].pack_key else 0
