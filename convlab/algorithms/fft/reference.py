"""Convolution by Fourier transform with NumPy: its FFT, and `np.matmul` for all frequencies at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convlab.algorithms.fft import transforms
from convlab.algorithms.fft.transforms import (
    as_complex,
    backward,
    chunks,
    few_spectra,
    forward,
    pack_key,
    transform_size,
)
from convlab.problem import ConvProblem


def pack(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return the conjugate spectra of all filters, (F, G, C/G, K/G)."""
    return packed_spectra(problem, w, *pack_key(problem))


def allocate(problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    """Return the workspace: two buffers for spectra."""
    return transforms.buffers(problem, problem.N, transform_size(problem))


def run_with(multiply: Callable) -> Callable:
    """Return a form's `run`: there, multiply, back. Only the product in the middle differs."""

    def run(problem, x, packed, workspace, y, threads):
        size, buffers = transform_size(problem), (workspace["here"], workspace["there"])
        for images in chunks(problem.N):
            spectra = forward(x[images], size, buffers)
            products = multiply(problem, spectra, packed, workspace, threads)
            y[images] = backward(products, problem.P, size, buffers)[:, :, : problem.Q]

    return run


def multiply(problem, spectra, w, workspace, threads) -> np.ndarray:
    """Return the products of spectra (B, rows, half, C) and w (F, G, C/G, K/G), in the first buffer."""
    B, rows, half, _ = spectra.shape
    products = as_complex(workspace["here"], (B, rows, half, problem.K))
    a, out = (s.reshape(B, rows * half, problem.groups, -1) for s in (spectra, products))
    np.matmul(a.transpose(1, 2, 0, 3), w, out=out.transpose(1, 2, 0, 3))  # for each frequency and group
    return products


run = run_with(multiply)


def packed_spectra(problem: ConvProblem, w: np.ndarray, size, corner=(0, 0)) -> np.ndarray:
    """Return the conjugate spectra of all filters, (F, G, C/G, K/G)."""
    F, channels = size[0] * (size[1] // 2 + 1), problem.C // problem.groups
    shape = F, problem.groups, channels, problem.K // problem.groups
    packed = np.empty(shape, np.result_type(w.dtype, 1j))
    for g, k, c, spectra in few_spectra(problem, w, size, corner):
        _, filters, channels = spectra.shape
        packed[:, g, c : c + channels, k : k + filters] = spectra.swapaxes(1, 2)
    return packed
