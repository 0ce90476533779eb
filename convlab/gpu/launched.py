"""What an algorithm would launch: its kernel and the arguments, without running it."""

from __future__ import annotations

import numpy as np

from convlab.algorithms.base import Algorithm
from convlab.gpu.device import simulated
from convlab.problem import ConvProblem


def launched(algorithm: Algorithm, problem: ConvProblem) -> tuple:
    """Return the last kernel that an algorithm launches for a problem, and its arguments.

    Examples
    --------
    >>> kernel, arguments = launched(rung.algorithm("direct"), problem)  # doctest: +SKIP
    >>> assemble(kernel, *arguments)  # doctest: +SKIP
    """
    from convlab.plans import plan

    kept = []
    x, w = (np.zeros(shape, problem.dtype) for shape in (problem.x_shape, problem.w_shape))
    with simulated(traced=False) as device:
        device.launch = lambda kernel, grid, block, *arguments: kept.append((kernel, arguments))
        plan(problem, w, algorithm=algorithm, backend="gpu")(x)
    return kept[-1]
