"""Convolution by Fourier transform with NumPy: its FFT, and `np.matmul` for all frequencies at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convlab.algorithms.fft import transforms
from convlab.algorithms.fft.transforms import (
    as_complex,
    backward,
    chunks,
    forward,
    pack_key,
    spectra_of,
    transform_size,
)
from convlab.problem import ConvProblem

_AT_ONCE = 1 << 15  # numbers of the filters that are transformed together


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
    """Return the conjugate spectra of all filters, (F, G, C/G, K/G).

    In double precision they are many times as large as the filters, so these come a few at a time.
    """
    groups, channels, filters = problem.groups, problem.C // problem.groups, problem.K // problem.groups
    F = size[0] * (size[1] // 2 + 1)
    packed = np.empty((F, groups, channels, filters), np.result_type(w.dtype, 1j))
    few = max(1, _AT_ONCE // (size[0] * size[1]))
    step_k = min(few, filters, 4)
    step_c = few // step_k
    for g in range(groups):
        group = w[g * filters : (g + 1) * filters]
        for k in range(0, filters, step_k):
            for c in range(0, channels, step_c):
                some = spectra_of(group[k : k + step_k, :, :, c : c + step_c], size, corner)
                packed[:, g, c : c + step_c, k : k + step_k] = some.swapaxes(1, 2)
    return packed
