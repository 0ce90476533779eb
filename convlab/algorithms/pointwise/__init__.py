"""Pointwise convolution: a filter of one pixel. Nothing to unroll, the picture already is the matrix.

    y[m, k] = sum over c of x[m, c] * w[k, c]          m counts the N*H*W pixels

With stride 1 and no padding every input pixel is one output pixel, in the same order; as NHWC its channels
are one row of a matrix. MobileNets spend most of their time here.
"""

from __future__ import annotations

import numpy as np

from convlab.algorithms.binding import gpu_form
from convlab.algorithms.im2row import pack_panels, panel_bytes
from convlab.algorithms.spec import Algorithm, Form, Formula
from convlab.cost.phases import product
from convlab.problem import ConvProblem


def refuses(problem: ConvProblem) -> str | None:
    """Say what makes this problem more than one product of matrices."""
    if (problem.R, problem.S) != (1, 1):
        return f"the filter is {problem.R}x{problem.S}; pointwise needs 1x1"
    if problem.stride != (1, 1):
        return f"stride={problem.stride}; pointwise needs stride 1"
    if problem.padding != ((0, 0), (0, 0)):
        return f"padding={problem.padding}; pointwise needs none"
    return None


def _run_numpy(problem, x, w, workspace, y, threads):
    M, filters, channels = problem.gemm
    a = x.reshape(M, problem.groups, channels).swapaxes(0, 1)  # (G, M, C/G)
    b = w.reshape(problem.groups, filters, channels).swapaxes(1, 2)  # (G, C/G, K/G)
    np.matmul(a, b, out=y.reshape(M, problem.groups, filters).swapaxes(0, 1))


def _run_cpu(problem, x, panels, workspace, y, threads):
    from convlab.cpu.gemm import gemm

    M, filters, channels = problem.gemm
    for g in range(problem.groups):
        a, out = x.reshape(-1)[g * channels :], y.reshape(-1)[g * filters :]
        gemm(a, problem.C, 1, panels[g], out, problem.K, M, filters, channels, threads)


TRAFFIC = Formula("(N*H*W*C + K*C/G + N*P*Q*K) * b")

ALGORITHM = Algorithm(
    name="pointwise",
    summary="A 1x1 filter with stride 1: the picture is the matrix already.",
    source="Lin, Chen & Yan 2013, arXiv:1312.4400 (Network In Network)",
    refuses=refuses,
    forms={
        "numpy": Form(run=_run_numpy, bytes_moved=TRAFFIC),
        "cpu": Form(
            run=_run_cpu,
            bytes_moved=TRAFFIC,
            packed_bytes=panel_bytes,
            pack=pack_panels,
            passes=lambda: (product(),),
        ),
        "gpu": gpu_form("pointwise", parts=("pack", "packed_bytes"), bytes_moved=TRAFFIC),
    },
)
