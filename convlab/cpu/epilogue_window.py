"""The epilogue of a window: what `epilogue.py` does with the register tile, for the cells of a transform.

    y[pixel, column] = max(cell + bias[column] + residual[pixel, column], floor)

Winograd's sums are not sums of y: they are transformed first, a vector of filters at a time. What comes out
are outputs x outputs cells, neighbouring pixels of y, and these are finished on their way into it.
"""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic

from convlab.cpu import llvm
from convlab.cpu.epilogue import add, at_least
from convlab.cpu.jit import njit
from convlab.cpu.small_matmul import write
from convlab.cpu.tile_rows import at_most


@njit(inner=True, forceinline=True)
def finish_window(transform, cells, out, pixel, column, line, rows, cols, width):
    """Finish and store cell (i, j) as pixel `pixel` + i*`line` + j, for the first `rows` and `cols` of them.

    `width` columns are wanted, of as many as a vector has lanes.
    """
    if out.bias is not None:
        cells = add(cells, _in_every_cell(transform, out.bias, column, width))
    cells = _plus(transform, cells, out.residual, out.residual_row, pixel, column, line, rows, cols, width)
    cells = at_least(cells, out.floor)
    at = pixel * out.row + column
    write(transform, cells, out.y, at, line * out.row, out.row, rows, cols, width)


@njit(inner=True, forceinline=True)
def _plus(transform, cells, residual, row, pixel, column, line, rows, cols, width):
    if residual is None:
        return cells
    at = pixel * row + column
    return add(cells, _read(transform, residual, at, line * row, row, rows, cols, width))


@intrinsic
def _in_every_cell(typing, transform, bias, column, width):
    """Return a window of outputs, each ``bias[column : column + width]`` and zeros."""

    def generate(context, builder, signature, args):
        _, bias_, column_, width_ = args

        def load_below(masks):
            pointer = llvm.address(context, builder, bias, bias_, column_, vector=transform.vector)
            return llvm.load_below(builder, pointer, *masks, transform.vector)

        numbers = llvm.whole_or_part(builder, width_, transform.vector, 1, load_below)
        cells = llvm.empty(transform.after)
        for k in range(transform.outputs**2):
            cells = builder.insert_value(cells, numbers, k)
        return cells

    return transform.after(transform, bias, types.intp, types.intp), generate


@intrinsic
def _read(typing, transform, y, p, row, col, rows, cols, width):
    """Return what `write` left: cell (i, j) from ``y[p + i*row + j*col]``; past the last one it again."""
    m = transform.outputs

    def generate(context, builder, signature, args):
        _, y_, p_, row_, col_, rows_, cols_, width_ = args
        down = [builder.mul(row_, at_most(builder, i, rows_)) for i in range(m)]
        across = [builder.mul(col_, at_most(builder, j, cols_)) for j in range(m)]

        def each_cell(masks):
            cells = llvm.empty(transform.after)
            for k in range(m * m):
                here = p_, down[k // m], across[k % m]
                pointer = llvm.address(context, builder, y, y_, *here, vector=transform.vector)
                cell = llvm.load_below(builder, pointer, *masks, transform.vector)
                cells = builder.insert_value(cells, cell, k)
            return cells

        return llvm.whole_or_part(builder, width_, transform.vector, 1, each_cell)

    return transform.after(transform, y, *[types.intp] * 6), generate
