"""Depthwise convolution, the fast form: its weights in panels, its threads, and what the kernel is told.

The kernel is in `convlab.algorithms.depthwise.cpu_kernel`.
"""

from __future__ import annotations

import numpy as np

from convlab.algorithms.depthwise.cpu_kernel import depthwise_part, shared
from convlab.cpu import gemm
from convlab.cpu.epilogue import output
from convlab.cpu.product_tile import product_tile
from convlab.cpu.register_tile import tile_for
from convlab.cpu.sliding_window import window_for, window_tile
from convlab.cpu.threads import bound_for, parallel_for
from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty
from convlab.support.checked import checked
from convlab.support.integers import ceil_div

NEARLY = 1.2  # lines that the thread with the most computes, over its even share


def pack(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return the weights in panels: of a vector of channels each, or of the filters of each channel."""
    if problem.K > problem.C:
        return gemm.pack(w.reshape(problem.C, problem.K // problem.C, -1))
    lanes = tile_for(problem.dtype).lanes
    vectors, taps = ceil_div(problem.K, lanes), problem.R * problem.S
    panels = aligned_empty((vectors, taps, lanes), problem.dtype)
    panels[-1] = 0
    for v, left in enumerate(range(0, problem.K, lanes)):
        some = w[left : left + lanes].reshape(-1, taps)
        panels[v, :, : len(some)] = some.T
    return panels.reshape(1, -1)


def allocate(problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    """Return the workspace: what a tap beside the picture reads, zeros (C,)."""
    return {"outside": np.zeros(problem.C, problem.dtype)}


def run(problem, x, panels, workspace, out, threads):
    """Fill out.y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    _launch(parallel_for, problem, x, panels, workspace, out, threads)


def bind(problem, x, panels, workspace, out, threads):
    """Return `run` with these arguments, as a function of nothing: only the kernel is left to call."""
    return _launch(bound_for, problem, x, panels, workspace, out, threads)


def _launch(launch, problem, x, panels, workspace, out, threads):
    window, multiplier, tile, *rest = _arguments(problem, x, panels, workspace, out)
    lines, together = problem.N * problem.P, window.lines if window else 1
    # Threads share the lines, if that is nearly even. So a core finds its part of x where its part of the
    # layer before left it: to fetch a number from another core takes longer than what is done with it.
    by_lines = ceil_div(lines, threads * together) * threads * together <= NEARLY * lines
    sides = (lines, together), (problem.C, problem.C if by_lines else tile.cols)
    return launch(threads, *sides, depthwise_part, shared, window, multiplier, tile, *rest)


@checked
def as_called(problem: ConvProblem) -> tuple:
    """Return what `depthwise_part` takes for a whole layer, its arrays all zeros: to read its machine code.

    Parameters
    ----------
    problem : ConvProblem
        A layer that depthwise serves.
    """
    shapes = problem.x_shape, problem.w_shape, problem.y_shape
    x, w, y = (np.zeros(shape, problem.dtype) for shape in shapes)
    arguments = _arguments(problem, x, pack(problem, w), allocate(problem, 1), output(y))
    return 0, problem.N * problem.P, 0, problem.C, *arguments


def _arguments(problem, x, panels, workspace, out) -> tuple:
    """Return what the kernel takes after its part of y."""
    stride, corner, dilation = problem.geometry
    taps_and_steps = problem.R, problem.S, *stride, *corner, *dilation
    sizes = *problem.x_shape[1:], *problem.y_shape[1:], *taps_and_steps
    multiplier = None if problem.K == problem.C else problem.K // problem.C
    window = window_for(problem.R, problem.S, stride, dilation) if multiplier is None else None
    if window is not None:
        tile = window_tile(problem.dtype, window, problem.Q)
    else:
        tile = product_tile(problem.dtype, problem.K // problem.C)
    return window, multiplier, tile, x.reshape(-1), panels, out, workspace["outside"], sizes
