"""The fast form of fft and fft_tiled: the transforms are NumPy's, the product is done on the register tile.

    Y[f, k] = sum over c of X[f, c] * conj(W[f, c, k])        for every frequency f

The product is most of the work, and the tile knows real numbers only: `convlab.cpu.complex_gemm` makes real
matrices of the complex ones.
"""

from __future__ import annotations

import numpy as np

from convlab.algorithms.fft import transforms
from convlab.algorithms.fft.reference import run_with
from convlab.algorithms.fft.transforms import CHUNK, as_complex, pack_key, transform_size
from convlab.cpu.complex_gemm import complex_gemm, scratch
from convlab.cpu.gemm import empty_panels
from convlab.cpu.pack_transformed import pack_transformed
from convlab.cpu.register_tile import tile_for
from convlab.problem import ConvProblem


def pack(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return the conjugate spectra of all filters in panels for `complex_gemm`, (F * groups, numbers)."""
    return packed_panels(problem, w, *pack_key(problem))


def allocate(problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    """Return the workspace: two buffers for spectra, and what `complex_gemm` needs."""
    return workspace_for(problem, threads, problem.N, transform_size(problem))


def multiply(problem, spectra, panels, workspace, threads) -> np.ndarray:
    """Return the products of spectra (B, rows, half, C) and the packed weights, in the first buffer."""
    products = as_complex(workspace["here"], (*spectra.shape[:3], problem.K))
    complex_gemm(spectra, panels, products, problem.groups, workspace["offsets"], workspace["four"], threads)
    return products


run = run_with(multiply)


def packed_panels(problem: ConvProblem, w: np.ndarray, size, corner=(0, 0)) -> np.ndarray:
    """Return the conjugate spectra of all filters in panels for `complex_gemm`, (F * groups, numbers)."""
    (rows, cols), (K, R, S, channels), groups = size, w.shape, problem.groups
    F, wide = rows * (cols // 2 + 1), tile_for(w.dtype).cols
    panels = empty_panels(F * groups, 2 * K // groups, channels, w.dtype, wide)  # columns c, d, c, d, ...
    waves = _waves(rows, rows, R, corner[0]), _waves(cols, cols // 2 + 1, S, corner[1])
    spectra = panels.view(np.result_type(w.dtype, 1j))
    pack_transformed(*waves, w, groups, spectra, wide // 2)
    return panels


def _waves(n: int, frequencies: int, taps: int, before: int) -> np.ndarray:
    """Return the conjugate waves exp(2 pi i f t / n), frequencies f by taps t = -before, 1 - before, ..."""
    turns = np.outer(np.arange(frequencies), np.arange(taps) - before) % n  # whole turns change nothing
    return np.exp(2j * np.pi / n * turns)


def workspace_for(problem: ConvProblem, threads: int, pictures: int, size) -> dict[str, np.ndarray]:
    """Return the workspace for so many pictures of one size."""
    few = min(pictures, CHUNK)
    products = scratch(few, problem.K // problem.groups, threads, problem.dtype)
    return transforms.buffers(problem, pictures, size) | products
