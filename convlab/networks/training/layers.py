"""Layers that learn: each goes forward, keeps what it will need, and comes back.

`forward(x)` returns y. `backward(dy)` is given the gradient of the loss with respect to that y, and returns
the one with respect to x. On the way it leaves the gradients of the layer's own numbers in `gradients`, under
the names they have in `parameters`. What `forward` keeps for `backward` is one array, `kept`: the layer's
input or its output, whichever is there anyway.

Rumelhart, Hinton & Williams 1986, doi:10.1038/323533a0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from math import sqrt
from typing import Any

import numpy as np

from convlab.api import plan
from convlab.errors import ParameterError, ShapeError
from convlab.gradients.api import bgrad, dgrad, wgrad
from convlab.networks.graph import Node
from convlab.problem import ConvProblem, check_computed
from convlab.support.checked import Count, Threads, checked
from convlab.support.checks import COMPUTES, check_array, check_axes, check_choice


class Layer:
    """What all layers have.

    Attributes
    ----------
    keeps : str
        Which array is kept from the way forward: the layer's "input" or its "output".
    kept : ndarray or None
        That array.
    parameters, gradients : dict of str to ndarray
        The numbers that are learned, and the loss's gradients with respect to them; empty for most.
    """

    keeps = "input"

    def __init__(self) -> None:
        self.kept: np.ndarray | None = None
        self.parameters: dict[str, np.ndarray] = {}
        self.gradients: dict[str, np.ndarray] = {}

    @property
    def kept_bytes(self) -> int:
        """Bytes of the array that is kept."""
        return 0 if self.kept is None else self.kept.nbytes

    def node(self, name: str, x: Node) -> Node:
        """Return what `forward` does with the array of a node, as a node of that name."""
        raise NotImplementedError

    def forward(self, x: np.ndarray) -> np.ndarray:
        """Return y (N, P, Q, K) for x (N, H, W, C)."""
        raise NotImplementedError

    def backward(self, dy: np.ndarray) -> np.ndarray:
        """Return dx (N, H, W, C) for dy (N, P, Q, K)."""
        raise NotImplementedError

    def _recall(self, dy: np.ndarray) -> np.ndarray:
        """Return what was kept, if dy is the gradient of what came out then."""
        if self.kept is None:
            raise ParameterError(f"{type(self).__name__}.backward has nothing kept; expected forward before")
        shape = self.kept.shape if self.keeps == "output" else self._made_of(self.kept).shape
        check_array("dy", dy, shape, "(N, P, Q, K)", (self.kept.dtype.name,))
        return self.kept

    def _made_of(self, x: np.ndarray) -> Node:
        """Return the node of an array that is no node's."""
        return self.node(type(self).__name__, Node("x", "input", (), x.shape, x.dtype.name))


def check_pictures(
    name: str, x: np.ndarray, shape: tuple[int, ...] | None = None, dtypes: Sequence[str] = COMPUTES
) -> None:
    """Refuse what is no batch of at least one picture, (N, H, W, C), of a shape if that is given.

    Raises
    ------
    ConvError
    """
    check_array(name, x, dtypes=dtypes)
    check_axes(name, x, "N, H, W, C")
    check_array(name, x, (max(len(x), 1), *(shape or x.shape[1:])), "(N, H, W, C)", dtypes)


