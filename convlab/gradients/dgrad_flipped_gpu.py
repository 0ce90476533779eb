"""dgrad of stride 1 on a GPU: a forward convolution of dy, by the kernels that are predicted to be fastest.

Those are the plain product of `implicit_gemm`, or Winograd's for tiles of 2x2, 4x4 or 6x6 pixels. What these
want of a filter is its transform, turned round: a thread takes one channel of one filter of w, reads its
weights from the last to the first, and writes n*n numbers::

    U[e, k, c] = (G @ g @ GT)[e]        g[a, b] = w[k, 2 - a, 2 - b, c]

It is done where w lies, in w's precision: weights that are learned change there.

Lavin & Gray, "Fast Algorithms for Convolutional Neural Networks", arXiv:1509.09308, section 3: the gradient
of the input is a convolution like any other.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from convlab.algorithms import ALGORITHMS
from convlab.algorithms.winograd import gpu as winograd
from convlab.algorithms.winograd.gpu_transforms import written_out
from convlab.algorithms.winograd.transforms import POINTS, in_steps, transforms
from convlab.auto import magnitudes
from convlab.auto.predict_gpu import predict_on_gpu
from convlab.cost.common import ONCE
from convlab.gpu.device import current, device_speeds
from convlab.gpu.gemm import batched, launch
from convlab.gpu.kernels import kernel
from convlab.gpu.model.speeds import GpuSpeeds
from convlab.gpu.numba_cuda import cuda, number_type
from convlab.gradients import dgrad_implicit_gpu as plain
from convlab.gradients.filters_gpu import on_device
from convlab.gradients.phases import parts, strided, turned
from convlab.gradients.spec import Shapes
from convlab.plans.feasible import serves
from convlab.problem import ConvProblem
from convlab.support.device_arrays import described
from convlab.support.integers import ceil_div

THREADS = 128
TILES = {f"winograd_{m}x{m}": m for m in POINTS}


class Packed(NamedTuple):
    """The filters as a run reads them: for tiles of m x m pixels, or those of a plain product if m is 0."""

    m: int
    filters: Any


@lru_cache
def transformed(m: int, dtype: str, r: int = 3):
    """Return the kernel(w, U, size, channels, row): from w (filters, r, r, channels) to U (n * n, size).

    `size` is filters * row; a row is longer than the channels by zeros.
    """
    n = m + r - 1
    cells_of_window = n * n
    number = number_type(dtype)
    into = written_out(in_steps(transforms(m, r=r).G), f"filter_{m}x{m}", dtype)

    @kernel
    def transformed(w, U, size, channels, row):
        i = cuda.grid(1)
        if i < size:  # one channel of one filter
            k, c = divmod(i, row)
            cells = cuda.local.array(cells_of_window, number)
            for a in range(r):
                for b in range(r):
                    at = ((k * r + r - 1 - a) * r + r - 1 - b) * channels + c
                    cells[a * n + b] = w[at] if c < channels else number(0)
            for b in range(r):
                into(cells, b, n)  # G @ g: every column
            for a in range(n):
                into(cells, a * n, 1)  # ... @ GT: every row
            for e in range(cells_of_window):
                U[e * size + i] = cells[e]

    return transformed


def tiles_for(problem: ConvProblem) -> int:
    """Return the m of Winograd's tiles of m x m pixels, if that is predicted to be fastest; else 0."""
    return _tiles_for(problem, device_speeds()) if parts(problem) else 0


@lru_cache
def _tiles_for(problem: ConvProblem, speeds: GpuSpeeds) -> int:
    ((small, _, _),) = parts(problem)
    names = (name for name in ("implicit_gemm", *TILES) if serves(small, ALGORITHMS[name], "gpu"))
    seconds = {name: sum(time.seconds for time in predict_on_gpu(small, name, speeds)) for name in names}
    return TILES.get(min(seconds, key=seconds.__getitem__), 0)


def _products(problem: ConvProblem, m: int) -> ConvProblem:
    return winograd.products_of(m, parts(problem)[0].problem)


def shapes(problem: ConvProblem, threads: int) -> Shapes:
    """Return the shapes of the windows and the products, transformed; or of parts of sums."""
    if not (m := tiles_for(problem)):
        return plain.shapes(problem, threads)
    products = _products(problem, m)
    return {"V": (prod(products.x_shape),), "M": (prod(products.y_shape),)}


def packed_bytes(problem: ConvProblem, threads: int) -> int:
    """Return the bytes of the filters."""
    if not (m := tiles_for(problem)):
        return plain.packed_bytes(problem, threads)
    return launch.packed_bytes(_products(problem, m))


def bytes_moved(problem: ConvProblem, threads: int) -> int:
    """Return the bytes that are read and written: once each, and V and M twice."""
    if not (m := tiles_for(problem)):
        return ONCE(problem, threads)
    return ALGORITHMS[f"winograd_{m}x{m}"].forms["gpu"].bytes_moved(parts(problem)[0].problem)


def pack(problem: ConvProblem, w, threads: int, before=None, dy=None) -> Packed:
    """Return the filters on the device; for a plain product where tiles would mix what no float can part.

    Numbers that lie on the device are not looked at.
    """
    m = tiles_for(problem)
    if not m or _mixes_too_much(problem, m, w, dy):
        return Packed(0, plain.pack(problem, w, threads))
    products = _products(problem, m)
    depth, row = products.w_shape[3], launch.padded(products.K // products.groups)
    U = current().empty((products.groups, depth, row), problem.dtype)
    size, arrays = problem.K * row, (on_device(w).reshape(-1), U.reshape(-1))
    made = transformed(m, problem.dtype, problem.R)
    current().launch(made, ceil_div(size, THREADS), THREADS, *arrays, size, problem.C // problem.groups, row)
    return Packed(m, U)


def _mixes_too_much(problem: ConvProblem, m: int, w, dy) -> bool:
    if described("w", w) is not None:
        return False
    ((small, rows, cols),), algorithm = parts(problem), ALGORITHMS[f"winograd_{m}x{m}"]
    weight, found = magnitudes.of_weights(small, algorithm, turned(problem, w))
    if not found and dy is not None and described("dy", dy) is None:
        lines = dy[:, strided(rows.lines), strided(cols.lines)]
        found = magnitudes.of_pixels(small, algorithm, lines, weight, "dy")
    return found is not None


def run(problem, given, packed, workspace, dx, threads):
    """Fill dx (N, H, W, C) with the gradient of the input."""
    if not packed.m:
        plain.run(problem, given, packed.filters, workspace, dx, threads)
        return
    (dy,), ((small, rows, cols),), m = given, parts(problem), packed.m
    V, M = workspace["V"], workspace["M"]
    # Windows are of all dy, and may begin inside of it.
    picture, corner = (problem.P, problem.Q), (rows.corner, cols.corner)
    winograd.transform_windows(m, small, dy.reshape(-1), V, picture, corner)
    batched.multiply(_products(problem, m), V, packed.filters, M)
    winograd.transform_products(m, small, M, dx.reshape(-1))
