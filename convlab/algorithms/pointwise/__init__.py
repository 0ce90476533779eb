"""Pointwise convolution: a filter of one pixel. Nothing to unroll, the picture already is the matrix.

    y[m, k] = sum over c of x[m, c] * w[k, c]          m counts the N*H*W pixels

With stride 1 and no padding every input pixel is one output pixel, in the same order; as NHWC its channels
are one row of a matrix. MobileNets spend most of their time here.
"""

from __future__ import annotations

from convlab.algorithms.binding import form
from convlab.algorithms.spec import Algorithm, Formula
from convlab.cost.common import PANELS
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


TRAFFIC = Formula("(N*H*W*C + K*C/G + N*P*Q*K) * b")

ALGORITHM = Algorithm(
    name="pointwise",
    summary="A 1x1 filter with stride 1: the picture is the matrix already.",
    source="Lin, Chen & Yan 2013, arXiv:1312.4400 (Network In Network)",
    refuses=refuses,
    forms={
        "numpy": form(__name__, "reference", bytes_moved=TRAFFIC, rank=0),
        "cpu": form(
            __name__,
            "cpu",
            epilogue=True,
            functions=("pack", "bind"),
            bytes_moved=TRAFFIC,
            packed_bytes=PANELS,
            phases=lambda: (product(),),
            rank=0,
        ),
        "gpu": form(
            __name__, "gpu", functions=("pack", "packed_bytes", "works"), bytes_moved=TRAFFIC, rank=0
        ),
    },
)
