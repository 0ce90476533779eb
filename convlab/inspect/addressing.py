"""Three ways for a thread to find its pixel, each in its shortest form.

    rows[m, t, c] = the number that tap t of output pixel m reads from channel c, or 0 on padding

All three write the windows of one image, which is im2row's matrix. Thread i has pixel m = i // C and channel
c = i % C, and walks over the taps. They differ in what they know beforehand: nothing, every place, or where
each window begins. The loaders of implicit, indirect and precomputed GEMM do the same, for blocks of threads
that multiply what they find.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from textwrap import dedent
from typing import NamedTuple

import numpy as np

from convlab.algorithms.indirect import indirection_buffer
from convlab.algorithms.precomputed_gemm.gpu import table as table_of
from convlab.algorithms.precomputed_gemm.offsets import deltas
from convlab.errors import ShapeError
from convlab.gpu import simulator
from convlab.gpu.numba_cuda import cuda, float32
from convlab.gpu.occupancy import WARP
from convlab.gpu.simulator import Trace
from convlab.gpu.simulator.launch_checks import kernel_function
from convlab.problem import ConvProblem
from convlab.support.checked import Count, checked
from convlab.support.checks import check_array, check_choice
from convlab.support.integers import ceil_div

THREADS = 64


@cuda.jit
def worked_out(x, rows, H, W, C, Q, R, S, stride, padding):
    m, c = divmod(cuda.grid(1), C)
    if m < rows.shape[0]:
        p, q = divmod(m, Q)
        for r in range(R):
            for s in range(S):
                h, w = p * stride + r - padding, q * stride + s - padding
                inside = 0 <= h < H and 0 <= w < W
                rows[m, r * S + s, c] = x[(h * W + w) * C + c] if inside else float32(0)


@cuda.jit
def looked_up(x, table, rows, C):
    m, c = divmod(cuda.grid(1), C)
    if m < rows.shape[0]:
        tile, row = divmod(m, table.shape[2])
        for t in range(rows.shape[1]):
            place = table[tile, t, row]
            rows[m, t, c] = x[place + c] if place >= 0 else float32(0)


@cuda.jit
def led(x, table, rows, C, R, S, next_s, next_r):
    m, c = divmod(cuda.grid(1), C)
    if m < rows.shape[0]:
        at, mask = table[0, m] + c, table[1, m]
        for r in range(R):
            for s in range(S):
                t = r * S + s
                rows[m, t, c] = x[at] if (mask >> t) & 1 else float32(0)
                at += next_s if s < S - 1 else next_r


def _worked_out(problem: ConvProblem, rows: int) -> tuple:
    (stride, _), ((padding, _), _) = problem.stride, problem.padding
    return (), (problem.H, problem.W, problem.C, problem.Q, problem.R, problem.S, stride, padding)


def _looked_up(problem: ConvProblem, rows: int) -> tuple:
    return (indirection_buffer(problem, rows),), (problem.C,)


def _led(problem: ConvProblem, rows: int) -> tuple:
    table = table_of(problem).view(np.int32)  # starts may lie before the picture
    return (table,), (problem.C, problem.R, problem.S, *deltas(problem)[:2])


class Way(NamedTuple):
    """One way: the kernel, and ``arguments(problem, rows)``, its table (if it has one) and its numbers."""

    kernel: Callable
    arguments: Callable


WAYS = {
    "worked out": Way(worked_out, _worked_out),
    "looked up": Way(looked_up, _looked_up),
    "led by deltas": Way(led, _led),
}


@checked
def windows(name: str, problem: ConvProblem, x: np.ndarray, rows: Count = WARP) -> tuple[np.ndarray, Trace]:
    """Write the windows of an image with one of `WAYS`, in the lane simulator.

    Parameters
    ----------
    name : str
    problem : ConvProblem
        One image, one group, 31 taps at most; one stride and padding for both axes, no dilation.
    x : ndarray of float32, (1, H, W, C)
    rows : int
        Pixels in a tile of the indirection buffer.

    Returns
    -------
    ndarray, (P*Q, R*S, C)
        The matrix.
    Trace
    """
    check_choice("name", name, WAYS)
    sides = {*problem.padding[0], *problem.padding[1]}
    plain = len({*problem.stride}) == len(sides) == 1 and problem.dilation == (1, 1)
    if problem.N > 1 or problem.groups > 1 or problem.R * problem.S > 31 or not plain:
        raise ShapeError(
            f"problem={problem}; expected one image, one group, 31 taps at most, no dilation, and one stride "
            "and padding for all sides"
        )
    check_array("x", x, problem.x_shape, "(1, H, W, C)", ("float32",))
    way, shape = WAYS[name], (problem.P * problem.Q, problem.R * problem.S, problem.C)
    tables, numbers = way.arguments(problem, rows)
    found = simulator.poisoned(shape, np.float32)
    blocks = ceil_div(shape[0] * shape[2], THREADS)
    trace = simulator.run(way.kernel, blocks, THREADS, x.reshape(-1), *tables, found, *numbers)
    trace.check()
    return np.array(found), trace


# -- what stands in the source -----------------------------------------------------------------------------


@checked
def divisions(*functions: Callable) -> int:
    """Return how many divisions stand in the source of kernels and device functions.

    Those by a number that the compiler knows are left out: it turns them into shifts.
    """
    return sum(_divisions(kernel_function(function, "functions")) for function in functions)


def _divisions(function) -> int:
    variables = set(function.__code__.co_varnames)  # what they hold is known no earlier than at the launch

    def varies(divisor):
        return any(isinstance(node, ast.Name) and node.id in variables for node in ast.walk(divisor))

    divisors = []
    for node in ast.walk(ast.parse(dedent(inspect.getsource(function)))):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.Mod, ast.Div)):
            divisors.append(node.right)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "divmod":
            divisors.append(node.args[1])
    return sum(map(varies, divisors))
