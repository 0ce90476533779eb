"""There and back: pictures and filters to spectra, and the products of both to pictures, with NumPy's FFT.

A picture of real numbers needs half of the frequencies of its columns only, so `rfft` comes first, along the
rows; then `fft` along what is now `cols/2 + 1` columns. The way back is the same in reverse. Two flat buffers
take turns: each step reads one and writes the other. How far numbers grow on the way, and what is rounded, is
foretold at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log2, prod, sqrt

import numpy as np

from convlab.cost.formula import fast_size
from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty
from convlab.support.checked import checked
from convlab.support.integers import ceil_div

CHUNK = 42  # pictures (or tiles) at a time: 84 rows, real and imaginary, are whole tiles of 7 rows and of 6
BUFFERS = ("here", "there")
CPU_BUFFERS = (*BUFFERS, "offsets", "four")  # and what `complex_gemm` needs

# norm="ortho" divides by sqrt(n) in both directions. With NumPy's default the way there is computed in
# double precision, through copies, whatever the dtype: it asks for a division by the integer 1.


@checked
def transform_size(problem: ConvProblem) -> tuple[int, int]:
    """Return rows and columns of a transform that holds the padded picture; the columns are even."""
    return fast_size(problem.P + problem.R - 1), 2 * fast_size(ceil_div(problem.Q + problem.S - 1, 2))


def pack_key(problem: ConvProblem) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return what the spectra of the weights depend on.

    The size of the transform; and rows above and columns left of the picture, which they make up for.
    """
    _, corner, _ = problem.geometry
    return transform_size(problem), corner


def forward(x: np.ndarray, size: tuple[int, int], buffers) -> np.ndarray:
    """Return the spectra of pictures x (B, h, w, C) as (B, rows, cols/2 + 1, C), in the second buffer."""
    (rows, cols), (B, h, _, C) = size, x.shape
    lines = as_complex(buffers[0], (B, h, cols // 2 + 1, C))
    np.fft.rfft(x, n=cols, axis=2, norm="ortho", out=lines)  # n > w appends zeros
    spectra = as_complex(buffers[1], (B, rows, cols // 2 + 1, C))
    return np.fft.fft(lines, n=rows, axis=1, norm="ortho", out=spectra)


def backward(products: np.ndarray, P: int, size: tuple[int, int], buffers) -> np.ndarray:
    """Return the first P rows of the pictures with spectra (B, rows, cols/2 + 1, K), in the first buffer.

    The spectra lie in the first buffer too, and are lost: the second one holds what is between.
    """
    (rows, cols), (B, _, half, K) = size, products.shape
    lines = as_complex(buffers[1], (B, rows, half, K))
    np.fft.ifft(products, axis=1, norm="ortho", out=lines)
    y = as_real(buffers[0], (B, P, cols, K))
    return np.fft.irfft(lines[:, :P], n=cols, axis=2, norm="ortho", out=y)


def spectra_of(w: np.ndarray, size: tuple[int, int], corner: tuple[int, int]) -> np.ndarray:
    """Return the conjugate spectra of filters w (k, R, S, c) as (rows * (cols/2 + 1), k, c).

    Tap (r, s) stands at row r - top and column s - left, counted around the corner: so output (p, q) comes
    out in row p and column q, and padding above and on the left costs nothing. In double precision, once.
    """
    (rows, cols), (k, R, S, c) = size, w.shape
    grid = np.zeros((k, rows, cols, c))
    at_rows, at_cols = (np.arange(taps) - before for taps, before in zip((R, S), corner, strict=True))
    grid[:, at_rows[:, None] % rows, at_cols % cols] = w
    spectra = np.fft.rfft2(grid, axes=(1, 2))
    del grid  # these arrays are large
    np.conjugate(spectra, out=spectra)
    return spectra.transpose(1, 2, 0, 3).reshape(-1, k, c)


def buffers(problem: ConvProblem, pictures: int, size) -> dict[str, np.ndarray]:
    """Return two buffers, each large enough for the spectra of a chunk of pictures, before and after."""
    numbers = min(pictures, CHUNK) * size[0] * (size[1] + 2) * max(problem.C, problem.K)
    return {name: aligned_empty((numbers,), problem.dtype) for name in BUFFERS}


def as_real(buffer: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the beginning of a flat buffer as an array."""
    return buffer[: prod(shape)].reshape(shape)


def as_complex(buffer: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the beginning of a flat buffer of real numbers as an array of complex ones: two make one."""
    return buffer[: 2 * prod(shape)].view(np.result_type(buffer.dtype, 1j)).reshape(shape)


def chunks(pictures: int) -> Iterator[slice]:
    """Cut so many pictures into slices of nearly the same length, CHUNK at most."""
    step = ceil_div(pictures, ceil_div(pictures, CHUNK))
    return (slice(first, min(first + step, pictures)) for first in range(0, pictures, step))


def growth(problem: ConvProblem, size: tuple[int, int]) -> float:
    """Return a bound of all numbers on the way, where no pixel and no weight is above 1.

    A spectrum of n = rows * cols pixels is a sum of so many, divided by sqrt(n) in the end; one of weights is
    a sum of R*S. Their products are added up over the channels, and n of them on the way back. Complex
    products are two sums.
    """
    n, (_, _, terms) = size[0] * size[1], problem.gemm
    return 2.0 * terms * n * sqrt(n)


def rounding(rows: int, cols: int) -> float:
    """Return the rounding error beside that of one rounding, for transforms of this size.

    A number goes through log2(rows * cols) stages of each of three transforms, and is rounded in every one.
    Errors of either sign add up like the square root of their number.
    """
    return sqrt(3 * log2(rows * cols))
