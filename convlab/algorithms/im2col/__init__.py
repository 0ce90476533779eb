"""im2col: the same matrix lying the other way, one column for each output pixel.

    cols[(c, r, s), m] = the pixel of channel c that tap (r, s) of output pixel m reads, or 0 on padding
    y[m, k]            = sum over (c, r, s) of w[k, (c, r, s)] * cols[(c, r, s), m]
    bytes of cols      = N*P*Q * R*S*C * b                           b: bytes of a number

This is the form for NCHW pictures: there row (c, r, s) of the matrix is channel c of the picture, shifted by
the tap, and long runs of it can be copied at once. From NHWC, convlab's layout, every number of a row lies C
apart: the same work, less kind to memory. `col2im` takes the way back, and adds where windows overlap.

Made popular by Caffe: Jia et al. 2014, arXiv:1408.5093; Chellapilla, Puri & Simard 2006, section 2.1.
"""

from __future__ import annotations

from convlab.algorithms.binding import form
from convlab.algorithms.im2col.reference import col2im, im2col
from convlab.algorithms.spec import Algorithm, Formula
from convlab.cost.common import CELLS, MATRIX, PANELS, THROUGH_A_MATRIX
from convlab.cost.phases import LINE, Phase, packing, product, stream

__all__ = ["ALGORITHM", "col2im", "im2col"]


def _phases() -> tuple[Phase, ...]:
    cells = {"number": Formula("N*P*Q*R*S*C")}  # one by one: neighbours in a line of x lie C numbers apart
    filling = Phase("fill the matrix", streams=(stream(MATRIX.text),), begins=cells, shared=False)
    # A row of tiles reads TR numbers of each line of the matrix, and so the cache lines that hold them.
    return filling, product(a=stream(f"{MATRIX.text} * ceil(K/G/TC)", f"R*S*C/G * {LINE}*2"))


ALGORITHM = Algorithm(
    name="im2col",
    summary="The same matrix lying the other way: one column for each output pixel, for NCHW.",
    source="Jia et al. 2014 (Caffe), arXiv:1408.5093; Chellapilla, Puri & Simard 2006, section 2.1",
    family="copies",
    forms={
        "numpy": form(
            __name__,
            "reference",
            functions=("pack", "allocate"),
            bytes_moved=THROUGH_A_MATRIX,
            workspace_bytes=MATRIX,
        ),
        "cpu": form(
            __name__,
            "cpu",
            epilogue=True,
            functions=("pack", "allocate"),
            bytes_moved=THROUGH_A_MATRIX,
            workspace_bytes=MATRIX,
            packed_bytes=PANELS,
            scratch=("cols",),
            phases=_phases,
            setup=lambda: (packing(), packing()),  # channels first, then panels
        ),
        "gpu": form(
            __name__,
            "gpu",
            functions=("pack", "packed_bytes", "allocate", "works"),
            bytes_moved=THROUGH_A_MATRIX,
            workspace_bytes=MATRIX,
            largest=CELLS,
        ),
    },
)
