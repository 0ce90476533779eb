"""Small matrices applied to windows of vectors: the transforms of Winograd's convolution, in registers.

A window is n x n pixels, each a vector of neighbouring channels. Its transform is A @ window @ A^T for every
channel at once, with a matrix A of known numbers. Known is the point: A travels as a *type*, like the size of
the register tile, so the compiler writes out the sums, zeros vanish, and a 1 or -1 costs no multiplication::

    cells = read(transform, x, p, row, col, inside, outside, width)   # a window, zeros where it leaves x
    cells = both_sides(transform, cells)                              # A @ cells @ A^T
    write(transform, cells, y, p, row, col, rows, cols, width)        # as much of it as there is

`width` is the number of channels left: a vector's lanes past it are neither read nor written.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from convlab.cpu import llvm
from convlab.cpu.llvm import INT, SCALARS, Registers, travels_as_type
from convlab.cpu.tile_rows import at_most

NO_MASKS = 16  # bytes of the vectors of a processor without masked loads: LLVM asks for each lane by itself


class Transform:
    """A matrix to be applied from both sides; for compiled code only its type matters.

    Parameters
    ----------
    steps : list of matrices
        Their product is the matrix, the first is applied first; rows of exact numbers.
    lanes : int
        Numbers in a vector.
    dtype : str
        "float32" or "float64".
    """

    def __init__(self, steps: list[tuple[tuple[Fraction, ...], ...]], lanes: int, dtype: str = "float32"):
        self.steps, self.lanes, self.dtype = steps, lanes, dtype
        self.inputs, self.outputs = len(steps[0][0]), len(steps[-1])


# -- how Numba gets to know it -----------------------------------------------------------------------------


class TransformType(types.Type):
    def __init__(self, transform: Transform):
        self.steps, self.lanes = transform.steps, transform.lanes
        self.inputs, self.outputs = transform.inputs, transform.outputs
        _, scalar = SCALARS[transform.dtype]
        self.vector = ir.VectorType(scalar, transform.lanes)
        self.bytes = transform.lanes * np.dtype(transform.dtype).itemsize
        self.before = Registers("cells", self.vector, self.inputs**2)
        self.after = Registers("cells", self.vector, self.outputs**2)
        numbers = hashlib.sha256(repr(self.steps).encode()).hexdigest()[:8]
        size = f"{self.outputs}x{self.inputs},{self.lanes},{transform.dtype}"
        super().__init__(f"Transform({size},{numbers})")


travels_as_type(Transform, TransformType, "inputs", "outputs", "lanes")


# -- the operations ----------------------------------------------------------------------------------------


@intrinsic
def read(typing, transform, x, p, row, col, inside, outside, width):
    """Return a window of vectors: cell (i, j) begins at ``x[p + i*row + j*col]``.

    `inside` is (first row, end row, first column, end column) of the cells that lie in x; the others read
    `outside`, an array of as many zeros as a vector has lanes.
    """
    n = transform.inputs

    def generate(context, builder, signature, args):
        _, x_, p_, row_, col_, inside_, outside_, width_ = args
        top, bottom, left, right = (builder.extract_value(inside_, i) for i in range(4))
        down = [_between(builder, i, top, bottom) for i in range(n)]
        across = [_between(builder, j, left, right) for j in range(n)]
        nowhere = llvm.address(context, builder, outside, outside_, vector=transform.vector)

        def each_cell(masks):
            cells = llvm.empty(transform.before)
            for i in range(n):
                for j in range(n):
                    offsets = p_, builder.mul(row_, INT(i)), builder.mul(col_, INT(j))
                    somewhere = llvm.address(context, builder, x, x_, *offsets, vector=transform.vector)
                    pointer = builder.select(builder.and_(down[i], across[j]), somewhere, nowhere)
                    cell = llvm.load_below(builder, pointer, *masks, transform.vector)
                    cells = builder.insert_value(cells, cell, i * n + j)
            return cells

        if transform.bytes <= NO_MASKS:
            return llvm.whole_or_part(builder, width_, transform.vector, 1, each_cell)
        return each_cell([llvm.lanes_below(builder, width_, transform.vector, 0)])

    four = types.UniTuple(types.intp, 4)
    takes = transform, x, types.intp, types.intp, types.intp, four, outside, types.intp
    return transform.before(*takes), generate


@intrinsic
def both_sides(typing, transform, cells):
    """Return A @ cells @ A^T, for the matrix A of the transform."""
    n, m = transform.inputs, transform.outputs

    def generate(context, builder, signature, args):
        before = [[builder.extract_value(args[1], i * n + j) for j in range(n)] for i in range(n)]
        columns = [_apply(builder, transform.steps, column) for column in zip(*before, strict=True)]
        after = llvm.empty(transform.after)
        for i in range(m):
            row = _apply(builder, transform.steps, [column[i] for column in columns])
            for j in range(m):
                after = builder.insert_value(after, row[j], i * m + j)
        return after

    return transform.after(transform, cells), generate


@intrinsic
def write(typing, transform, cells, y, p, row, col, rows, cols, width):
    """Write cell (i, j) to ``y[p + i*row + j*col]``, for the first `rows` rows and `cols` columns.

    Cells past them go where the last one goes, and before it: it has the last word.
    """
    m = transform.outputs

    def generate(context, builder, signature, args):
        _, cells_, y_, p_, row_, col_, rows_, cols_, width_ = args
        down = [builder.mul(row_, at_most(builder, i, rows_)) for i in range(m)]
        across = [builder.mul(col_, at_most(builder, j, cols_)) for j in range(m)]

        def each_cell(store):
            for i in reversed(range(m)):
                for j in reversed(range(m)):
                    here = down[i], across[j]
                    pointer = llvm.address(context, builder, y, y_, p_, *here, vector=transform.vector)
                    store(builder.extract_value(cells_, i * m + j), pointer)

        whole = builder.icmp_signed(">=", width_, INT(transform.lanes))
        with builder.if_else(whole, likely=True) as (then, otherwise):
            with then:
                each_cell(lambda cell, pointer: builder.store(cell, pointer, align=4))
            with otherwise:  # a masked store is several times as slow
                mask = llvm.lanes_below(builder, width_, transform.vector, 0)
                each_cell(lambda cell, pointer: llvm.store_below(builder, cell, pointer, mask))
        return context.get_dummy_value()

    integers = [types.intp] * 6
    return types.none(transform, cells, y, *integers), generate


def _apply(builder, steps, vectors):
    """Return the product of the steps, from the first to the last, and a column of vectors."""
    for matrix in steps:
        vectors = [_combine(builder, row, vectors) for row in matrix]
    return vectors


def _combine(builder, numbers, vectors):
    """Return the sum of numbers[i] * vectors[i], with as few instructions as these numbers allow."""
    terms = [(number, vector) for number, vector in zip(numbers, vectors, strict=True) if number]
    terms.sort(key=lambda term: term[0] != 1)  # a sum that begins with a plain vector saves a product
    total = None
    for number, vector in terms:
        factor = ir.Constant(vector.type, [float(number)] * vector.type.count)
        if total is None:
            total = vector if number == 1 else builder.fmul(vector, factor)
        elif abs(number) == 1:
            total = (builder.fadd if number == 1 else builder.fsub)(total, vector)
        else:
            total = llvm.multiply_add(builder, vector, factor, total)
    return total


def _between(builder, i, first, end):
    after = builder.icmp_signed("<=", first, INT(i))
    return builder.and_(after, builder.icmp_signed("<", INT(i), end))
