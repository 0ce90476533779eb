"""Indirect convolution: leave the pixels where they are, and multiply through a table of where they lie.

    offsets[i, t, j] = where pixel j of tile i finds tap t: the distance of that input pixel from the start of
                       its image, or -1 if the tap falls on padding
    y[m, k]          = sum over taps t, channels c of  (x at offsets[m, t])[c] * w[k, t, c]

im2row copies every window so that a matrix product can read rows. The product does not need rows: it needs
to know where each one begins. So the copy is replaced by this table, the *indirection buffer*: one number for
a pixel and a tap, C times less than the matrix. Taps on padding are led to one shared row of zeros.

The table holds distances, not addresses. So it is good for every image of a batch, every group of channels
and every new input of the same size: each adds its own start, unless the tap is on padding.

Dukhan 2019, "The Indirect Convolution Algorithm", arXiv:1907.02129; laid out as XNNPACK does: tile by tile,
in a tile tap by tap, in a tap pixel by pixel. *Indirect* has a buffer of places; *implicit* GEMM has none.
"""

from __future__ import annotations

from convlab.algorithms.binding import form
from convlab.algorithms.indirect.buffer import indirection_buffer, refuses
from convlab.algorithms.spec import Algorithm, Formula
from convlab.cost.common import ACROSS_GROUPS, ONCE, ONCE_A_TAP, PANELS_ACROSS_GROUPS, outside
from convlab.cost.phases import gathered_product, packing, table_phase

__all__ = ["ALGORITHM", "indirection_buffer"]

TABLE = "ceil(P*Q/TR) * (TR*R*S + 1)"  # numbers of the fast form's: places, tile by tile, and the runs
ROWS = "N * ceil(P*Q/TR)*TR"  # of its tiles
# Where groups lie side by side, a tap of a row is a few turns: to find its pixel takes as long as they do,
# and half as long as to copy a number, which is written, too.
FOUND = f"1/2 * min(1, G - GM) * {ROWS} * R*S * ceil(K/TC)"


ALGORITHM = Algorithm(
    name="indirect",
    summary="Leave the pixels in place and multiply through a table of where they lie.",
    source="Dukhan 2019, arXiv:1907.02129",
    refuses=refuses,
    forms={
        "numpy": form(
            __name__,
            "reference",
            functions=("allocate", "resize"),
            bytes_moved=Formula(f"{ONCE_A_TAP.text} + N*P*Q*R*S * 4"),  # and the table
            workspace_bytes=Formula("P*Q * R*S * 4 + C/G * b"),
            rank=5,
        ),
        "cpu": form(
            __name__,
            "cpu",
            epilogue=True,
            functions=("pack", "allocate", "resize", "bind"),
            bytes_moved=Formula(f"{ONCE_A_TAP.text} + N * {TABLE} * 4"),
            workspace_bytes=Formula(f"{TABLE} * 4 + {outside('S*C/G')} * b"),
            packed_bytes=PANELS_ACROSS_GROUPS,
            phases=lambda: (gathered_product(ROWS, calls="0", number=FOUND, **ACROSS_GROUPS),),
            setup=lambda: (packing(), table_phase(TABLE)),
            rank=2,
        ),
        "gpu": form(
            __name__,
            "gpu",
            functions=("pack", "packed_bytes", "allocate", "workspace_bytes", "resize", "works"),
            bytes_moved=Formula(f"{ONCE.text} + ceil(P*Q/32)*32 * R*S * 4"),
        ),
    },
)
