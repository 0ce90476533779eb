"""Precomputed implicit GEMM: the same product, with the index map worked out beforehand.

    starts[m]        = where in x pixel (p*stride - top, q*stride - left) of row m lies: tap (0, 0)
    masks[m, (r, s)] = does tap (r, s) of row m hit the picture?
    A[m, (r, s, c)]  = x[starts[m] + walk(r, s, c)] where the mask says so, else 0

The walk is the same for every row: `offsets.py` has it, and both tables. No division is left in the loops.
This is what CUTLASS's optimized iterator does, and the kind of table behind cuDNN's IMPLICIT_PRECOMP_GEMM.
Indirect convolution goes the whole way: a place for every pixel *and* tap.
"""

from __future__ import annotations

from convlab.algorithms.binding import form
from convlab.algorithms.precomputed_gemm.offsets import BLOCK_C
from convlab.algorithms.spec import Algorithm, Formula
from convlab.cost.common import ONCE, ONCE_A_TAP, PANELS
from convlab.cost.phases import gathered_product, packing, table_phase

_TILES = "ceil(N*P*Q/TR) * G*ceil(K/G/TC)"

ALGORITHM = Algorithm(
    name="precomputed_gemm",
    summary="Implicit GEMM whose rows start at places worked out beforehand and walk by three deltas.",
    source="CUTLASS, Implicit GEMM Convolution (optimized iterators)",
    forms={
        "numpy": form(
            __name__,
            "reference",
            functions=("pack", "allocate"),
            bytes_moved=Formula(f"{ONCE_A_TAP.text} + N*P*Q*8 + ceil(N*P*Q/8) * R*S"),
            workspace_bytes=Formula("ceil(N*P*Q/8) * (8*8 + R*S)"),
            rank=3,
        ),
        "cpu": form(
            __name__,
            "cpu",
            epilogue=True,
            functions=("pack", "allocate", "bind"),
            bytes_moved=Formula(f"{ONCE_A_TAP.text} + N*P*Q*8 + ceil(N*P*Q/TR) * R*S"),
            workspace_bytes=Formula(f"ceil(N*P*Q/TR) * (TR*8 + R*S) + min({BLOCK_C}, C/G) * b"),
            packed_bytes=PANELS,
            # At each tap a tile looks at a mask and walks on, where indirection reads its places.
            phases=lambda: (gathered_product(number=f"2 * {_TILES} * R*S * ceil(C/G/{BLOCK_C})"),),
            # Packed piece by piece, in the order of the walk: as good as twice.
            setup=lambda: (packing(), packing(), table_phase("ceil(N*P*Q/TR)*TR * R*S")),
            rank=3,
        ),
        "gpu": form(
            __name__,
            "gpu",
            functions=("pack", "packed_bytes", "allocate", "workspace_bytes", "works"),
            bytes_moved=Formula(f"{ONCE.text} + N*P*Q * (1 + ceil(R*S/32)) * 4"),
            rank=3,
        ),
    },
)
