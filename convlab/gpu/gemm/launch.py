"""From a problem to launches of the tiled kernel."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from convlab.errors import UnsupportedError
from convlab.gpu.device import current
from convlab.gpu.gemm.kernel import tiled_product
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.gemm.tile_io import SUMMED, place_of
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
    (M, N, _), (_, K, row_w) = problem.gemm, w.shape
    channels = problem.C // problem.groups
    sizes = Sizes(
        *(M, N, K, problem.groups),
        row_w=row_w,
        row_y=problem.K,
        step_x=channels,
        step_w=K * row_w,
        step_y=N,
    )
    widths = wide(tile.width, channels, x), tile.width
    run(sizes, tile, parts, loader, widths, shape, (x, table, w), partials, y)


class Sizes(NamedTuple):
    """A product of matrices for each of some groups, and where its rows lie.

    Attributes
    ----------
    M, N, K : int
        Rows and columns of a group's y, and the length of its sums.
    groups : int
    row_w, row_y : int
        Numbers from one row of w to the next, and of y.
    step_x, step_w, step_y : int
        Numbers from one group to the next.
    where : tuple of int
        If rows of y lie apart, what `tile_io.place_of` takes; else nothing.
    """

    M: int
    N: int
    K: int
    groups: int
    row_w: int
    row_y: int
    step_x: int
    step_w: int
    step_y: int
    where: tuple[int, ...] = ()


def run(
    sizes: Sizes, tile: Tile, parts: int, loader, widths, shape, inputs, partials, y, slices=None
) -> None:
    """Fill y with products; of `multiply` it is what knows no convolution.

    Parameters
    ----------
    sizes : Sizes
    tile, parts, loader, shape
        As in `multiply`.
    widths : (int, int)
        Numbers of one load of x and of w.
    inputs : tuple
        x, table and w.
    partials
        An array of the device whose numbers suffice for all parts, or None if parts is 1.
    y
    slices : str, optional
        Of `tiled_product`; by default what serves.

    Raises
    ------
    UnsupportedError
        If sums are longer than lanes can count.
    """
    if sizes.K > SUMMED:
        raise UnsupportedError(
            f"sums of {sizes.K:,} products; kernels count up to {SUMMED:,}: "
            "make the batch N, or the pictures, smaller"
        )
    dtype = y.dtype.name
    tile.check(dtype)
    M, N, K, groups, row_w, row_y, *steps, where = sizes
    pieces = ceil_div(K, tile.block_k * parts)  # of each part
    target = y if parts == 1 else partials
    whole = M * row_y if where else y.size  # of a part, whose rows follow each other
    blocks, columns = grid(M, N, tile)
    x_width, w_width = widths
    y_width = wide(tile.width, N, target)
    apart = bool(where) and parts == 1  # parts lie together, and `reduce` puts their sums where they belong
    slices = slices or ("groups" if parts == 1 else "parts" if groups == 1 else "both")
    kernel = tiled_product(tile, loader, x_width, y_width, dtype, columns, w_width, apart, slices)
    arrays = [array.reshape(-1) for array in (*inputs, target)]
    for first in range(0, groups * parts, MOST):
        matrix = M, N, K, row_w, row_y, pieces, first, groups, *steps, pieces * tile.block_k, whole, *where
        size = *blocks, min(MOST, groups * parts - first)
        current().launch(kernel, size, tile.threads, *arrays, shape, matrix)
    if parts > 1:
        reduce(partials, y, whole, parts, row_y, where)


def reduce(partials, y, size: int, parts: int, row_y: int = 1, where: tuple[int, ...] = ()) -> None:
    """Fill y with the sums of `parts` arrays of `size` numbers; its rows may lie apart, see `Sizes`."""
    kernel = add_up(partials.dtype.name, bool(where))
    arrays = partials.reshape(-1), y.reshape(-1)
    current().launch(kernel, ceil_div(size, REDUCERS), REDUCERS, *arrays, size, parts, row_y, where or (0,))


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
def add_up(dtype: str, apart: bool):
    """Return the kernel(partials, y, size, parts, row_y, where) that adds up what parts of K have given.

    Always in the same order: so the same input gives the same bits, which atomic additions would not.
    """
    number, place = number_type(dtype), place_of(apart)

    @kernel
    def reduction(partials, y, size, parts, row_y, where):
        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        if i < size:
            total = number(0)
            for part in range(parts):
                total += partials[part * size + i]
            if apart:
                row = i // row_y
                i += place(row, row_y, where) - row * row_y
            y[i] = total

    return reduction
