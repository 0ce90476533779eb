"""Every step as a function of nothing: its plan, its arrays and its kernel are known beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from convlab.networks.graph import Step
from convlab.networks.ops import GLUE, MEAN, SPREAD
from convlab.plans.plan import Plan

Weights = Mapping[str, tuple[np.ndarray, np.ndarray]]


class Actions:
    """The steps of a network, bound to arrays.

    Parameters
    ----------
    steps : sequence of Step
    plans : mapping of str to Plan
        Of the convolutions; without their bias.
    weights : mapping of str to (ndarray, ndarray)
        Filters and bias (K,) of each.
    arrays : mapping of str to ndarray
        What each step writes.
    late : collection of str
        Convolutions that leave bias and ReLU to the step after them, see `fusion.late`.
    backend : str

    Attributes
    ----------
    photo : ndarray
        What the first step reads; set it before each run.
    all : list of callable
        In the order of the steps.
    features : ndarray
        What the last step writes.
    """

    def __init__(
        self, steps: Sequence[Step], plans: Mapping[str, Plan], weights: Weights, arrays, late, backend: str
    ):
        self._steps = {step.name: step for step in steps}
        self._plans, self._weights, self._late, self._glue = plans, weights, late, GLUE[backend]
        self.photo: np.ndarray | None = None
        self.all: list[Callable[[], None]] = []
        for step in steps:
            make = getattr(self, f"_{step.does}")
            self.all.append(make(step, [arrays[name] for name in step.takes], arrays[step.name]))
        self.features = arrays[steps[-1].name]

    def _normalise(self, step, takes, y):
        N, H, W, C = step.shape
        glue, rows = self._glue, (N * H, W * C)
        mean, spread = (np.tile(np.asarray(numbers, y.dtype), W) for numbers in (MEAN, SPREAD))  # (W*C,)
        scale = 1 / spread
        y = y.reshape(rows)
        return lambda: glue.normalise(self.photo.reshape(rows), mean, scale, y)

    def _conv(self, step, takes, y):
        glue, (x,), ready = self._glue, takes, self._plans[step.name]
        if step.name in self._late:
            return lambda: ready(x, out=y)
        bias, floor = self._weights[step.name][1], _floor(step)
        return lambda: glue.finish(ready(x, out=y), bias, floor)

    def _max_pool(self, step, takes, y):
        glue, (x,), (ending,) = self._glue, takes, self._endings(step)
        return lambda: glue.max_pool(x, step.padding, *ending, y)

    def _add(self, step, takes, y):  # y is the first of the summands, and is written over
        glue, x, floor = self._glue, takes[1], _floor(step)
        bias = sum(bias for bias, _ in self._endings(step))
        return lambda: glue.add(y, x, bias, floor)

    def _concat(self, step, takes, y):
        glue, parts = self._glue, list(zip(takes, self._endings(step), strict=True))

        def run():
            first = 0
            for x, ending in parts:
                glue.place(x, *ending, y, first)
                first += x.shape[3]

        return run

    def _mean(self, step, takes, y):
        glue, (x,) = self._glue, takes
        return lambda: glue.mean(x, y)

    def _endings(self, step: Step) -> list[tuple[np.ndarray, np.floating]]:
        """Return for each array the step reads the bias (K,) and the floor that it still waits for."""
        endings = []
        for before in (self._steps[name] for name in step.takes):
            if before.name in self._late:
                endings.append((self._weights[before.name][1], _floor(before)))
            else:
                zeros = np.zeros(before.shape[3], before.dtype)
                endings.append((zeros, zeros.dtype.type(-np.inf)))
        return endings


def _floor(step: Step) -> np.floating:
    """Return what ReLU raises every number to, or minus infinity where there is none."""
    return np.dtype(step.dtype).type(0 if step.relu else -np.inf)
