"""Winograd's convolution on a GPU: transform, one product for each place in the tile, transform back.

    V[t, e, c] = (BT d B)[e]                      a thread takes one channel of one tile
    M[t, e, k] = sum over c of V[t, e, c] * U[e, c, k]
    y of tile t, filter k = AT M[t, :, k] A       a thread takes one filter of one tile

Neighbouring threads take neighbouring channels (then filters), which lie side by side in x, V, M and y: every
request is as wide as the channels allow. A thread's window lives in its registers; the transforms are written
out from the matrices (`written_out`), so a 1 costs no multiplication and a 0 nothing at all.

The products in the middle are many and know nothing of one another, like the groups of a convolution. V is a
picture of T pixels with n*n*C channels, and M what a 1x1 filter in n*n*groups groups makes of it: so the
kernel that multiplies is the one of `implicit_gemm`.

What it does to the traffic: V and M are written and read once each, (n/m)^2 numbers for each of x and y.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

from convlab.algorithms.winograd.gpu_transforms import written_out
from convlab.algorithms.winograd.tiles import (
    tile_grid,
    transform_operations,
    transform_weights,
    window_cells,
)
from convlab.algorithms.winograd.transforms import in_steps, transforms
from convlab.gpu.device import current
from convlab.gpu.gemm import batched
from convlab.gpu.gemm.load_implicit import placed
from convlab.gpu.kernels import kernel
from convlab.gpu.model.work import Work, one_pass
from convlab.gpu.numba_cuda import cuda, number_type
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div

THREADS = 128


@lru_cache
def input_transform(m: int, dtype: str, r: int = 3):
    """Return the kernel(x, V, size, H, W, C, top, left, down, across); V has `size` * n * n numbers."""
    n = m + r - 1
    cells_of_window = n * n
    number = number_type(dtype)
    into = written_out(in_steps(transforms(m, r=r).BT), f"into_{m}x{m}", dtype)

    @kernel
    def into_places(x, V, size, H, W, C, top, left, down, across):
        i = cuda.grid(1)
        if i < size:  # one channel of one tile
            tile = i // C
            c = i % C
            image = tile // (down * across)
            row = tile // across % down * m - top  # above the picture it is very large
            col = tile % across * m - left
            first = ((image * H + row) * W + col) * C + c
            cells = cuda.local.array(cells_of_window, number)
            for a in range(n):
                for b in range(n):
                    inside = row + a < H and col + b < W
                    at = first + (a * W + b) * C
                    cells[a * n + b] = x[at] if inside else number(0)
            for b in range(n):
                into(cells, b, n)  # BT @ d: every column
            for a in range(n):
                into(cells, a * n, 1)  # ... @ B: every row
            to = tile * cells_of_window * C + c
            for e in range(cells_of_window):
                V[to + e * C] = cells[e]

    return into_places


@lru_cache
def output_transform(m: int, dtype: str, r: int = 3):
    """Return the kernel(M, y, size, P, Q, K, down, across); M has `size` * n * n numbers."""
    n = m + r - 1
    cells_of_window = n * n
    number = number_type(dtype)
    back = written_out(in_steps(transforms(m, r=r).AT), f"back_{m}x{m}", dtype)

    @kernel
    def into_pixels(M, y, size, P, Q, K, down, across):
        i = cuda.grid(1)
        if i < size:  # one filter of one tile
            tile = i // K
            k = i % K
            image = tile // (down * across)
            p = tile // across % down * m
            q = tile % across * m
            cells = cuda.local.array(cells_of_window, number)
            first = tile * cells_of_window * K + k
            for e in range(cells_of_window):
                cells[e] = M[first + e * K]
            for b in range(n):
                back(cells, b, n)  # AT @ M: of every column, m numbers are left
            for a in range(m):
                back(cells, a * n, 1)
            to = ((image * P + p) * Q + q) * K + k
            for a in range(m):
                for b in range(m):
                    if p + a < P and q + b < Q:  # a tile may hang over the edge
                        y[to + (a * Q + b) * K] = cells[a * n + b]

    return into_pixels


# -- the form ----------------------------------------------------------------------------------------------


def products_of(m: int, problem: ConvProblem) -> ConvProblem:
    """Return the products in the middle as one convolution: rows are tiles, groups are places and groups."""
    down, across = tile_grid(m, problem)
    return batched.as_convolution(
        problem.N * down * across,
        window_cells(m, problem) * problem.groups,
        problem.C // problem.groups,
        problem.K // problem.groups,
        problem.dtype,
    )


def pack(m: int, problem: ConvProblem, w):
    """Return the transformed weights on the device, as `gemm.batched` wants them."""
    products = products_of(m, problem)
    return batched.pack(products, transform_weights(m, problem, w).reshape(products.w_shape))


def allocate(m: int, problem: ConvProblem, threads: int):
    """Return the room for V (tiles, n*n, C) and M (tiles, n*n, K)."""
    products = products_of(m, problem)
    shapes = {"V": products.x_shape, "M": products.y_shape}
    return {name: current().empty((prod(shape),), problem.dtype) for name, shape in shapes.items()}


def works(m: int, problem: ConvProblem) -> tuple[Work, ...]:
    """Return what the launches of `run` ask of a GPU."""
    products, cells = products_of(m, problem), window_cells(m, problem)
    into, back = transform_operations(m, problem.R)
    tiles = products.x_bytes // problem.itemsize // cells, products.y_bytes // problem.itemsize // cells
    first = one_pass(
        "transform the windows",
        tiles[0],
        THREADS,
        registers=cells + 24,
        instructions=into + 5 * cells + 180,
        loads=cells,
        stores=cells,
        moved=2 * products.x_bytes,
        cold=problem.x_bytes,
        passed_on=products.x_bytes,
    )
    last = one_pass(
        "transform back",
        tiles[1],
        THREADS,
        registers=cells + 24,
        instructions=back + 2 * cells + 4 * m * m + 125,
        loads=cells,
        stores=m * m,
        moved=products.y_bytes + problem.y_bytes,
        cold=problem.y_bytes,
        passed_on=products.y_bytes,
    )
    return (first, *batched.works(products), last)


def run(m: int, problem: ConvProblem, x, packed, workspace, y, threads):
    """Transform, multiply, transform back."""
    transform_windows(m, problem, x.reshape(-1), workspace["V"])
    batched.multiply(products_of(m, problem), workspace["V"], packed, workspace["M"])
    transform_products(m, problem, workspace["M"], y.reshape(-1))


def transform_windows(
    m: int,
    problem: ConvProblem,
    x,
    V,
    picture: tuple[int, int] | None = None,
    corner: tuple[int, int] | None = None,
) -> None:
    """Fill V (tiles, n*n, C) from x (N, H, W, C); flat arrays of the device.

    `picture` and `corner` are those of `convlab.gpu.gemm.load_implicit.shape`.
    """
    there, first = placed(problem, picture, corner)
    sizes = *there, problem.C, *first, *tile_grid(m, problem)
    _launch(input_transform(m, problem.dtype, problem.R), x, V, V.size // window_cells(m, problem), *sizes)


def transform_products(m: int, problem: ConvProblem, M, y) -> None:
    """Fill y (N, P, Q, K) from M (tiles, n*n, K); flat arrays of the device."""
    sizes = problem.P, problem.Q, problem.K, *tile_grid(m, problem)
    _launch(output_transform(m, problem.dtype, problem.R), M, y, M.size // window_cells(m, problem), *sizes)


def _launch(kernel, source, target, size: int, *sizes) -> None:
    current().launch(kernel, ceil_div(size, THREADS), THREADS, source, target, size, *sizes)
