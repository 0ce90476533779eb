"""Convolution by Fourier transform on a GPU, of whole pictures and of tiles: `fft` and `fft_tiled`.

    cut         x into pictures of the transform's size, zeros around           a kernel
    transform   every picture to its spectrum                                   cuFFT
    multiply    channels by filters, for every frequency                        a kernel
    transform   backwards                                                       cuFFT
    paste       the outputs that did not wrap around into y                     a kernel

The products are of complex numbers. A row of them is a row of real numbers, twice as long, and so the
product of complex matrices is one of real matrices, if a complex weight c + di stands as a square::

    (a b) ( c  d)  =  (ac - bd   ad + bc)
          (-d  c)

No more multiplications than before, and one kernel for all; the price is that weights are stored twice.
Frequencies know nothing of one another: they are the groups of `gemm.batched`.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from convlab.algorithms.fft import tiles
from convlab.algorithms.fft.reference import packed_spectra
from convlab.algorithms.fft.transforms import transform_size
from convlab.gpu.device import current
from convlab.gpu.fft_library import transforms
from convlab.gpu.gemm import batched
from convlab.gpu.kernels import kernel
from convlab.gpu.numba_cuda import cuda, number_type
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div

THREADS = 128


class Pictures(NamedTuple):
    """How x and y are cut into the pictures that are transformed.

    Attributes
    ----------
    rows, cols : int
        Of the transform.
    down, across : int
        Pictures of one image.
    good_rows, good_cols : int
        Outputs of a picture, and how far its neighbour begins from it.
    top, left : int
        Where the first picture begins: so many rows above x, and columns left of it.
    corner : (int, int)
        The same, where the weights' spectra hold it instead.
    """

    rows: int
    cols: int
    down: int
    across: int
    good_rows: int
    good_cols: int
    top: int
    left: int
    corner: tuple[int, int]

    @property
    def grid(self) -> tuple[int, ...]:
        """The sizes that kernels take."""
        return self.rows, self.cols, self.down, self.across, self.good_rows, self.good_cols

    @property
    def frequencies(self) -> int:
        """Of a spectrum of real numbers: the others are their conjugates."""
        return self.rows * (self.cols // 2 + 1)


def pictures_of(kind: str, problem: ConvProblem) -> Pictures:
    """Return the pictures of "whole" images, or of "tiles"."""
    (top, _), (left, _) = problem.padding
    if kind == "whole":
        rows, cols = transform_size(problem)
        return Pictures(rows, cols, 1, 1, problem.P, problem.Q, 0, 0, (top, left))
    rows, cols = tiles.tile_size(problem)
    good = tiles.good_outputs(problem, (rows, cols))
    down, across = ceil_div(problem.P, good[0]), ceil_div(problem.Q, good[1])
    return Pictures(rows, cols, down, across, *good, top, left, (0, 0))


@lru_cache
def cut(dtype: str):
    """Return the kernel that fills pictures (N, down, across, rows, cols, C); a thread writes one number."""
    number = number_type(dtype)

    @kernel
    def cut_pictures(x, pictures, size, H, W, C, rows, cols, down, across, step_h, step_w, top, left):
        i = cuda.grid(1)
        if i < size:
            c, rest = i % C, i // C
            col, rest = rest % cols, rest // cols
            row, rest = rest % rows, rest // rows
            right, rest = rest % across, rest // across
            below, n = rest % down, rest // down
            h = below * step_h + row - top  # above the picture it is very large
            w = right * step_w + col - left
            inside = h < H and w < W
            pictures[i] = x[((n * H + h) * W + w) * C + c] if inside else number(0)

    return cut_pictures


@kernel
def paste(pictures, y, size, P, Q, K, rows, cols, down, across, step_h, step_w):
    """Fill y (N, P, Q, K) from pictures (N, down, across, rows, cols, K); a thread writes one number."""
    i = cuda.grid(1)
    if i < size:
        k, rest = i % K, i // K
        q, rest = rest % Q, rest // Q
        p, n = rest % P, rest // P
        below, right = p // step_h, q // step_w
        picture = (n * down + below) * across + right
        row, col = p - below * step_h, q - right * step_w
        y[i] = pictures[((picture * rows + row) * cols + col) * K + k]


# -- the form ----------------------------------------------------------------------------------------------


def products_of(kind: str, problem: ConvProblem) -> ConvProblem:
    """Return the products of all frequencies as one convolution of real numbers."""
    pictures, groups = pictures_of(kind, problem), problem.groups
    return batched.as_convolution(
        problem.N * pictures.down * pictures.across,
        pictures.frequencies * groups,
        2 * problem.C // groups,
        2 * problem.K // groups,
        problem.dtype,
    )


def pack(kind: str, problem: ConvProblem, w):
    """Return the weights' spectra on the device, each complex number as a square of real ones."""
    transforms()  # refuses, if there is no library for it
    pictures, products = pictures_of(kind, problem), products_of(kind, problem)
    size = pictures.rows, pictures.cols
    spectra = packed_spectra(problem, w, size, pictures.corner).swapaxes(2, 3)  # (F, G, K/G, C/G)
    squares = np.empty((*spectra.shape[:3], 2, *spectra.shape[3:], 2), w.dtype)  # (F, G, K/G, 2, C/G, 2)
    squares[:, :, :, 0, :, 0] = squares[:, :, :, 1, :, 1] = spectra.real
    squares[:, :, :, 0, :, 1], squares[:, :, :, 1, :, 0] = -spectra.imag, spectra.imag
    return batched.pack(products, squares.reshape(products.w_shape))


def allocate(kind: str, problem: ConvProblem, threads: int):
    """Return the room for the pictures (B, rows, cols, C) and for the products (B, frequencies, K, 2)."""
    pictures, products = pictures_of(kind, problem), products_of(kind, problem)
    cells = products.W * pictures.rows * pictures.cols * problem.C
    return {
        "pictures": current().empty((cells,), problem.dtype),
        "products": current().empty((prod(products.y_shape),), problem.dtype),
    }


def run(kind: str, problem: ConvProblem, x, packed, workspace, y, threads):
    """Cut, transform, multiply, transform back, paste."""
    library = transforms()
    pictures, products = pictures_of(kind, problem), products_of(kind, problem)
    count, rows, cols = products.W, pictures.rows, pictures.cols
    cut_all(pictures, problem, x.reshape(-1), workspace["pictures"])
    spectra = library.forward(workspace["pictures"].reshape(count, rows, cols, problem.C))
    batched.multiply(products, spectra.reshape(-1), packed, workspace["products"])
    shape = count, rows, cols // 2 + 1, problem.K, 2
    back = library.backward(workspace["products"].reshape(*shape), cols)  # (count, rows, cols, K)
    paste_all(pictures, problem, back.reshape(-1), y.reshape(-1))


def cut_all(pictures: Pictures, problem: ConvProblem, x, cut_out) -> None:
    """Fill cut_out (N, down, across, rows, cols, C) from x (N, H, W, C); flat arrays of the device."""
    sizes = problem.H, problem.W, problem.C, *pictures.grid, pictures.top, pictures.left
    _launch(cut(problem.dtype), x, cut_out, *sizes)


def paste_all(pictures: Pictures, problem: ConvProblem, outputs, y) -> None:
    """Fill y (N, P, Q, K) from outputs (N, down, across, rows, cols, K); flat arrays of the device."""
    _launch(paste, outputs, y, problem.P, problem.Q, problem.K, *pictures.grid)


def _launch(kernel, source, target, *sizes) -> None:
    current().launch(kernel, ceil_div(target.size, THREADS), THREADS, source, target, target.size, *sizes)
