"""An architecture as a list of steps: what is done, with what, and the shape of what comes out.

An architecture is called once with a `Trace`. Each of its methods notes a `Step` and returns it: a step
stands for the array that it will make, so it can be handed to the next one. The list is all that is needed
to run the network, in NumPy, with our plans, or in PyTorch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from convlab.errors import ShapeError
from convlab.networks import Network
from convlab.problem import ConvProblem

WINDOW, STRIDE = 3, 2  # of every max pool in both networks


@dataclass(frozen=True)
class Step:
    """One thing a network does, and the array it makes.

    Attributes
    ----------
    name : str
        Of the step, and of its array; a convolution is named as in `networks`.
    does : str
        "normalise", "conv" (bias and ReLU included), "max_pool", "add" (and ReLU), "concat" or "mean".
    takes : tuple of str
        Names of the arrays it reads.
    shape : tuple of int
        Of its array, (N, P, Q, K).
    dtype : str
    problem : ConvProblem, optional
        Of a convolution.
    relu : bool
        Are numbers below zero set to zero at its end?
    padding : int
        Of a max pool, in pixels all round.
    round_up : bool
        Of a max pool: does a last window that hangs over the edge count, too?
    """

    name: str
    does: str
    takes: tuple[str, ...]
    shape: tuple[int, int, int, int]
    dtype: str
    problem: ConvProblem | None = None
    relu: bool = False
    padding: int = 0
    round_up: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of its array."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize


class Trace:
    """Notes what an architecture does.

    Parameters
    ----------
    network : Network
        Where the convolutions are looked up, by name. N and dtype are theirs; H and W follow the photo.
    H, W : int
        Rows and columns of the photo.

    Attributes
    ----------
    photo : Step
        What the architecture is to begin with: the photo, normalised.
    steps : list of Step
        In the order they run.
    """

    def __init__(self, network: Network, H: int, W: int):
        first = network.layers[0].problem
        self.network, self.steps, self._dtype = network, [], first.dtype
        self.photo = self._note("photo", "normalise", (), (first.N, H, W, first.C))

    def conv(self, name: str, x: Step, relu: bool = True) -> Step:
        """Note a convolution of `x`, its bias, and ReLU."""
        N, H, W, C = x.shape
        problem = replace(self.network[name].problem, N=N, H=H, W=W)
        if problem.C != C:
            raise ShapeError(f"{name} reads {problem.C} channels, {x.name} has {C}; expected as many")
        return self._note(name, "conv", (x,), problem.y_shape, problem=problem, relu=relu)

    def max_pool(self, name: str, x: Step, padding: int = 0, round_up: bool = False) -> Step:
        """Note the largest number of every 3x3 window, two pixels apart."""
        N, H, W, C = x.shape
        P, Q = ((size + 2 * padding - WINDOW + round_up * (STRIDE - 1)) // STRIDE + 1 for size in (H, W))
        if P < 1 or Q < 1:
            raise ShapeError(f"{name} gets {H}x{W} pixels, less than its window; expected a larger photo")
        return self._note(name, "max_pool", (x,), (N, P, Q, C), padding=padding, round_up=round_up)

    def add(self, name: str, y: Step, x: Step) -> Step:
        """Note the sum of two arrays of one shape, and ReLU."""
        if y.shape != x.shape:
            raise ShapeError(f"{name} adds {y.name} {y.shape} and {x.name} {x.shape}; expected one shape")
        return self._note(name, "add", (y, x), y.shape, relu=True)

    def concat(self, name: str, *parts: Step) -> Step:
        """Note arrays put side by side: first the channels of one, then those of the next."""
        if len({part.shape[:3] for part in parts}) > 1:
            shapes = ", ".join(f"{part.name} {part.shape}" for part in parts)
            raise ShapeError(f"{name} puts {shapes} side by side; expected the same N, P and Q")
        channels = sum(part.shape[3] for part in parts)
        return self._note(name, "concat", parts, (*parts[0].shape[:3], channels))

    def mean(self, name: str, x: Step) -> Step:
        """Note the mean of every channel over all pixels."""
        return self._note(name, "mean", (x,), (x.shape[0], 1, 1, x.shape[3]))

    def _note(self, name, does, takes, shape, **more) -> Step:
        step = Step(name, does, tuple(one.name for one in takes), shape, self._dtype, **more)
        self.steps.append(step)
        return step
