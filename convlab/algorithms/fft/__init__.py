"""fft: a convolution is one product for each frequency.

    X[f, c] = sum over pixels h, w of x[h, w, c] * exp(-2 pi i (f1 * h / rows + f2 * w / cols))
    Y[f, k] = sum over c of X[f, c] * conj(W[f, c, k])        y = the transform of Y, backwards

The sum over the taps is gone: what is left is, for each frequency f = (f1, f2), a product of matrices, images
by channels times channels by filters, of complex numbers. The work no longer depends on the size of the
filter. `conj`, the conjugate, turns the flipped filter of a true convolution back into a cross-correlation.

A discrete Fourier transform takes the picture for one that repeats itself for ever. A window that sticks out
on the right would wrap around and read pixels from the left. So a transform has at least P+R-1 rows and Q+S-1
columns, as many as the padded picture, and what lies behind the picture is zero. A picture of real numbers
needs half of the frequencies only: the others are their conjugates.

Every pixel takes part in every frequency, and so does what is rounded there. An output y is off by

    8 * eps * (rounding * rms(x) * norm(w[k]) + |y|)         rms: the root of the mean square of the picture

at most, wherever it is (w[k]: its filter). A single pixel of 1e6 among ones takes the digits of all others,
where a plain sum feels no more than what lies under its window. So `auto` takes no transform for such a
picture, see `convlab.auto.magnitudes`.

Mathieu, Henaff & LeCun, "Fast Training of Convolutional Networks through FFTs" (2013), arXiv:1312.5851.
The transforms are in `fft_transforms`, the fast form of the product in `fft_fast`, the costs in `fft_costs`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convlab.algorithms.fft.costs import costs, gpu_form_of
from convlab.algorithms.fft.cpu import CPU_BUFFERS, allocate_cpu, multiply_cpu, pack_cpu, panel_bytes
from convlab.algorithms.fft.transforms import (
    BUFFERS,
    allocate,
    as_complex,
    backward,
    chunks,
    few_spectra,
    forward,
    growth,
    rounding,
)
from convlab.algorithms.spec import Algorithm, Form, Mixing
from convlab.cost.formula import fast_size
from convlab.problem import ConvProblem


def transform_size(problem: ConvProblem) -> tuple[int, int]:
    """Return rows and columns of a transform that holds the padded picture; the columns are even."""
    return fast_size(problem.P + problem.R - 1), 2 * fast_size(-(-(problem.Q + problem.S - 1) // 2))


def refuses(problem: ConvProblem) -> str | None:
    """Return why a transform cannot serve: all outputs come at once, between neighbours."""
    for name in ("stride", "dilation"):
        if getattr(problem, name) != (1, 1):
            v, h = getattr(problem, name)
            return f"the {name} is {v}x{h}; a transform computes all outputs of a filter without gaps"
    return None


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


def pack(problem: ConvProblem, w: np.ndarray, size, corner=(0, 0)) -> np.ndarray:
    """Return the conjugate spectra of all filters, (F, G, C/G, K/G)."""
    F, channels = size[0] * (size[1] // 2 + 1), problem.C // problem.groups
    shape = F, problem.groups, channels, problem.K // problem.groups
    packed = np.empty(shape, np.result_type(w.dtype, 1j))
    for g, k, c, spectra in few_spectra(problem, w, size, corner):
        _, filters, channels = spectra.shape
        packed[:, g, c : c + channels, k : k + filters] = spectra.swapaxes(1, 2)
    return packed


def _transform(problem: ConvProblem) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the size of the transform, and rows above and columns left of the picture."""
    (top, _), (left, _) = problem.padding
    return transform_size(problem), (top, left)


def _mixing(problem: ConvProblem) -> Mixing:
    size = transform_size(problem)
    return Mixing(size, (problem.P, problem.Q), growth(problem, size))


COSTS = costs("N", {"rows": "fast(P+R-1)", "half": "fast((Q+S-1)/2)"}, h="H", p="P")

ALGORITHM = Algorithm(
    name="fft",
    summary="Transform whole pictures; then a convolution is one product for each frequency.",
    source="Mathieu, Henaff & LeCun 2013, arXiv:1312.5851",
    refuses=refuses,
    flops=COSTS["flops"],
    rounding=rounding(256, 256),
    ieee=False,
    mixing=_mixing,
    forms={
        "numpy": Form(
            run=run_with(multiply),
            bytes_moved=COSTS["bytes_moved"],
            workspace_bytes=COSTS["numpy"],
            packed_bytes=COSTS["packed"],
            pack=lambda problem, w: pack(problem, w, *_transform(problem)),
            allocate=lambda problem, threads: allocate(problem, problem.N, transform_size(problem)),
            scratch=BUFFERS,
            packs_for=_transform,
        ),
        "cpu": Form(
            run=run_with(multiply_cpu),
            bytes_moved=COSTS["bytes_moved"],
            workspace_bytes=COSTS["cpu"],
            packed_bytes=lambda problem: panel_bytes(problem, transform_size(problem)),
            pack=lambda problem, w: pack_cpu(problem, w, *_transform(problem)),
            allocate=lambda problem, threads: allocate_cpu(
                problem, threads, problem.N, transform_size(problem)
            ),
            scratch=CPU_BUFFERS,
            packs_for=_transform,
            passes=lambda: COSTS["passes"],
            once=lambda: COSTS["once"],
        ),
        "gpu": gpu_form_of("whole", COSTS, _transform),
    },
)
