"""The weights as the fast forms of direct convolution read them: a vector of filters for each tap."""

from __future__ import annotations

import numpy as np

from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty


def filters_innermost(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return w with the filters innermost, (groups, R, S, C/groups, K/groups)."""
    _, R, S, channels = w.shape
    packed = aligned_empty((problem.groups, R, S, channels, problem.K // problem.groups), w.dtype)
    packed[...] = w.reshape(problem.groups, -1, R, S, channels).transpose(0, 2, 3, 4, 1)
    return packed
