"""dgrad by a product and col2im: what forward `im2col` does, its two steps undone in turn.

    cols[(c, r, s), m]  = sum over k of w[k, (c, r, s)] * dy[m, k]
    dx                  = col2im(cols)      each cell is added to the pixel that im2col copied it from
    bytes of the matrix = N*P*Q * R*S*C * b

The matrix is as large as the forward one, and what fell on padding has been multiplied for nothing. The fast
form has the matrix lie as im2row's does, so that a tap's channels are added side by side; and it goes through
the lines of dx, not of dy: a line is written by one thread, in one order of adding.

Caffe's backward pass, Jia et al. 2014, arXiv:1408.5093; Chetlur et al. 2014 (cuDNN), arXiv:1410.0759.
"""

from __future__ import annotations

import numpy as np

from convlab.algorithms.im2col.reference import add_back
from convlab.cpu.tile_size import tile_for
from convlab.gradients.spec import Form, Gradient, Shapes
from convlab.problem import ConvProblem
from convlab.support.integers import round_up


def shapes(problem: ConvProblem, threads: int) -> Shapes:
    """Return the shapes of the matrix (C*R*S, N*P*Q), and of the filters with their channels first."""
    M, filters, taps = problem.gemm
    return {"matrix": (problem.groups * taps, M), "filters": (problem.groups, filters, taps)}


def run(problem, dy, w, workspace, dx, threads):
    """Fill dx (N, H, W, C) with the gradient of the input."""
    cols, turned = workspace["matrix"], workspace["filters"]
    M, filters, taps = problem.gemm
    turned.reshape(problem.K, -1, problem.R, problem.S)[...] = w.transpose(0, 3, 1, 2)
    b = dy.reshape(M, problem.groups, filters).transpose(1, 2, 0)  # (G, K/G, M)
    np.matmul(turned.swapaxes(1, 2), b, out=cols.reshape(problem.groups, taps, M))
    dx[...] = 0
    add_back(cols, problem, dx)


def shapes_cpu(problem: ConvProblem, threads: int) -> Shapes:
    """Return the shapes of the matrix (N*P*Q, R*S*C), and of the filters in panels for `cpu.gemm`."""
    M, filters, taps = problem.gemm
    panels = problem.groups, filters * round_up(taps, tile_for(problem.dtype).lanes)
    return {"matrix": (M, problem.groups * taps), "panels": panels}


def run_cpu(*arguments) -> None:
    """Fill dx likewise, compiled."""
    from convlab.gradients.dgrad_col2im_cpu import run

    run(*arguments)


ALGORITHM = Gradient(
    name="col2im",
    summary="A product that makes im2col's matrix of gradients, then each cell added to its pixel.",
    source="Jia et al. 2014 (Caffe), arXiv:1408.5093; Chetlur et al. 2014, arXiv:1410.0759",
    forms={"numpy": Form(run, shapes), "cpu": Form(run_cpu, shapes_cpu)},
)
