"""What a plan asks of numbers that "auto" had not seen when it chose a transform."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from convlab.algorithms.spec import Algorithm
from convlab.auto import magnitudes
from convlab.problem import ConvProblem


@dataclass(frozen=True)
class Watch:
    """Looks at a plan's first x, and at weights that take the place of its own; warns if they are lost.

    Attributes
    ----------
    algorithm : Algorithm
        The transform that was chosen.
    weight : float
        The largest weight.
    instead : callable
        Returns, for a problem, the name of an algorithm that does not mix pixels.
    name : str
        What who called the plan calls x.
    depth : int
        How many calls ago that was.
    """

    algorithm: Algorithm
    weight: float
    instead: Callable[[ConvProblem], str]
    name: str = "x"
    depth: int = 3

    def see(self, problem: ConvProblem, x: np.ndarray) -> bool:
        """Warn if "auto" would have taken another algorithm, had it seen x; return whether that is enough."""
        if found := self.lost(problem, x):
            self._warn(problem, found, self.depth + 2)
        return True

    def lost(self, problem: ConvProblem, x: np.ndarray) -> str | None:
        """Return why numbers of x would be lost, or None."""
        return magnitudes.of_pixels(problem, self.algorithm, x, self.weight, self.name)

    def with_weights(self, problem: ConvProblem, w: np.ndarray) -> Watch:
        """Return what watches a plan with these weights; warn if "auto" would not have chosen it for them.

        That is the same one if they are about as large: x was seen beside such weights.
        """
        weight, found = magnitudes.of_weights(problem, self.algorithm, w)
        if found:
            self._warn(problem, found, 4)
        return replace(self, weight=weight).unless_alike(self)

    def unless_alike(self, before: Watch | None) -> Watch:
        """Return the one before, if it watches beside weights about as large."""
        if before is None:
            return self
        less, more = sorted((self.weight, before.weight))
        return before if more <= magnitudes.DIGIT * less else self

    def _warn(self, problem: ConvProblem, found: str, depth: int) -> None:
        """Say it of who called so many calls ago."""
        warnings.warn(
            f"this plan chose {self.algorithm.name} by itself, and {found}; "
            f"a plan with algorithm={self.instead(problem)!r} does not mix pixels",
            RuntimeWarning,
            stacklevel=depth,
        )
