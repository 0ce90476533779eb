"""Precomputed implicit GEMM: the same product, with the index map worked out beforehand.

    starts[m]        = where in x pixel (p*stride - top, q*stride - left) of row m lies: tap (0, 0)
    masks[m, (r, s)] = does tap (r, s) of row m hit the picture?
    A[m, (r, s, c)]  = x[starts[m] + walk(r, s, c)] where the mask says so, else 0

The walk is the same for every row: `precomputed_walk` has it, and both tables. No division is left in the
loops. This is what CUTLASS's optimized iterator does, and the kind of table behind cuDNN's
IMPLICIT_PRECOMP_GEMM. Indirect convolution goes the whole way: a place for every pixel *and* tap. The fast
form is in `precomputed_gemm_fast`.
"""

from __future__ import annotations

import numpy as np

from convlab.algorithms.binding import gpu_form
from convlab.algorithms.implicit_gemm import ONCE, TRAFFIC
from convlab.algorithms.precomputed_gemm import cpu
from convlab.algorithms.precomputed_gemm.offsets import in_walking_order, steps, tables
from convlab.algorithms.spec import Algorithm, Form, Formula

_NUMPY_BLOCK = 16  # channels


def _run_numpy(problem, x, weights, workspace, y, threads):
    flat, out = x.reshape(-1), y.reshape(-1, problem.groups, problem.K // problem.groups)
    channels = problem.C // problem.groups
    for g in range(problem.groups):
        for m in range(0, len(out), 32):  # so many rows at a time
            starts = workspace["starts"][m : m + 32, None]
            sums, k = 0, 0
            for c, r, s, distance in steps(problem, _NUMPY_BLOCK):
                width = min(_NUMPY_BLOCK, channels - c)
                bits = workspace["masks"][m // 8 : m // 8 + 4, r * problem.S + s]
                hit = np.unpackbits(bits, bitorder="little")[:, None]  # (rows, 1)
                at = (starts + distance + g * channels + np.arange(width)) * hit  # padding reads x[0], then 0
                sums = sums + np.where(hit, flat[at], 0) @ weights[g, :, k : k + width].T
                k += width
            out[m : m + 32, g] = sums[: len(out) - m]


ALGORITHM = Algorithm(
    name="precomputed_gemm",
    summary="Implicit GEMM whose rows start at places worked out beforehand and walk by three deltas.",
    source="CUTLASS, Implicit GEMM Convolution (optimized iterators)",
    forms={
        "numpy": Form(
            run=_run_numpy,
            bytes_moved=Formula(TRAFFIC.text + " + N*P*Q*8 + ceil(N*P*Q/8) * R*S"),
            workspace_bytes=Formula("ceil(N*P*Q/8) * (8*8 + R*S)"),
            pack=lambda problem, w: in_walking_order(problem, w, _NUMPY_BLOCK),
            allocate=lambda problem, threads: tables(problem, rows=8),
        ),
        "cpu": cpu.FORM,
        "gpu": gpu_form(
            "precomputed_gemm",
            parts=("pack", "packed_bytes", "allocate", "workspace_bytes"),
            bytes_moved=Formula(ONCE.text + " + N*P*Q * (1 + ceil(R*S/32)) * 4"),
        ),
    },
)
