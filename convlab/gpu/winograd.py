"""Winograd's convolution on a GPU: transform, one product for each place in the tile, transform back.

    V[t, e, c] = (BT d B)[e]                      a thread takes one channel of one tile
    M[t, e, k] = sum over c of V[t, e, c] * U[e, c, k]
    y of tile t, filter k = AT M[t, :, k] A       a thread takes one filter of one tile

Neighbouring threads take neighbouring channels (then filters), which lie side by side in x, V, M and y: every
request is as wide as the channels allow. A thread's window lives in its registers; the transforms are written
out from the matrices (`written`), so a 1 costs no multiplication and a 0 nothing at all.

The products in the middle are many and know nothing of one another, like the groups of a convolution. V is a
picture of T pixels with n*n*C channels, and M what a 1x1 filter in n*n*groups groups makes of it: so the
kernel that multiplies is the one of `implicit_gemm`.

What it does to the traffic: V and M are written and read once each, (n/m)^2 numbers for each of x and y.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

from convlab.algorithms.winograd_tiles import tile_grid, transform_weights, window_cells
from convlab.algorithms.winograd_transforms import in_steps, transforms
from convlab.gpu import _cuda, many_products
from convlab.gpu._cuda import cuda, uint32
from convlab.gpu.device import current
from convlab.gpu.written import written_out
from convlab.problem import ConvProblem

U = uint32
THREADS = 128


@lru_cache
def input_transform(m: int, dtype: str, r: int = 3):
    """Return the kernel(x, V, size, H, W, C, top, left, down, across); V has `size` * n * n numbers."""
    n = m + r - 1
    cells_of_window = n * n
    number = getattr(_cuda, dtype)
    into = written_out(in_steps(transforms(m, r=r).BT), f"into_{m}x{m}", dtype)

    @cuda.jit
    def into_places(x, V, size, H, W, C, top, left, down, across):
        i = U(cuda.grid(1))
        if i < size:  # one channel of one tile
            tile = U(i // C)
            c = U(i % C)
            image = U(tile // U(down * across))
            row = U(U(U(U(tile // across) % down) * U(m)) - top)  # above the picture it is very large
            col = U(U(U(tile % across) * U(m)) - left)
            first = U(U(U(U(U(U(image * H) + row) * W) + col) * C) + c)
            cells = cuda.local.array(cells_of_window, number)
            for a in range(n):
                for b in range(n):
                    inside = U(row + U(a)) < H and U(col + U(b)) < W
                    at = U(first + U(U(U(a * W) + U(b)) * C))
                    cells[U(a * n + b)] = x[at] if inside else number(0)
            for b in range(n):
                into(cells, U(b), U(n))  # BT @ d: every column
            for a in range(n):
                into(cells, U(a * n), U(1))  # ... @ B: every row
            to = U(U(U(tile * U(cells_of_window)) * C) + c)
            for e in range(cells_of_window):
                V[U(to + U(e * C))] = cells[U(e)]

    return into_places


@lru_cache
def output_transform(m: int, dtype: str, r: int = 3):
    """Return the kernel(M, y, size, P, Q, K, down, across); M has `size` * n * n numbers."""
    n = m + r - 1
    cells_of_window = n * n
    number = getattr(_cuda, dtype)
    back = written_out(in_steps(transforms(m, r=r).AT), f"back_{m}x{m}", dtype)

    @cuda.jit
    def into_pixels(M, y, size, P, Q, K, down, across):
        i = U(cuda.grid(1))
        if i < size:  # one filter of one tile
            tile = U(i // K)
            k = U(i % K)
            image = U(tile // U(down * across))
            p = U(U(U(tile // across) % down) * U(m))
            q = U(U(tile % across) * U(m))
            cells = cuda.local.array(cells_of_window, number)
            first = U(U(U(tile * U(cells_of_window)) * K) + k)
            for e in range(cells_of_window):
                cells[U(e)] = M[U(first + U(e * K))]
            for b in range(n):
                back(cells, U(b), U(n))  # AT @ M: of every column, m numbers are left
            for a in range(m):
                back(cells, U(a * n), U(1))
            to = U(U(U(U(U(U(image * P) + p) * Q) + q) * K) + k)
            for a in range(m):
                for b in range(m):
                    if U(p + U(a)) < P and U(q + U(b)) < Q:  # a tile may hang over the edge
                        y[U(to + U(U(U(a * Q) + U(b)) * K))] = cells[U(a * n + b)]

    return into_pixels


# -- the form ----------------------------------------------------------------------------------------------


def products_of(m: int, problem: ConvProblem) -> ConvProblem:
    """Return the products in the middle as one convolution: rows are tiles, groups are places and groups."""
    down, across = tile_grid(m, problem)
    return many_products.as_convolution(
        problem.N * down * across,
        window_cells(m, problem) * problem.groups,
        problem.C // problem.groups,
        problem.K // problem.groups,
        problem.dtype,
    )


def pack(m: int, problem: ConvProblem, w):
    """Return the transformed weights on the device, as `many_products` wants them."""
    products = products_of(m, problem)
    return many_products.pack(products, transform_weights(m, problem, w).reshape(products.w_shape))


def allocate(m: int, problem: ConvProblem, threads: int):
    """Return the room for V (tiles, n*n, C) and M (tiles, n*n, K)."""
    products = products_of(m, problem)
    shapes = {"V": products.x_shape, "M": products.y_shape}
    return {name: current().empty((prod(shape),), problem.dtype) for name, shape in shapes.items()}


def run(m: int, problem: ConvProblem, x, packed, workspace, y, threads):
    """Transform, multiply, transform back."""
    transform_windows(m, problem, x.reshape(-1), workspace["V"])
    many_products.multiply(products_of(m, problem), workspace["V"], packed, workspace["M"])
    transform_products(m, problem, workspace["M"], y.reshape(-1))


def transform_windows(m: int, problem: ConvProblem, x, V) -> None:
    """Fill V (tiles, n*n, C) from x (N, H, W, C); flat arrays of the device."""
    (top, _), (left, _) = problem.padding
    sizes = problem.H, problem.W, problem.C, top, left, *tile_grid(m, problem)
    _launch(input_transform(m, problem.dtype, problem.R), x, V, V.size // window_cells(m, problem), *sizes)


def transform_products(m: int, problem: ConvProblem, M, y) -> None:
    """Fill y (N, P, Q, K) from M (tiles, n*n, K); flat arrays of the device."""
    sizes = problem.P, problem.Q, problem.K, *tile_grid(m, problem)
    _launch(output_transform(m, problem.dtype, problem.R), M, y, M.size // window_cells(m, problem), *sizes)


def _launch(kernel, source, target, size: int, *sizes) -> None:
    current().launch(kernel, -(-size // THREADS), THREADS, source, target, size, *sizes)
