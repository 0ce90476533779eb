"""im2row: copy every window into a row, then multiply matrices.

    rows[m, (g, r, s, c)] = the pixel that tap (r, s) of output pixel m reads, or 0 on padding
    y[m, k]               = sum over (r, s, c) of rows[m, (g, r, s, c)] * w[k, (r, s, c)]
    bytes of the matrix   = N*P*Q * R*S*C * b                        b: bytes of a number

One row for each of the M = N*P*Q output pixels, one column for each of the R*S*C taps and channels. With
x as NHWC a tap's channels lie side by side, so each copy is one run of memory. The price is the matrix: for
a 3x3 filter with stride 1 it holds every pixel about nine times.

Chellapilla, Puri & Simard, "High Performance Convolutional Neural Networks for Document Processing" (2006),
section 2.1, is the source of the unrolling; `im2row` and `im2col` differ in which way the matrix lies.
"""

from __future__ import annotations

from convlab.algorithms.binding import form
from convlab.algorithms.im2row.reference import im2row
from convlab.algorithms.spec import Algorithm
from convlab.cost.common import CELLS, MATRIX, PANELS, THROUGH_A_MATRIX
from convlab.cost.phases import fill_phase, product

__all__ = ["ALGORITHM", "im2row"]

ALGORITHM = Algorithm(
    name="im2row",
    summary="Copy every window into a row of a matrix, then multiply matrices.",
    source="Chellapilla, Puri & Simard 2006, section 2.1",
    family="copies",
    forms={
        "numpy": form(
            __name__,
            "reference",
            functions=("allocate",),
            bytes_moved=THROUGH_A_MATRIX,
            workspace_bytes=MATRIX,
            rank=2,
        ),
        "cpu": form(
            __name__,
            "cpu",
            epilogue=True,
            functions=("pack", "allocate"),
            bytes_moved=THROUGH_A_MATRIX,
            workspace_bytes=MATRIX,
            packed_bytes=PANELS,
            scratch=("rows",),
            phases=lambda: (fill_phase(MATRIX.text), product()),
        ),
        "gpu": form(
            __name__,
            "gpu",
            functions=("pack", "packed_bytes", "allocate", "works"),
            bytes_moved=THROUGH_A_MATRIX,
            workspace_bytes=MATRIX,
            largest=CELLS,
            rank=4,
        ),
    },
)
