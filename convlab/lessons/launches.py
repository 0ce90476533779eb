"""Launches to try a kernel on."""

from __future__ import annotations

import numpy as np

from convlab.lessons.cases import filled
from convlab.lessons.kernel_exercise import Launch
from convlab.oracle import reference
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div


def filter_launch(P: int, Q: int, R: int, S: int, block: tuple[int, int], whole: bool = True) -> Launch:
    """Return a launch that covers P x Q outputs of a filter with blocks; of whole numbers sums are exact."""
    rng = np.random.default_rng(12)
    H, W = P + R - 1, Q + S - 1
    x, w = filled(rng, H, W, whole=whole), filled(rng, R, S, whole=whole)
    problem = ConvProblem(1, H, W, 1, 1, R, S)
    y = reference(x[None, :, :, None], w[None, :, :, None], problem)[0, :, :, 0].astype(np.float32)
    grid = (ceil_div(Q, block[0]), ceil_div(P, block[1]))
    return Launch(grid, block, {"x": x, "w": w, "y": None}, y)


def numbers(*shape: int, step: float = 1) -> np.ndarray:
    """Return numbers of which no two are the same, from 1 on: whole ones, if `step` is."""
    size = int(np.prod(shape))
    return (np.random.default_rng(11).permutation(size).astype(np.float32).reshape(shape) + 1) * step
