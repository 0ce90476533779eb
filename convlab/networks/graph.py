"""An architecture as a list of nodes: what is done, with what, and the shape of what comes out.

An architecture is called once with a `GraphBuilder`. Each of its methods notes a `Node` and returns it: a
node stands for the array that it will make, so it can be handed to the next one. The list is all that is
needed to run the network, in NumPy, with our plans, or in PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from convlab.errors import ShapeError
from convlab.networks.layers import Network
from convlab.problem import ConvProblem


@dataclass(frozen=True)
class Node:
    """One thing a network does, and the array it makes.

    Attributes
    ----------
    name : str
        Of the node, and of its array; a convolution is named as in `networks`.
    op : str
        "normalise", "conv" (bias included, and ReLU if `relu` says so), "max_pool", "add" (and ReLU),
        "concat" or "mean"; in a network that learns also "input", and "relu" by itself; after `fuse` also
        "room", an array that others fill; in a tile of a network also "input", and "crop", a part of an
        array.
    inputs : tuple of str
        Names of the arrays it reads.
    shape : tuple of int
        Of its array, (N, P, Q, K).
    dtype : str
    problem : ConvProblem, optional
        Of a convolution.
    relu : bool
        Are numbers below zero set to zero at its end?
    window, stride, padding : int
        Of a max pool, in pixels: its side, the distance of two windows, and what is added all round.
    round_up : bool
        Of a max pool: does a last window that hangs over the edge count, too?
    corner : (int, int), optional
        Of a max pool in a tile, where not all sides are alike: what is added above and at the left. Of a
        crop: the first row and column that it takes.
    layer : str
        Of a convolution that a sum became part of: its own name; `name` is that of the sum.
    into, first : str and int
        Of a convolution that fills a part of a wider array: which, and from which channel on.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    shape: tuple[int, int, int, int]
    dtype: str
    problem: ConvProblem | None = None
    relu: bool = False
    window: int = 0
    stride: int = 0
    padding: int = 0
    round_up: bool = False
    corner: tuple[int, int] | None = None
    layer: str = ""
    into: str = ""
    first: int = 0

    @property
    def convolution(self) -> ConvProblem:
        """The problem of a node that is a convolution."""
        assert self.problem is not None
        return self.problem

    @property
    def nbytes(self) -> int:
        """Bytes of its array."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize


def pooled(size: int, window: int, stride: int, padding: int, round_up: bool = False) -> int:
    """Return how many windows of a max pool lie along an axis; with `round_up` one may hang over the edge.

    One that would begin behind the last pixel sees none, and does not count (as in PyTorch's `ceil_mode`).
    """
    windows = (size + 2 * padding - window + round_up * (stride - 1)) // stride + 1
    return windows - (round_up and (windows - 1) * stride >= size + padding)


class GraphBuilder:
    """Notes what an architecture does.

    Parameters
    ----------
    network : Network
        Where the convolutions are looked up, by name. N and dtype are theirs; H and W follow the photo.
    H, W : int
        Rows and columns of the photo.

    Attributes
    ----------
    photo : Node
        What the architecture is to begin with: the photo, normalised.
    nodes : list of Node
        In the order they run.
    """

    def __init__(self, network: Network, H: int, W: int) -> None:
        first = network.layers[0].problem
        self.network, self._dtype = network, first.dtype
        self.nodes: list[Node] = []
        self.photo = self._note("photo", "normalise", (), (first.N, H, W, first.C))

    def conv(self, name: str, x: Node, relu: bool = True) -> Node:
        """Note a convolution of `x`, its bias, and ReLU."""
        N, H, W, C = x.shape
        problem = replace(self.network[name].problem, N=N, H=H, W=W)
        if problem.C != C:
            raise ShapeError(f"{name} reads {problem.C} channels, {x.name} has {C}; expected as many")
        return self._note(name, "conv", (x,), problem.y_shape, problem=problem, relu=relu)

    def max_pool(
        self, name: str, x: Node, window: int, stride: int, padding: int = 0, round_up: bool = False
    ) -> Node:
        """Note the largest number of every square window, `stride` pixels apart."""
        N, H, W, C = x.shape
        P, Q = (pooled(size, window, stride, padding, round_up) for size in (H, W))
        if P < 1 or Q < 1:
            raise ShapeError(f"{name} gets {H}x{W} pixels, less than its window; expected a larger photo")
        sizes = {"window": window, "stride": stride, "padding": padding}
        return self._note(name, "max_pool", (x,), (N, P, Q, C), **sizes, round_up=round_up)

    def add(self, name: str, y: Node, x: Node) -> Node:
        """Note the sum of two arrays of one shape, and ReLU."""
        if y.shape != x.shape:
            raise ShapeError(f"{name} adds {y.name} {y.shape} and {x.name} {x.shape}; expected one shape")
        return self._note(name, "add", (y, x), y.shape, relu=True)

    def concat(self, name: str, *parts: Node) -> Node:
        """Note arrays put side by side: first the channels of one, then those of the next."""
        if len({part.shape[:3] for part in parts}) > 1:
            shapes = ", ".join(f"{part.name} {part.shape}" for part in parts)
            raise ShapeError(f"{name} puts {shapes} side by side; expected the same N, P and Q")
        channels = sum(part.shape[3] for part in parts)
        return self._note(name, "concat", parts, (*parts[0].shape[:3], channels))

    def mean(self, name: str, x: Node) -> Node:
        """Note the mean of every channel over all pixels."""
        return self._note(name, "mean", (x,), (x.shape[0], 1, 1, x.shape[3]))

    def _note(
        self, name: str, op: str, inputs: Sequence[Node], shape: tuple[int, int, int, int], **more: Any
    ) -> Node:
        node = Node(name, op, tuple(one.name for one in inputs), shape, self._dtype, **more)
        self.nodes.append(node)
        return node
