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
from math import sqrt
from typing import Any

import numpy as np

from convlab.api import conv2d
from convlab.errors import ParameterError, ShapeError
from convlab.gradients.api import bgrad, dgrad, wgrad
from convlab.problem import ConvProblem, check_computed
from convlab.support.checked import Count, Threads, checked
from convlab.support.checks import COMPUTES, check_array, check_axes, check_choice

Shape = tuple[Count, Count, Count]  # of one picture: rows, columns, channels


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

    @checked
    def output_shape(self, shape: Shape) -> Shape:
        """Return rows, columns and channels of y for those of x."""
        return shape

    @checked
    def macs(self, N: Count) -> int:
        """Return the multiply-adds of `forward` for N pictures, of convolutions alone."""
        return 0

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
        N, *shape = self.kept.shape
        if self.keeps == "input":
            shape = list(self.output_shape((shape[0], shape[1], shape[2])))
        check_array("dy", dy, (N, *shape), "(N, P, Q, K)", (self.kept.dtype.name,))
        return self.kept


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
    def output_shape(self, shape: Shape) -> Shape:
        _, P, Q, K = self.problem.y_shape
        return P, Q, K

    @checked
    def macs(self, N: Count) -> int:
        return replace(self.problem, N=N).macs

    def forward(self, x: np.ndarray) -> np.ndarray:
        check_pictures("x", x, self.problem.x_shape[1:], (self.problem.dtype,))
        self.kept = x
        steps: dict[str, Any] = {
            name: getattr(self.problem, name) for name in ("stride", "padding", "dilation", "groups")
        }
        w, bias = self.parameters.values()
        return conv2d(x, w, bias, **steps, algorithm=self.FORWARD, **self._how)

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

    def __init__(self, shape: Shape, K: int, *, dtype: str = "float32", **options: Any) -> None:
        H, W, C = shape
        super().__init__(ConvProblem(1, H, W, C, K, H, W, dtype=dtype), **options)


class ReLU(Layer):
    """The larger of each number and 0."""

    keeps = "output"

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
    def output_shape(self, shape: Shape) -> Shape:
        H, W, C = shape
        return H // self.window, W // self.window, C

    def forward(self, x: np.ndarray) -> np.ndarray:
        check_pictures("x", x)
        if x.shape[1] % self.window or x.shape[2] % self.window:
            raise ShapeError(
                f"x has {x.shape[1]}x{x.shape[2]} pixels; expected multiples of the window, {self.window}"
            )
        self.kept = x
        return self._windows(x).max(axis=-1)

    def backward(self, dy: np.ndarray) -> np.ndarray:
        x = self._recall(dy)
        winner = self._windows(x).argmax(axis=-1)[..., None]  # the first of those that are equal
        dx = np.zeros((*dy.shape, self.window**2), dy.dtype)  # (N, P, Q, C, pixels of a window)
        np.put_along_axis(dx, winner, dy[..., None], axis=-1)
        N, P, Q, C = dy.shape
        dx = dx.reshape(N, P, Q, C, self.window, self.window).transpose(0, 1, 4, 2, 5, 3)
        return dx.reshape(x.shape)

    def _windows(self, x: np.ndarray) -> np.ndarray:
        """Return x (N, H, W, C) as (N, P, Q, C, pixels of a window)."""
        (N, H, W, C), side = x.shape, self.window
        rows = x.reshape(N, H // side, side, W // side, side, C)
        return rows.transpose(0, 1, 3, 5, 2, 4).reshape(N, H // side, W // side, C, side * side)
