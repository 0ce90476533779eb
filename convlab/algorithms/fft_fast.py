"""The fast form of fft and fft_tiled: the transforms are NumPy's, the product is done on the register tile.

    Y[f, k] = sum over c of X[f, c] * conj(W[f, c, k])        for every frequency f

The product is most of the work, and the tile knows real numbers only: `convlab.complex_gemm` makes real
matrices of the complex ones.
"""

from __future__ import annotations

import numpy as np

from convlab.algorithms.fft_transforms import CHUNK, allocate, as_complex, few_spectra
from convlab.problem import ConvProblem


def multiply_cpu(problem, spectra, panels, workspace, threads) -> np.ndarray:
    """Return the same products, from panels of `pack_cpu`."""
    from convlab.complex_gemm import complex_gemm

    products = as_complex(workspace["here"], (*spectra.shape[:3], problem.K))
    complex_gemm(spectra, panels, products, problem.groups, workspace["offsets"], workspace["four"], threads)
    return products


def pack_cpu(problem: ConvProblem, w: np.ndarray, size, corner=(0, 0)) -> np.ndarray:
    """Return the conjugate spectra of all filters in `complex_gemm`'s panels."""
    from convlab.complex_gemm import Panels

    filters, F = problem.K // problem.groups, size[0] * (size[1] // 2 + 1)
    panels = Panels(F, problem.groups, filters, w.shape[3], w.dtype.name)
    for g, k, c, spectra in few_spectra(problem, w, size, corner):
        panels.fill(g, k, c, spectra)
    return panels.array


def panel_bytes(problem: ConvProblem, size) -> int:
    """Return the bytes of `pack_cpu`'s panels."""
    from convlab.gemm import packed_bytes

    matrices = size[0] * (size[1] // 2 + 1) * problem.groups
    return packed_bytes(matrices, 2 * problem.K // problem.groups, problem.C // problem.groups, problem.dtype)


def allocate_cpu(problem: ConvProblem, threads: int, pictures: int, size) -> dict[str, np.ndarray]:
    """Return the two buffers, and what `complex_gemm` needs."""
    from convlab.complex_gemm import scratch

    few = min(pictures, CHUNK)
    return allocate(problem, pictures, size) | scratch(
        few, problem.K // problem.groups, threads, problem.dtype
    )
