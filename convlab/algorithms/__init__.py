"""`ALGORITHMS`: the one ordered table of algorithms. Nothing else lists them.

Read `spec` first: what an algorithm says of itself. Then a folder: its `__init__` has the formula and the
costs, `reference` the NumPy form, `cpu` and `gpu` the fast ones. `direct`, `im2row` and `implicit_gemm` lead
to most others; `tensor_core` is not in the table, for it rounds. `binding` finds a form by its name, and
`ladder` puts kernels in a row, one idea after the other.
"""

from convlab.algorithms import (
    depthwise,
    direct,
    fft,
    fft_tiled,
    im2col,
    im2row,
    implicit_gemm,
    indirect,
    pointwise,
    precomputed_gemm,
    winograd,
    winograd_s2d,
)
from convlab.algorithms.form import Form
from convlab.algorithms.spec import Algorithm, Cost, Formula

ALGORITHMS: dict[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        direct.ALGORITHM,
        im2row.ALGORITHM,
        im2col.ALGORITHM,
        implicit_gemm.ALGORITHM,
        precomputed_gemm.ALGORITHM,
        indirect.ALGORITHM,
        *winograd.ALGORITHMS,
        winograd_s2d.ALGORITHM,
        fft.ALGORITHM,
        fft_tiled.ALGORITHM,
        depthwise.ALGORITHM,
        pointwise.ALGORITHM,
    )
}

__all__ = ["ALGORITHMS", "Algorithm", "Cost", "Form", "Formula"]
