"""Checkpointing: keep the input of every so many layers, and compute the rest again on the way back.

What the layers keep grows with the depth of a network, and soon it is most of its memory. But it can be made
again. Cut the network into pieces of `every` layers, and keep what crosses the cuts. On the way back each
piece goes forward once more, from its cut, before it goes back. The last piece has just gone forward: it
keeps what it has.

    bytes     what crosses the cuts so far, and what one piece keeps
    repeated  the convolutions of all pieces but the last, as far as what they write is needed again

Of n equal layers that is n/every + every arrays instead of n, the fewest at every = sqrt(n).

`checkpointing` is that as arithmetic, for any graph; `Checkpointed` does it, for layers in a row.

Chen, Xu, Zhang & Guestrin 2016, arXiv:1604.06174; Griewank & Walther 2000, doi:10.1145/347837.347846.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from convlab.errors import ParameterError
from convlab.networks.graph import Node
from convlab.networks.memory_plan import last_reads
from convlab.networks.training.layers import Layer
from convlab.networks.training.sequential import Sequential
from convlab.support.checked import Count, Filled, checked
from convlab.support.checks import LARGEST, check_whole


class Checkpoints(NamedTuple):
    """What checkpointing keeps and repeats.

    Attributes
    ----------
    kept_bytes : int
        Bytes of all arrays that are kept for the way back, at the moment when they are most; parameters and
        gradients not counted.
    repeated_macs : int
        Multiply-adds of the convolutions that run a second time.
    """

    kept_bytes: int
    repeated_macs: int


@checked
def checkpointing(nodes: Filled[Sequence[Node]], every: Count) -> Checkpoints:
    """Return what is kept and repeated if the network is cut after every so many nodes.

    Parameters
    ----------
    nodes : sequence of Node
        `Sequential.nodes(N)`, or `Model.nodes`; the first is the input.
    every : int
        Nodes in a piece; with as many as there are, nothing is repeated.

    Raises
    ------
    ConvError
        If a node reads what none before it makes.
    """
    last, by_name = last_reads(nodes), dict[str, Node]()
    for node in nodes:
        if strange := [name for name in node.inputs if name not in by_name]:
            raise ParameterError(
                f"nodes have none that makes {strange[0]} before {node.name}; expected all, from the input on"
            )
        by_name[node.name] = node
    crossing: set[str] = set()  # the cuts so far
    most = repeated = 0
    for begin in range(1, len(nodes), every):
        end = begin + every
        across = _crossing(nodes, last, begin)  # into this piece
        crossing |= across
        needed = {name for node in nodes[begin:end] for name in _needs(node)}
        most = max(most, sum(by_name[name].nbytes for name in crossing | needed))
        if end < len(nodes):
            there = across | _crossing(nodes, last, end)  # kept, whatever the piece needs
            again = needed - there  # and what that is made of, from the last node back
            for node in reversed(nodes[begin:end]):
                if node.name in again:
                    again |= set(node.inputs) - there
                    repeated += node.problem.macs if node.problem else 0
    return Checkpoints(most, repeated)


def _crossing(nodes: Sequence[Node], last: dict[str, int], place: int) -> set[str]:
    """Return the arrays that are made before a place, and read from there on."""
    return {node.name for node in nodes[:place] if last[node.name] >= place}


def _needs(node: Node) -> set[str]:
    """Return the arrays that the way back through a node reads: ReLU its output, the others their input."""
    inputs = node.inputs if node.op in ("conv", "max_pool") else ()
    return {*inputs, node.name} if node.relu else {*inputs}


class Checkpointed(Sequential):
    """Layers one after the other that keep the input of every so many of them, and no more.

    Parameters
    ----------
    every : int
    layers : Layer
        As `Sequential` has them: ``Checkpointed(3, **network.layers)``.

    Attributes
    ----------
    most_kept_bytes : int
        The largest number of bytes that was kept at once since the last `forward` began.
    """

    def __init__(self, every: int, /, **layers: Layer) -> None:
        check_whole("every", every, 1, LARGEST)
        super().__init__(**layers)
        rows = list(layers.values())
        self._pieces = [rows[begin : begin + every] for begin in range(0, len(rows), every)]
        self._inputs: list[np.ndarray] = []  # of the pieces that have gone forward and not back
        self.most_kept_bytes = 0

    def forward(self, x: np.ndarray) -> np.ndarray:
        """Return what the last layer makes of x (N, H, W, C)."""
        self._inputs, self.most_kept_bytes = [], 0
        for layer in self.layers.values():
            layer.kept = None
        for piece in self._pieces:
            self._inputs.append(x)
            for layer in piece:
                x = layer.forward(x)
                if piece is not self._pieces[-1]:
                    layer.kept = None
        self._weigh()
        return x

    def backward(self, dy: np.ndarray) -> np.ndarray:
        """Return the gradient with respect to x; those of the parameters lie in the layers then."""
        if not self._inputs:
            raise ParameterError("Checkpointed.backward has nothing kept; expected forward before")
        y: np.ndarray | None = None  # what the piece wrote
        for piece in reversed(self._pieces):
            x = self._inputs[-1]
            if y is not None:
                _again(piece, x, y)
                self._weigh()
            for layer in reversed(piece):
                dy = layer.backward(dy)
                layer.kept = None
            y = self._inputs.pop()
        return dy

    @property
    def kept_bytes(self) -> int:
        """Bytes that are kept now; what is kept twice counts once."""
        kept = [*self._inputs, *(layer.kept for layer in self.layers.values() if layer.kept is not None)]
        return sum({id(array): array.nbytes for array in kept}.values())

    def _weigh(self) -> None:
        self.most_kept_bytes = max(self.most_kept_bytes, self.kept_bytes)


def _again(piece: Sequence[Layer], x: np.ndarray, y: np.ndarray) -> None:
    """Have the layers of a piece keep what they need, given its input and its output; run what must run."""
    final, must = piece[-1], 0  # the first `must` layers run; what the others keep is there then
    for place, layer in enumerate(piece):
        if layer.keeps == "input":
            must = place
        elif layer is not final:
            must = place + 1
    for layer in piece[:must]:
        x = layer.forward(x)
    for layer in piece[must:]:
        layer.kept = x if layer.keeps == "input" else y
