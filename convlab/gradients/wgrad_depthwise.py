"""wgrad of a depthwise convolution: no product of matrices, each channel has a sum of its own.

    dw[k, r, s] = sum over n, p, q of dy[n, p, q, k] * (the pixel of channel k // m that tap (r, s) reads)

m = K/C filters read a channel. For a product that would be m rows of dy to a matrix; but channels lie side by
side, and so do their sums: a vector of gradients times a vector of pixels, for each tap.

Howard et al. 2017, "MobileNets", arXiv:1704.04861, section 3.1, has the forward pass.
"""

from __future__ import annotations

import numpy as np

from convlab.algorithms.binding import late
from convlab.algorithms.depthwise import refuses
from convlab.cost.common import ONCE
from convlab.cost.formula import Formula
from convlab.cost.phases import Phase, stream
from convlab.gradients.spec import Form, Gradient, Shapes, Work
from convlab.problem import ConvProblem


def shapes(problem: ConvProblem, threads: int) -> Shapes:
    """Return the shape of the sums, with the filters side by side."""
    return {"sums": (problem.R, problem.S, problem.K)}


def run(problem, given, packed, workspace, dw, threads):
    """Fill dw (K, R, S, 1) with the gradient of the weights."""
    (x, dy), sums, each = given, workspace["sums"], (problem.C, problem.K // problem.C)
    for r in range(problem.R):
        for s in range(problem.S):
            (p, q), (row, col) = problem.inside(r, s)
            some = dy[:, p, q]
            some = some.reshape(*some.shape[:3], *each)  # (n, p, q, C, m)
            np.einsum("npqcm,npqc->cm", some, x[:, row, col], out=sums[r, s].reshape(each))
    dw[..., 0] = sums.transpose(2, 0, 1)


def phases(problem: ConvProblem, threads: int) -> list[Work]:
    """Return what a run consists of: for each pixel and tap vectors are read, and sums read and written."""
    taps = "N*P*Q*R*S"
    streams = stream(f"{taps}*(K + C)*b", "(S*C + K)*b"), stream(f"2*{taps}*K*b", "R*S*K*b")
    return [((Phase("add up", Formula(f"2*{taps}*K"), streams, {"run": Formula(taps)}),), problem)]


MOVED = Formula("(N*P*Q*R*S*(C + K) + K*R*S) * b")  # x and dy once a tap, from wherever they lie

ALGORITHM = Gradient(
    name="depthwise",
    summary="Each channel has sums of its own: vectors of channels, for each tap.",
    source="Howard et al. 2017, arXiv:1704.04861, section 3.1",
    forms={
        "numpy": Form(run, shapes, MOVED),
        "cpu": Form(late(f"{__name__}_cpu", "run"), shapes, MOVED, phases=phases),
        "gpu": Form(late(f"{__name__}_gpu", "run"), late(f"{__name__}_gpu", "shapes"), ONCE),
    },
    refuses=refuses,
)
