"""fft: a convolution is one product for each frequency.

    X[f, c] = sum over pixels h, w of x[h, w, c] * exp(-2 pi i (f1 * h / rows + f2 * w / cols))
    Y[f, k] = sum over c of X[f, c] * conj(W[f, c, k])        y = the transform of Y, backwards

The sum over the taps is gone: what is left is, for each frequency f = (f1, f2), a product of matrices, images
by channels times channels by filters, of complex numbers. The work no longer depends on the size of the
filter. `conj`, the conjugate, turns the flipped filter of a true convolution back into a cross-correlation.

A discrete Fourier transform takes the picture for one that repeats itself for ever. A window that sticks out
on the right would wrap around and read pixels from the left; so a transform has at least P+R-1 rows and Q+S-1
columns, as many as the padded picture, and the numbers behind the picture are zeros. A picture of real numbers
needs half of the frequencies only: the others are their conjugates.

Mathieu, Henaff & LeCun, "Fast Training of Convolutional Networks through FFTs" (2013), arXiv:1312.5851.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from convlab.algorithms.base import Algorithm, Form, Formula, fast_size
from convlab.aligned import aligned_empty
from convlab.jit import njit
from convlab.problem import ConvProblem

CHUNK = 42  # pictures (or tiles) at a time: 84 rows, real and imaginary, are whole tiles of 7 rows and of 6


def transform_size(problem: ConvProblem) -> tuple[int, int]:
    """Return rows and columns of a transform that holds the padded picture; the columns are even."""
    return fast_size(problem.P + problem.R - 1), 2 * fast_size((problem.Q + problem.S - 1) / 2)


def refuses(problem: ConvProblem) -> str | None:
    """Return why a transform cannot serve: all outputs come at once, between neighbours."""
    for name in ("stride", "dilation"):
        if getattr(problem, name) != (1, 1):
            v, h = getattr(problem, name)
            return f"the {name} is {v}x{h}; a transform computes all outputs of a filter without gaps"
    return None


# -- there and back ----------------------------------------------------------------------------------------
#
# norm="ortho" divides by sqrt(n) in both directions. With NumPy's default the way there is computed in
# double precision, through copies, whatever the dtype: it asks for a division by the integer 1.


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
    grid[:, :R, :S] = w
    grid = np.roll(grid, (-corner[0], -corner[1]), axis=(1, 2))
    return np.fft.rfft2(grid, axes=(1, 2)).conj().transpose(1, 2, 0, 3).reshape(-1, k, c)


def as_real(buffer: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the beginning of a flat buffer as an array."""
    return buffer[: prod(shape)].reshape(shape)


def as_complex(buffer: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the beginning of a flat buffer of real numbers as an array of complex ones: two make one."""
    return buffer[: 2 * prod(shape)].view(np.result_type(buffer.dtype, 1j)).reshape(shape)


def allocate_for(problem: ConvProblem, pictures: int, size: tuple[int, int]) -> dict[str, np.ndarray]:
    """Return two buffers, each large enough for the spectra of so many pictures, before and after."""
    numbers = min(pictures, CHUNK) * size[0] * (size[1] + 2) * max(problem.C, problem.K)
    return {name: aligned_empty((numbers,), problem.dtype) for name in ("here", "there")}


def chunks(pictures: int) -> Iterator[slice]:
    """Cut so many pictures into slices of nearly the same length, CHUNK at most."""
    step = -(-pictures // -(-pictures // CHUNK))
    return (slice(first, min(first + step, pictures)) for first in range(0, pictures, step))


def _run(product):
    """Return a form's `run`: only the product in the middle differs."""

    def run(problem, x, packed, workspace, y, threads):
        size, buffers = transform_size(problem), (workspace["here"], workspace["there"])
        for images in chunks(problem.N):
            products = product(problem, forward(x[images], size, buffers), packed, workspace, threads)
            y[images] = backward(products, problem.P, size, buffers)[:, :, : problem.Q]

    return run


def multiply_numpy(problem, spectra, w, workspace, threads) -> np.ndarray:
    """Return the products of spectra (B, rows, half, C) and w (F, G, C/G, K/G), in the first buffer."""
    B, rows, half, _ = spectra.shape
    products = as_complex(workspace["here"], (B, rows, half, problem.K))
    a, out = (s.reshape(B, rows * half, problem.groups, -1) for s in (spectra, products))
    np.matmul(a.transpose(1, 2, 0, 3), w, out=out.transpose(1, 2, 0, 3))  # for each frequency and group
    return products


def pack_numpy(problem: ConvProblem, w: np.ndarray, size, corner) -> np.ndarray:
    """Return the conjugate spectra of all filters, (F, G, C/G, K/G)."""
    filters = problem.K // problem.groups
    F = size[0] * (size[1] // 2 + 1)
    packed = np.empty((F, problem.groups, w.shape[3], filters), np.result_type(w.dtype, 1j))
    for k in range(problem.K):  # a spectrum is many times as large as a filter: one at a time
        packed[:, k // filters, :, k % filters] = spectra_of(w[k : k + 1], size, corner)[:, 0]
    return packed


# -- the fast form: a complex product is four real ones ----------------------------------------------------
#
#     (a + ib)(c + id) = (ac - bd) + i(ad + bc)
#
# Memory holds a complex number as two neighbouring real ones. So the spectra of B pictures are a real matrix
# of 2B rows (a, b, a, b, ...), the filters' one of 2K columns (c, d, c, d, ...), and their plain product on
# the register tile holds all four real products of every pair: blocks of 2 x 2 that are then summed up.


@njit
def _rows(offsets, pictures, step):
    """List where the rows of a begin: the real parts at even places, the imaginary parts behind them."""
    for i in range(len(offsets)):
        row = min(i, 2 * pictures - 1)  # tiles reach past the last row: they repeat it
        offsets[i] = row // 2 * step + row % 2


@njit
def _panels(left, right, tile, x, base, offsets, count, w, four, columns, channels):
    for n in range(left, right, tile.cols):
        for m in range(0, count, tile.rows):
            sums = zeros(tile)
            rows = listed(tile, x, base, offsets, m, x)
            q = n * channels
            for c in range(channels):
                sums = accumulate(tile, sums, rows, 2 * c, w, q)
                q += tile.cols
            store(tile, sums, four, m * columns + n, columns, count - m, columns - n)
