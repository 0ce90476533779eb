"""The epilogue: what happens to sums between the last product and the memory they are stored in.

    y[pixel, column] = max(sum + bias[column] + residual[pixel, column], floor)

A network adds a bias to every convolution, often another array, and cuts off what is below zero. Each of
these steps by itself reads all of y and writes it again. The sums pass through registers anyway; there the
steps cost an instruction or two for each vector, and no trip to memory::

    sums = begin(tile, out, pixel, column, count, width)      # bias and residual, in place of zeros
    ...                                                       # all the products
    finish(tile, sums, out, pixel, column, count, width)      # raised to the floor, and stored

The sums *begin* with what is to be added: that costs not even an addition. Pixels need not lie close together
in y: the next one is `row` numbers away. So a convolution can fill its share of the channels of a wider
array, and nothing needs to be put side by side afterwards.

XNNPACK's micro-kernels begin with the bias and end with a clamp, too. The word is CUTLASS's; oneDNN says
*post-ops*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from convlab.cpu import llvm
from convlab.cpu.jit import njit
from convlab.cpu.llvm import INT, Registers
from convlab.cpu.register_tile import load, store, zeros


class Output(NamedTuple):
    """Where sums go, and what happens to them on the way.

    Attributes
    ----------
    y : ndarray, one axis
        From the first number of the output on.
    row : int
        Numbers from one pixel of y to the next.
    bias : ndarray, (columns,), or None
    floor : floating or None
        0 for ReLU; minus infinity lets everything pass.
    residual : ndarray, one axis, or None
        What is added to the sums, pixel by pixel; it may be y itself.
    residual_row : int
        Numbers from one pixel of it to the next.
    """

    y: np.ndarray
    row: int
    bias: np.ndarray | None = None
    floor: np.floating | None = None
    residual: np.ndarray | None = None
    residual_row: int = 0


def output(y: np.ndarray, bias=None, floor=-np.inf, residual=None) -> Output:
    """Return y (N, P, Q, K) as kernels take it, with a bias (K,) or none, a floor, and a residual or none.

    Kernels are compiled for two kinds of outputs only, with and without a residual: where there is no bias
    they begin with zeros that lie in memory, and where there is no ReLU the floor is minus infinity.
    """
    flat, row = _flat(y)
    bias = np.zeros(y.shape[-1], y.dtype) if bias is None else bias
    if residual is None:
        return Output(flat, row, bias, y.dtype.type(floor))
    return Output(flat, row, bias, y.dtype.type(floor), *_flat(residual))


def _flat(array: np.ndarray) -> tuple[np.ndarray, int]:
    """Return an array whose pixels lie equally far apart as one axis, and how far that is."""
    if array.flags.c_contiguous:
        return array.reshape(-1), array.shape[-1]
    row = array.strides[-2] // array.itemsize
    size = (array.size // array.shape[-1] - 1) * row + array.shape[-1]
    return np.lib.stride_tricks.as_strided(array, (size,), (array.itemsize,)), row


# -- on the register tile ----------------------------------------------------------------------------------


@njit(inner=True, forceinline=True)
def begin(tile, out, pixel, column, count, width):
    """Return the sums that a tile begins with; `count` pixels and `width` columns of it are wanted."""
    sums = _columns(tile, out.bias, column, width)
    at, step = pixel * out.residual_row + column, out.residual_row
    return _plus(tile, sums, out.residual, at, step, count, width)


@njit(inner=True, forceinline=True)
def finish(tile, sums, out, pixel, column, count, width):
    """Store a tile of sums that are complete."""
    store(tile, at_least(sums, out.floor), out.y, pixel * out.row + column, out.row, count, width)


@njit(inner=True, forceinline=True)
def taken_up(tile, out, pixel, column, count, width, first):
    """Return the sums as `begin` does, or where these are not the first products, those that y holds."""
    if first:
        return begin(tile, out, pixel, column, count, width)
    return load(tile, out.y, pixel * out.row + column, out.row, count, width)


@njit(inner=True, forceinline=True)
def put_down(tile, sums, out, pixel, column, count, width, last):
    """Finish a tile of sums, or where these are not the last products, keep them in y."""
    if last:
        finish(tile, sums, out, pixel, column, count, width)
    else:
        store(tile, sums, out.y, pixel * out.row + column, out.row, count, width)


# What is None is None for the compiler, too: it keeps one of the two ways only.


@njit(inner=True, forceinline=True)
def _columns(tile, bias, column, width):
    return zeros(tile) if bias is None else in_every_row(tile, bias, column, width)


@njit(inner=True, forceinline=True)
def _plus(tile, sums, residual, at, step, count, width):
    return sums if residual is None else add(sums, load(tile, residual, at, step, count, width))


@intrinsic
def in_every_row(typing, tile, bias, column, width):
    """Return ``sums[i, j] = bias[column + j]`` for every row i, 0 in columns from `width` on."""
    row = Registers("row", tile.vector, tile.vectors)

    def generate(context, builder, signature, args):
        _, bias_, column_, width_ = args

        def load_below(masks):
            numbers = llvm.empty(row)
            for j, mask in enumerate(masks):
                here = column_, INT(j * tile.lanes)
                pointer = llvm.address(context, builder, bias, bias_, *here, vector=tile.vector)
                number = llvm.load_below(builder, pointer, mask, tile.vector)
                numbers = builder.insert_value(numbers, number, j)
            return numbers

        numbers = llvm.whole_or_part(builder, width_, tile.vector, tile.vectors, load_below)
        sums = llvm.empty(tile.sums)
        for k in range(tile.rows * tile.vectors):
            sums = builder.insert_value(sums, builder.extract_value(numbers, k % tile.vectors), k)
        return sums

    return tile.sums(tile, bias, types.intp, types.intp), generate


# -- on registers of any kind ------------------------------------------------------------------------------


@intrinsic
def add(typing, sums, others):
    """Return sums + others, register by register."""

    def generate(context, builder, signature, args):
        sums_, others_ = args
        for k in range(sums.llvm.count):
            total = builder.fadd(builder.extract_value(sums_, k), builder.extract_value(others_, k))
            sums_ = builder.insert_value(sums_, total, k)
        return sums_

    return sums(sums, others), generate


@intrinsic
def at_least(typing, sums, floor):
    """Return sums with what is below `floor` raised to it, NaN as it is; a floor of None raises nothing."""

    def generate(context, builder, signature, args):
        sums_, floor_ = args
        if floor == types.none:
            return sums_
        lowest = llvm.in_every_lane(builder, floor_, sums.llvm.element)
        for k in range(sums.llvm.count):
            raised = llvm.larger(builder, lowest, builder.extract_value(sums_, k))
            sums_ = builder.insert_value(sums_, raised, k)
        return sums_

    return sums(sums, floor), generate
