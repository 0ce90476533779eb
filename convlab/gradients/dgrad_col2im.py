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

from convlab.algorithms.binding import late
from convlab.algorithms.form import WEIGHTS
from convlab.algorithms.im2col.reference import add_back, channels_first
from convlab.cost.common import MATRIX, THROUGH_A_MATRIX, panel_bytes
from convlab.cost.formula import Formula
from convlab.cost.phases import RUNS, USUAL, Phase, packing, product, stream
from convlab.gradients.spec import Form, Gradient, Shapes, Work
from convlab.problem import ConvProblem


def shapes(problem: ConvProblem, threads: int) -> Shapes:
    """Return the shape of the matrix (C*R*S, N*P*Q); the fast form's is its transpose."""
    M, _, taps = problem.gemm
    return {"matrix": (problem.groups * taps, M)}


def pack(problem: ConvProblem, w: np.ndarray, threads: int, before=None, dy=None) -> np.ndarray:
    """Return the filters with their channels first, (groups, K/groups, C*R*S)."""
    return channels_first(problem, w)


def run(problem, given, filters, workspace, dx, threads):
    """Fill dx (N, H, W, C) with the gradient of the input."""
    (dy,), cols, (M, K, taps) = given, workspace["matrix"], problem.gemm
    b = dy.reshape(M, problem.groups, K).transpose(1, 2, 0)  # (G, K/G, M)
    np.matmul(filters.swapaxes(1, 2), b, out=cols.reshape(problem.groups, taps, M))
    dx[...] = 0
    add_back(cols, problem, dx)


def phases(problem: ConvProblem, threads: int) -> list[Work]:
    """Return what packing and a run consist of."""
    adding = Phase("add back", streams=(MATRIX_READ, stream("2*N*H*W*C*b")), begins={"run": Formula(RUNS)})
    return [((packing(), product("N*P*Q", "R*S*C/G", "K/G", tile=USUAL), adding), problem)]


_CPU = f"{__name__}_cpu"
MATRIX_READ = stream(MATRIX.text)
PANELS = panel_bytes("R*S*C/G", "K/G")  # whose columns are the numbers of a filter

# dy and w are read, the matrix is written and read; a pixel is read and written for each of its cells.
ADDED_BACK = Formula("(N*H*W*C + 4*N*P*Q*R*S*C + K*R*S*C/G + N*P*Q*K) * b")

ALGORITHM = Gradient(
    name="col2im",
    summary="A product that makes im2col's matrix of gradients, then each cell added to its pixel.",
    source="Jia et al. 2014 (Caffe), arXiv:1408.5093; Chetlur et al. 2014, arXiv:1410.0759",
    forms={
        "numpy": Form(run, shapes, ADDED_BACK, pack=pack, packed_bytes=WEIGHTS),
        "cpu": Form(
            late(_CPU, "run"),
            shapes,
            THROUGH_A_MATRIX,
            pack=late(_CPU, "pack"),
            packed_bytes=PANELS,
            phases=phases,
        ),
    },
)
