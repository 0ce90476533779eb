"""What an algorithm would launch: its kernels, their grids and arguments, without running them."""

from __future__ import annotations

from typing import Any

import numpy as np

from convlab import plan
from convlab.algorithms.spec import Algorithm
from convlab.gpu.device import using
from convlab.gpu.simulated_gpu import Simulator
from convlab.problem import ConvProblem
from convlab.support.checked import checked


class Recorder(Simulator):
    """A device that runs nothing, and remembers what it was asked to run.

    Attributes
    ----------
    launches : list of (kernel, grid, block, arguments)
    """

    def __init__(self):
        super().__init__(traced=False)
        self.launches: list[tuple] = []

    def launch(self, kernel: Any, grid: Any, block: Any, *arguments: Any) -> None:
        """Remember a launch."""
        self.launches.append((kernel, grid, block, arguments))


@checked
def record_launches(problem: ConvProblem, algorithm: Algorithm | str) -> list[tuple]:
    """Return (kernel, grid, block, arguments) of every launch of an algorithm; nothing is run."""
    recorder = Recorder()
    run_on(recorder, problem, algorithm)
    return recorder.launches


@checked
def last_launch(algorithm: Algorithm | str, problem: ConvProblem) -> tuple:
    """Return the last kernel that an algorithm launches for a problem, and its arguments.

    Examples
    --------
    >>> kernel, arguments = last_launch("implicit_gemm", ConvProblem(1, 8, 8, 4, 16, 3, 3))
    >>> kernel.py_func.__name__, [array.shape for array in arguments[:4]]
    ('product', [(256,), (256,), (576,), (576,)])
    """
    kernel, _, _, arguments = record_launches(problem, algorithm)[-1]
    return kernel, arguments


def run_on(device: Simulator, problem: ConvProblem, algorithm: Algorithm | str) -> None:
    """Run an algorithm on a device, on random numbers."""
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape).astype(problem.dtype) for shape in (problem.x_shape, problem.w_shape))
    with using(device):
        plan(problem, w, algorithm=algorithm, backend="gpu")(x)