@checked
class Conv(Layer):
    """A convolution and its bias.

    Parameters
    ----------
    problem : ConvProblem
        Its shape; N does not matter, a batch may have any.
    seed : int or tuple of int
        Of the random weights: normal, with variance 2 / (C/groups * R * S), so that numbers keep their size
        from layer to layer where ReLU follows; He et al. 2015, arXiv:1502.01852. The bias begins at 0.
    backend : str
        "cpu", "numpy" or "auto".
    threads : int
        Threads of the "cpu" backend; they change no bit of any result.
    """

    # Named, for "auto" depends on the machine: with the same seed everybody shall get the same network.
    # Nothing is kept ready between two steps: weights are new in each, and what is left to save, the choice
    # and the workspace, is about a tenth of a step.
    FORWARD, DGRAD, WGRAD = "im2row", "col2im", "parts"

    def __init__(
        self,
        problem: ConvProblem,
        *,
        seed: int | tuple[int, ...] = 0,
        backend: str = "auto",
        threads: Threads = 1,
    ) -> None:
        super().__init__()
        check_computed(problem)
        check_choice("backend", backend, ("auto", "cpu", "numpy"))
        self.problem = problem
        self._how: dict[str, Any] = {"backend": backend, "threads": threads}
        w = np.random.default_rng(seed).standard_normal(problem.w_shape)
        w *= sqrt(2 / problem.gemm[2])
        zeros = np.zeros(problem.K)
        self.parameters = {"w": w.astype(problem.dtype), "bias": zeros.astype(problem.dtype)}

    @checked
    def node(self, name: str, x: Node) -> Node:
        problem = replace(self.problem, N=x.shape[0])
        if (x.shape, x.dtype) != (problem.x_shape, problem.dtype):
            raise ShapeError(
                f"{x.name} has shape {x.shape}, {x.dtype}; {name} expected {problem.x_shape}, {problem.dtype}"
            )
        return Node(name, "conv", (x.name,), problem.y_shape, x.dtype, problem=problem)

    def forward(self, x: np.ndarray) -> np.ndarray:
        check_pictures("x", x, self.problem.x_shape[1:], (self.problem.dtype,))
        self.kept, problem = x, replace(self.problem, N=len(x))
        return plan(problem, *self.parameters.values(), algorithm=self.FORWARD, **self._how)(x)

    def backward(self, dy: np.ndarray) -> np.ndarray:
        x = self._recall(dy)
        problem = replace(self.problem, N=len(x))
        self.gradients = {
            "w": wgrad(problem, x, dy, algorithm=self.WGRAD, **self._how),  # (K, R, S, C/groups)
            "bias": bgrad(dy),  # (K,)
        }
        return dgrad(problem, dy, self.parameters["w"], algorithm=self.DGRAD, **self._how)


@checked
class Dense(Conv):
    """A dense layer: a convolution whose filters are as large as the picture, so y has one pixel.

    Parameters
    ----------
    shape : (int, int, int)
        Rows, columns and channels of x.
    K : int
        Numbers that come out for each picture.
    dtype : str
    options
        As `Conv` has them.
    """

    def __init__(
        self, shape: tuple[Count, Count, Count], K: int, *, dtype: str = "float32", **options: Any
    ) -> None:
        H, W, C = shape
        super().__init__(ConvProblem(1, H, W, C, K, H, W, dtype=dtype), **options)


class ReLU(Layer):
    """The larger of each number and 0."""

    keeps = "output"

    @checked
    def node(self, name: str, x: Node) -> Node:
        return Node(name, "relu", (x.name,), x.shape, x.dtype, relu=True)

    def forward(self, x: np.ndarray) -> np.ndarray:
        check_pictures("x", x)
        self.kept = np.maximum(x, 0)
        return self.kept

    def backward(self, dy: np.ndarray) -> np.ndarray:
        return dy * (self._recall(dy) > 0)  # what was raised to 0 had no say


@checked
class MaxPool(Layer):
    """The largest number of each window; the windows lie side by side.

    Parameters
    ----------
    window : int
        Its side, in pixels.
    """

    def __init__(self, window: Count = 2) -> None:
        super().__init__()
        self.window = window

    @checked
    def node(self, name: str, x: Node) -> Node:
        N, H, W, C = x.shape
        if H % self.window or W % self.window:
            raise ShapeError(f"{x.name} has {H}x{W} pixels; {name} expected multiples of {self.window}")
        shape = N, H // self.window, W // self.window, C
        return Node(name, "max_pool", (x.name,), shape, x.dtype, window=self.window, stride=self.window)

    def forward(self, x: np.ndarray) -> np.ndarray:
        check_pictures("x", x)
        self._made_of(x)  # or refused
        self.kept = x
        return self._largest(x)

    def backward(self, dy: np.ndarray) -> np.ndarray:
        x = self._recall(dy)
        dx, y, free = np.empty_like(x), self._largest(x), np.ones(dy.shape, bool)
        for pixel, its in zip(self._pixels(x), self._pixels(dx), strict=True):
            won = free & (pixel == y)  # of those that are equal the first
            np.multiply(dy, won, out=its)
            free &= ~won
        return dx

    def _largest(self, x: np.ndarray) -> np.ndarray:
        return reduce(np.maximum, self._pixels(x))

    def _pixels(self, x: np.ndarray) -> list[np.ndarray]:
        """Return views (N, P, Q, C) of x: the first pixel of every window, the second of every one, ..."""
        side = range(self.window)
        return [x[:, row :: self.window, col :: self.window] for row in side for col in side]
