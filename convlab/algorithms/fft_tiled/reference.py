"""Tiles through the Fourier transform with NumPy: as `convlab.algorithms.fft.reference`, tile by tile."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convlab.algorithms.fft import transforms
from convlab.algorithms.fft.reference import multiply, packed_spectra
from convlab.algorithms.fft.tiles import corners_in_chunks, cut, good_outputs, tile_count, tile_size
from convlab.algorithms.fft.transforms import as_real, backward, forward
from convlab.problem import ConvProblem


def pack(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return the conjugate spectra of all filters, (F, G, C/G, K/G)."""
    return packed_spectra(problem, w, tile_size(problem))


def allocate(problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    """Return the workspace: two buffers for spectra."""
    return transforms.buffers(problem, tile_count(problem), tile_size(problem))


def run_with(multiply: Callable) -> Callable:
    """Return a form's `run`: cut, there, multiply, back, put together."""

    def run(problem, x, packed, workspace, y, threads):
        size, buffers = tile_size(problem), (workspace["here"], workspace["there"])
        good = good_outputs(problem, size)
        for corners in corners_in_chunks(problem, size):
            pictures = as_real(buffers[1], (len(corners), *size, problem.C))
            cut(problem, x, corners, pictures)
            products = multiply(problem, forward(pictures, size, buffers), packed, workspace, threads)
            for part, (n, p, q) in zip(backward(products, good[0], size, buffers), corners, strict=True):
                out = y[n, p : p + good[0], q : q + good[1]]  # less at the lower and the right edge
                out[...] = part[: out.shape[0], : out.shape[1]]

    return run


run = run_with(multiply)
