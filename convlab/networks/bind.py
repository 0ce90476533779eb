"""Every node as a function of nothing: its plan, its arrays and its kernel are known beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType

import numpy as np

from convlab.networks import ops as ops_numpy
from convlab.networks.graph import Node
from convlab.networks.ops import MEAN, SPREAD
from convlab.plans.plan import Plan
from convlab.support.checks import share_memory

NO_PHOTO = np.empty(0)  # until a run brings one
Weights = Mapping[str, tuple[np.ndarray, np.ndarray]]


class BoundGraph:
    """The nodes of a network, bound to arrays.

    Parameters
    ----------
    nodes : sequence of Node
    plans : mapping of str to Plan
        Of the convolutions. One without a bias leaves that, and ReLU, to a pass of its own.
    weights : mapping of str to (ndarray, ndarray)
        Filters and bias (K,) of each.
    arrays : mapping of str to ndarray
        What each node writes.
    backend : str

    Attributes
    ----------
    photo : ndarray
        What the first node reads, if it is "normalise"; set it before each run.
    inputs : dict of str to ndarray
        The arrays of nodes of op "input"; fill them before each run.
    actions : list of callable
        In the order of the nodes; `run` calls them all.
    features : ndarray
        What the last node writes.
    """

    def __init__(
        self, nodes: Sequence[Node], plans: Mapping[str, Plan], weights: Weights, arrays, backend: str
    ):
        self._plans, self._weights, self._ops = plans, weights, _ops(backend)
        threads = max((one.threads for one in plans.values()), default=1)
        self._shared = {} if backend == "numpy" else {"threads": threads}
        self.photo = NO_PHOTO
        self.inputs = {node.name: arrays[node.name] for node in nodes if node.op == "input"}
        self.actions: list[Callable[[], None]] = []
        for node in nodes:
            bind = getattr(self, f"_{node.op}")
            self.actions.append(bind(node, [arrays[name] for name in node.inputs], arrays[node.name]))
        self.features = arrays[nodes[-1].name]

    def run(self) -> None:
        """Run all nodes."""
        self._ops.run(self.actions, **self._shared)

    def _normalise(self, node, inputs, y):
        N, H, W, C = node.shape
        ops, rows, shared = self._ops, (N * H, W * C), self._shared
        mean, spread = (np.tile(np.asarray(numbers, y.dtype), W) for numbers in (MEAN, SPREAD))  # (W*C,)
        scale = 1 / spread
        y = y.reshape(rows)
        if inputs:
            x = inputs[0].reshape(rows)
            return lambda: ops.normalise(x, mean, scale, y, **shared)
        return lambda: ops.normalise(self.photo.reshape(rows), mean, scale, y, **shared)

    def _conv(self, node, inputs, y):
        (x, *residual), ready = inputs, self._plans[node.layer or node.name]
        if ready.bias is not None:
            return ready.bound(x, y, *residual)
        ops, bias, floor = self._ops, self._weights[node.name][1], _floor(node)
        return lambda: ops.finish(ready(x, out=y), bias, floor)

    def _max_pool(self, node, inputs, y):
        ops, (x,), shared = self._ops, inputs, self._shared  # self in it would keep all arrays, in a circle
        corner = node.corner or (node.padding, node.padding)
        return lambda: ops.max_pool(x, node.window, node.stride, corner, y, **shared)

    def _add(self, node, inputs, y):
        ops, floor = self._ops, _floor(node)
        if share_memory(inputs[1], y):
            inputs = inputs[::-1]
        first, second = inputs
        if share_memory(first, y):  # a summand that nobody reads later is written over
            return lambda: ops.add(y, second, floor)

        def run():
            np.copyto(y, first)
            ops.add(y, second, floor)

        return run

    def _concat(self, node, inputs, y):
        ops = self._ops
        firsts = np.cumsum([0, *(x.shape[3] for x in inputs)]).tolist()

        def run():
            for x, first in zip(inputs, firsts, strict=False):
                ops.place(x, y, first)

        return run

    def _crop(self, node, inputs, y):
        (top, left), (_, P, Q, _) = node.corner, node.shape
        part = inputs[0][:, top : top + P, left : left + Q]
        return lambda: np.copyto(y, part)

    def _room(self, node, inputs, y):
        return lambda: None  # others fill it

    _input = _room

    def _mean(self, node, inputs, y):
        ops, (x,) = self._ops, inputs
        return lambda: ops.mean(x, y)


def _ops(backend: str) -> ModuleType:
    """Return what lies between convolutions, in the form for a backend."""
    if backend == "numpy":
        return ops_numpy
    from convlab.networks import ops_cpu  # brings Numba

    return ops_cpu


def _floor(node: Node) -> np.floating:
    """Return what ReLU raises every number to, or minus infinity where there is none."""
    return np.dtype(node.dtype).type(0 if node.relu else -np.inf)
