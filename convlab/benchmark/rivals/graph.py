"""What every rival is given: nodes in the order they run, and weights for those that are convolutions.

A `Model` is that already. A single layer becomes the smallest network there is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from convlab.networks.graph import Node
from convlab.problem import ConvProblem


@dataclass(frozen=True)
class Graph:
    """Nodes and weights, in our order of axes.

    Attributes
    ----------
    nodes : sequence of Node
        The first is the input, the last is what is asked for.
    weights : mapping of str to (ndarray, ndarray)
        Filters (K, R, S, C) and bias (K,) of each convolution, by its name; no bias is None.
    """

    nodes: Sequence[Node]
    weights: Mapping[str, tuple[np.ndarray, np.ndarray | None]]


def one_layer(problem: ConvProblem, w: np.ndarray) -> Graph:
    """Return a graph of one convolution, without bias and ReLU."""
    x = Node("x", "input", (), problem.x_shape, problem.dtype)
    y = Node("y", "conv", (x.name,), problem.y_shape, problem.dtype, problem=problem)
    return Graph((x, y), {y.name: (w, None)})
