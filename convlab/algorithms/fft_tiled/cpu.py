"""Tiles through the Fourier transform, the fast form: as `convlab.algorithms.fft.cpu`, tile by tile."""

from __future__ import annotations

import numpy as np

from convlab.algorithms.fft.cpu import multiply, packed_panels, workspace_for
from convlab.algorithms.fft.tiles import tile_count, tile_size
from convlab.algorithms.fft_tiled.reference import run_with
from convlab.problem import ConvProblem


def pack(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return the conjugate spectra of all filters in panels for `complex_gemm`, (F * groups, numbers)."""
    return packed_panels(problem, w, tile_size(problem))


def allocate(problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    """Return the workspace: two buffers for spectra, and what `complex_gemm` needs."""
    return workspace_for(problem, threads, tile_count(problem), tile_size(problem))


run = run_with(multiply)
