"""From a problem to launches of the tiled kernel."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from convlab.gpu.device import current
from convlab.gpu.gemm.kernel import tiled_product
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.kernels import kernel
from convlab.gpu.numba_cuda import cuda, number_type
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div, round_up

WIDE = 4  # rows of packed weights begin at multiples of so many numbers
MOST = 65535  # blocks along the second and third axis of a grid
REDUCERS = 128  # threads of a block that adds up parts


def pack(problem: ConvProblem, w: np.ndarray):
    """Return the weights on the device, (groups, R*S*C/groups, K/groups up to a multiple of four).

    Filters lie side by side, so that neighbouring threads load neighbouring filters; zeros at a row's end.
    """
    _, filters, taps = problem.gemm
    packed = np.zeros((problem.groups, taps, padded(filters)), w.dtype)
    packed[:, :, :filters] = w.reshape(problem.groups, filters, taps).transpose(0, 2, 1)
    return current().put(packed)


def packed_bytes(problem: ConvProblem) -> int:
    """Bytes of what `pack` returns."""
    _, filters, taps = problem.gemm
    return problem.groups * taps * padded(filters) * problem.itemsize


def padded(filters: int) -> int:
    """Return the numbers of a row of packed weights."""
    return round_up(filters, WIDE)


def partials(problem: ConvProblem, parts: int) -> dict:
    """Return an array for the parts of the sums, (parts, N, P, Q, K), by its name; nothing for one part."""
    if parts == 1:
        return {}
    return {"partials": current().empty((parts, *problem.y_shape), problem.dtype)}


def partial_bytes(problem: ConvProblem, parts: int) -> int:
    """Bytes of what `partials` returns."""
    return parts * problem.y_bytes if parts > 1 else 0


def multiply(problem: ConvProblem, tile: Tile, parts: int, loader, shape, x, table, w, partials, y) -> None:
    """Fill y with the product of A, as `loader` finds it in x, and w.

    Parameters
    ----------
    problem : ConvProblem
    tile : Tile
    parts : int
        K is cut into so many parts, each a block's own; 1 for none.
    loader : callable
        See `tiled_product`.
    shape : tuple of int
        What the loader wants to know.
    x, table, w, y
        Arrays of the device; w (groups, K, filters up to a multiple of four).
    partials
        Array of the device, (parts, N, P, Q, K), or None if parts is 1.
    """
    tile.check(problem.dtype)
    (M, N, _), channels, (_, K, row_w) = problem.gemm, problem.C // problem.groups, w.shape
    pieces = ceil_div(K, tile.block_k * parts)  # of each part
    if parts == 1:
        slices, steps, target = problem.groups, (channels, K * row_w, 0, N), y
    else:
        slices, steps, target = parts, (0, 0, pieces * tile.block_k, M * N), partials
    blocks, columns = grid(M, N, tile)
    widths = wide(tile.width, channels, x), wide(tile.width, N, target)
    kernel = tiled_product(tile, loader, *widths, problem.dtype, columns)
    arrays = x.reshape(-1), table, w.reshape(-1), target.reshape(-1)
    for first in range(0, slices, MOST):
        matrix = M, N, K, row_w, problem.K, pieces, first, *steps
        size = *blocks, min(MOST, slices - first)
        current().launch(kernel, size, tile.threads, *arrays, shape, matrix)
    if parts > 1:
        flat = partials.reshape(-1), y.reshape(-1)
        current().launch(add_up(problem.dtype), ceil_div(y.size, REDUCERS), REDUCERS, *flat, y.size, parts)


def grid(M: int, N: int, tile: Tile) -> tuple[tuple[int, int], int]:
    """Return the blocks of a product as ((x, y), columns): the order in which they are started.

    Blocks that run at the same time should need the same rows of A and columns of B, or the L2 cache holds
    them in vain. So y is not walked row by row, but in strips of up to eight blocks.
    """
    blocks_m, blocks_n = ceil_div(M, tile.block_m), ceil_div(N, tile.block_n)
    columns = min(8, 1 << (blocks_n - 1).bit_length())
    return (blocks_m * columns, ceil_div(blocks_n, columns)), columns


def wide(width: int, size: int, array) -> int:
    """Return how many numbers of an array's rows of `size` one access may take: `width`, or one.

    Four numbers at once must lie at a multiple of 16 bytes. Rows of another library's array may not.
    """
    simulated = isinstance(array, np.ndarray)
    described = array.__array_interface__ if simulated else array.__cuda_array_interface__
    return width if size % width == 0 and described["data"][0] % 16 == 0 else 1


@lru_cache
def add_up(dtype: str):
    """Return the kernel(partials, y, size, parts) that adds up what parts of K have given.

    Always in the same order: so the same input gives the same bits, which atomic additions would not.
    """
    number = number_type(dtype)

    @kernel
    def reduction(partials, y, size, parts):
        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        if i < size:
            total = number(0)
            for part in range(parts):
                total += partials[part * size + i]
            y[i] = total

    return reduction
