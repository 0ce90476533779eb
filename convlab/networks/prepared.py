"""A network made ready: a plan for every layer, and memory for every array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

import numpy as np

from convlab.algorithms import ALGORITHMS
from convlab.algorithms.spec import Algorithm
from convlab.api import plan
from convlab.backends import choose_host_backend
from convlab.errors import ParameterError, UnsupportedError, WorkspaceError
from convlab.machine.memory import Memory
from convlab.networks.bind import NO_PHOTO, BoundGraph
from convlab.networks.fuse import fuse
from convlab.networks.graph import Node
from convlab.networks.memory_plan import allocate, share_workspace
from convlab.plans.plan import Plan, Watch
from convlab.support.progress import shown


class Runnable(Protocol):
    """What can be made ready: a whole network (`Model`), or a tile of one (`convlab.distributed`)."""

    @property
    def title(self) -> str: ...
    @property
    def nodes(self) -> Sequence[Node]: ...
    @property
    def layers(self) -> Sequence[Node]: ...
    @property
    def weights(self) -> Mapping[str, tuple[np.ndarray, np.ndarray]]: ...


class Prepared:
    """A network whose layers have plans and whose arrays have memory.

    The arrays are reused. A thread that finds them in use gets others, which are kept for the next time. What
    the layers of `watches` read is shown to these, as `Plan` does it.

    Attributes
    ----------
    model : Runnable
    backend : str
    threads : int
    plans : dict of str to Plan
        The plan of every layer.
    nodes : tuple of Node
        What is run, in order: the model's nodes, or what `fuse` makes of them.
    replaced : dict of str to str
        Layers for which "auto" chose, since the algorithm that was asked for cannot serve them; and why.
    """

    def __init__(
        self,
        model: Runnable,
        algorithm: Any,
        backend: str,
        threads: int,
        fused: bool,
        progress: bool,
        watches: Mapping[str, Watch] | None = None,
    ) -> None:
        self.backend = choose_host_backend(backend, "a whole network runs")
        self.model, self.threads = model, threads
        self.replaced: dict[str, str] = {}
        self.plans: dict[str, Plan] = {}
        wanted, watches = self._by_layer(algorithm), watches or {}
        for node in shown(model.layers, f"preparing {model.title}", progress):
            made = self._plan(node, wanted[node.name], fused)
            self.plans[node.name] = made.watched_by(watches[node.name]) if node.name in watches else made
        self.nodes = tuple(model.nodes)
        if fused:
            able = {name for name, one in self.plans.items() if one.algorithm.forms[self.backend].epilogue}
            self.nodes = fuse(model.nodes, able)
            for node in self.nodes:
                if node.layer:
                    self.plans[node.layer] = self.plans[node.layer].with_epilogue(_epilogue(node))
        self._idle = [self._bind(self.plans)]  # as far as nobody uses them now

    @property
    def memory(self) -> dict[str, int]:
        """Bytes that are held from now on: "arrays" between the layers, "workspace" of all, "packed weights".

        The weights as they were before packing belong to the model, and are not counted.
        """
        return {
            "arrays": self._array_bytes,
            "workspace": self._workspace_total,
            "packed weights": sum(one.cost.packed_bytes + _kept(one) for one in self.plans.values()),
        }

    @property
    def rounding(self) -> float:
        """The largest `Algorithm.rounding` of those in use, for `Model.tolerance`."""
        return max(one.algorithm.rounding for one in self.plans.values())

    # -- memory --------------------------------------------------------------------------------------------

    @contextmanager
    def borrowed(self) -> Iterator[BoundGraph]:
        """Take arrays that no other thread uses, and give them back; `pop` gives them to one thread only."""
        try:
            graph = self._idle.pop()
        except IndexError:
            graph = self._beside()
        try:
            yield graph
        finally:
            graph.photo = NO_PHOTO  # which may be large, and is not ours
            self._idle.append(graph)

    def _beside(self) -> BoundGraph:
        """Return the network once more, in other memory; the packed weights are the same."""
        sizes = {name: self.memory[name] for name in ("arrays", "workspace")}
        if lacking := Memory().lacking(sizes):
            raise WorkspaceError(f"a run of this network beside another one {lacking}; let one wait")
        return self._bind({name: one.twin() for name, one in self.plans.items()})

    def _bind(self, plans: dict[str, Plan]) -> BoundGraph:
        """Return the nodes, bound to these plans, which from now on share a workspace, and to new arrays."""
        self._workspace_total = share_workspace(plans.values())
        arrays, self._array_bytes = allocate(self.nodes)
        return BoundGraph(self.nodes, plans, self.model.weights, arrays, self.backend)

    # -- preparing -----------------------------------------------------------------------------------------

    def _by_layer(self, algorithm: Any) -> dict[str, str | Algorithm]:
        """Return the algorithm that is wanted for each layer."""
        layers = [node.name for node in self.model.layers]
        if not isinstance(algorithm, dict):
            return dict.fromkeys(layers, algorithm)
        if unknown := [name for name in algorithm if name not in layers]:
            raise ParameterError(
                f"algorithm names the layer {unknown[0]!r}; expected one of {', '.join(layers)}"
            )
        return {name: algorithm.get(name, "auto") for name in layers}

    def _plan(self, node: Node, algorithm: str | Algorithm, fused: bool) -> Plan:
        """Plan a layer with its bias and ReLU, or without both: then they are one pass more."""
        w, bias = self.model.weights[node.name]
        ends: dict[str, Any] = {"bias": bias, "epilogue": _epilogue(node)} if fused else {}
        make = partial(plan, node.convolution, w, backend=self.backend, threads=self.threads, **ends)
        try:
            return make(algorithm=algorithm)
        except UnsupportedError:
            one = algorithm if isinstance(algorithm, Algorithm) else ALGORITHMS[algorithm]
            self.replaced[node.name] = one.supports(node.convolution) or "it has no such form"
            return make(algorithm="auto")

    def __repr__(self) -> str:
        used = dict.fromkeys(one.algorithm.name for one in self.plans.values())
        text = f"<{self.model.title} on {self.backend}: {', '.join(used)}"
        if self.replaced:
            text += f'; "auto" chose for {", ".join(self.replaced)}'
        return text + ">"


def _epilogue(node: Node) -> str | None:
    """Return what the plan of a convolution does at its end."""
    if len(node.inputs) == 2:
        return "add_relu" if node.relu else "add"
    return "relu" if node.relu else None


def _kept(ready: Plan) -> int:
    """Return the bytes of a copy of the weights, which some plans keep beside the packed ones."""
    return ready.problem.w_bytes if ready.algorithm.forms[ready.backend].pack_key else 0
