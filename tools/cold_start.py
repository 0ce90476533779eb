"""How long a user waits for the first convolution: Python is up, nothing of convlab is imported yet."""

from __future__ import annotations

import os
import subprocess
import sys

from convlab.auto.timing import summary
from convlab.benchmark.layers import Workload
from convlab.benchmark.saved import Row
from convlab.errors import ConvError
from convlab.support import another_python

_PROGRAM = """
import time
start = time.perf_counter()
import numpy as np
import convlab
x, w = (np.ones(shape, np.float32) for shape in ({x}, {w}))
y = convlab.conv2d(x, w, stride={stride}, padding={padding})
seconds = time.perf_counter() - start
assert y[0, {middle}, 0] == {taps}, f"an output is {{y[0, {middle}, 0]}}, expected {taps}"
print(seconds)
"""


def first_call(workload: Workload, rounds: int = 3) -> list[Row]:
    """Time imports (NumPy's, convlab's, Numba's) and the first `conv2d` of fresh processes.

    The first process may compile; it fills the cache of kernels on disk and is not counted.
    """
    problem = workload.problem
    program = _PROGRAM.format(
        x=problem.x_shape,
        w=problem.w_shape,
        stride=problem.stride,
        padding=problem.padding,
        middle=f"{problem.P // 2}, {problem.Q // 2}",
        taps=problem.gemm[2],
    )
    times = [_run(program) for _ in range(1 + rounds)][1:]
    return [
        Row(
            *("first", workload.network, workload.layer, workload.count, problem, "conv2d"),
            ours=True,
            threads=1,
            rounds=rounds,
            timing=summary(times),
        )
    ]


def _run(program: str) -> float:
    command = [sys.executable, *another_python.program(program)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"it ended with code {done.returncode}, without a word"]
        raise ConvError(f"conv2d in a fresh process is wrong: {said[-1]}")
    return float(done.stdout)
