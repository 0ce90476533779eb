"""The register tile: a block of the output that lives in vector registers while it is summed.

A processor multiplies and adds whole vectors (16 float32 on AVX-512), one or two of them a cycle, but it can
only do so if the running sums stay in registers. Compilers do not keep an array there; so here is a Numba
*type* that is made of registers, and a few operations on it. First the sums, and where the rows of the other
factor begin::

    sums = zeros(tile)                                 # rows x cols zeros
    rows = spaced(tile, a, p, step, count)             # row i begins at a[p + i*step]
    rows = within(tile, x, p, q, step, count, width, outside)  # at x[p + q + i*step], if on the line
    rows = listed(tile, x, base, offsets, p, outside)  # row i begins at x[base + offsets[p + i]]

then the sum itself, once for each k of a product, and at the end the way to memory::

    sums = accumulate(tile, sums, rows, c, w, q)       # sums[i, :] += rows[i][c] * w[q : q + cols]
    store(tile, sums, y, p, step, count, width)        # y[p + i*step : ...] = sums[i, :]

A sum over a long k may be done in pieces: `load` takes up the sums that `store` left. And where rows come
and go with the tap, `masked` asks for a bit of each::

    sums = load(tile, y, p, step, count, width)             # sums[i, :] = y[p + i*step : ...]
    rows = masked(tile, x, base, starts, p, bits, outside)  # row i at x[base + starts[p + i]] if bit i is set

`accumulate` is a matrix product: one number of a row meets a vector of weights. Its depthwise sister gives
every column a number of its own::

    sums = accumulate_each(tile, sums, rows, c, w, q, width)  # sums[i, j] += rows[i][c + j] * w[q + j]

There is no second kernel for what is left over at the edges. Rows past the last one (`count` are left) repeat
it: the same sums are computed, and stored, twice. Columns past the last one (`width` are left) are computed
and not stored. The tile's size is a type (`tile_types.py`), so a kernel is written once for all sizes.

The idea is the micro-kernel of Goto & van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (ACM
TOMS 34(3), 2008, section 4), in its register-broadcast form.
"""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic

from convlab import llvm
from convlab.llvm import INT
from convlab.tile_types import Tile, tile_for, vector_bytes

__all__ = [
    "Tile",
    "accumulate",
    "accumulate_each",
    "listed",
    "load",
    "masked",
    "spaced",
    "store",
    "tile_for",
    "vector_bytes",
    "within",
    "zeros",
]

# Each operation is a pair: the type of what it returns, and the instructions that LLVM is to make of it.


@intrinsic
def zeros(typing, tile):
    """Return a tile of zeros."""
    return tile.sums(tile), lambda context, builder, signature, args: llvm.zero(tile.sums)


@intrinsic
def spaced(typing, tile, a, p, step, count):
    """Return where a tile's rows begin: row i at ``a[p + i*step]``; rows from `count` on repeat the last."""

    def generate(context, builder, signature, args):
        _, a_, p_, step_, count_ = args
        rows = llvm.empty(tile.starts)
        for i in range(tile.rows):
            row = builder.mul(step_, _at_most(builder, i, count_))
            start = llvm.opaque(builder, llvm.address(context, builder, a, a_, p_, row))
            rows = builder.insert_value(rows, start, i)
        return rows

    return tile.starts(tile, a, types.intp, types.intp, types.intp), generate


@intrinsic
def within(typing, tile, x, p, q, step, count, width, outside):
    """Return where a tile's rows begin in a line of x: row i at ``x[p + q + i*step]``; rows from `count` on
    repeat the last. Where ``q + i*step`` is not on the line, 0 to `width`, the row is `outside`.
    """

    def generate(context, builder, signature, args):
        _, x_, p_, q_, step_, count_, width_, outside_ = args
        rows = llvm.empty(tile.starts)
        nowhere = llvm.address(context, builder, outside, outside_)
        for i in range(tile.rows):
            offset = builder.add(q_, builder.mul(step_, _at_most(builder, i, count_)))
            inside = llvm.address(context, builder, x, x_, p_, offset)
            start = builder.select(builder.icmp_unsigned("<", offset, width_), inside, nowhere)
            rows = builder.insert_value(rows, llvm.opaque(builder, start), i)
        return rows

    return tile.starts(tile, x, *[types.intp] * 5, outside), generate


@intrinsic
def listed(typing, tile, x, base, offsets, p, outside):
    """Return where a tile's rows begin: row i at ``x[base + offsets[p + i]]``, or `outside` if that is -1.

    The sign is looked at before `base` is added: padding must read zeros whatever the base.
    """

    def generate(context, builder, signature, args):
        _, x_, base_, offsets_, p_, outside_ = args
        rows = llvm.empty(tile.starts)
        nowhere = llvm.address(context, builder, outside, outside_)
        for i in range(tile.rows):
            offset = builder.load(llvm.address(context, builder, offsets, offsets_, p_, INT(i)))
            offset = context.cast(builder, offset, offsets.dtype, types.intp)
            inside = llvm.address(context, builder, x, x_, base_, offset)
            start = builder.select(builder.icmp_signed("<", offset, INT(0)), nowhere, inside)
            rows = builder.insert_value(rows, start, i)
        return rows

    return tile.starts(tile, x, types.intp, offsets, types.intp, outside), generate


@intrinsic
def masked(typing, tile, x, base, starts, p, bits, outside):
    """Return where a tile's rows begin: row i at ``x[base + starts[p + i]]``, or `outside` if bit i is 0."""

    def generate(context, builder, signature, args):
        _, x_, base_, starts_, p_, bits_, outside_ = args
        bits_ = context.cast(builder, bits_, bits, types.intp)
        rows = llvm.empty(tile.starts)
        nowhere = llvm.address(context, builder, outside, outside_)
        for i in range(tile.rows):
            start = builder.load(llvm.address(context, builder, starts, starts_, p_, INT(i)))
            inside = llvm.address(context, builder, x, x_, base_, start)
            hit = builder.icmp_signed("!=", builder.and_(bits_, INT(1 << i)), INT(0))
            rows = builder.insert_value(rows, builder.select(hit, inside, nowhere), i)
        return rows

    return tile.starts(tile, x, types.intp, starts, types.intp, bits, outside), generate


@intrinsic
def accumulate(typing, tile, sums, rows, c, w, q):
    """Return sums with ``sums[i, :] += rows[i][c] * w[q : q + cols]`` for every row i."""

    def generate(context, builder, signature, args):
        _, sums_, rows_, c_, w_, q_ = args

        def number(i, j):  # one number of the row, in every lane of a register
            start = builder.extract_value(rows_, i)
            return llvm.in_every_lane(builder, builder.load(builder.gep(start, [c_])), tile.vector)

        return _multiply_add(context, builder, tile, sums_, number, (w, w_, q_))

    return sums(tile, sums, rows, types.intp, w, types.intp), generate


@intrinsic
def accumulate_each(typing, tile, sums, rows, c, w, q, width):
    """Return sums with ``sums[i, j] += rows[i][c + j] * w[q + j]`` for every row i and column j < width."""

    def generate(context, builder, signature, args):
        _, sums_, rows_, c_, w_, q_, width_ = args

        def totals(masks):
            def numbers(i, j):  # a vector of the row, without reading past its end
                start = builder.gep(builder.extract_value(rows_, i), [builder.add(c_, INT(j * tile.lanes))])
                pointer = builder.bitcast(start, tile.vector.as_pointer())
                return llvm.load_below(builder, pointer, masks[j], tile.vector)

            return _multiply_add(context, builder, tile, sums_, numbers, (w, w_, q_))

        return llvm.whole_or_part(builder, width_, tile.vector, tile.vectors, totals)

    return sums(tile, sums, rows, types.intp, w, types.intp, types.intp), generate


@intrinsic
def load(typing, tile, y, p, step, count, width):
    """Return the sums that `store` left: ``sums[i, j] = y[p + i*step + j]``, 0 in columns from `width` on."""

    def generate(context, builder, signature, args):
        _, y_, p_, step_, count_, width_ = args
        rows = [builder.mul(step_, _at_most(builder, i, count_)) for i in range(tile.rows)]

        def read(masks):
            sums = llvm.empty(tile.sums)
            for j, mask in enumerate(masks):
                for i, row in enumerate(rows):
                    here = row, INT(j * tile.lanes)
                    pointer = llvm.address(context, builder, y, y_, p_, *here, vector=tile.vector)
                    value = llvm.load_below(builder, pointer, mask, tile.vector)
                    sums = builder.insert_value(sums, value, i * tile.vectors + j)
            return sums

        return llvm.whole_or_part(builder, width_, tile.vector, tile.vectors, read)

    return tile.sums(tile, y, types.intp, types.intp, types.intp, types.intp), generate


@intrinsic
def store(typing, tile, sums, y, p, step, count, width):
    """Write ``y[p + i*step + j] = sums[i, j]`` for every row i and every column j < width.

    Rows from `count` on go where the last one goes: they repeat it.
    """

    def generate(context, builder, signature, args):
        _, sums_, y_, p_, step_, count_, width_ = args
        rows = [builder.mul(step_, _at_most(builder, i, count_)) for i in range(tile.rows)]

        def write(masks):
            for j, mask in enumerate(masks):
                for i, row in enumerate(rows):
                    here = row, INT(j * tile.lanes)
                    pointer = llvm.address(context, builder, y, y_, p_, *here, vector=tile.vector)
                    value = builder.extract_value(sums_, i * tile.vectors + j)
                    llvm.store_below(builder, value, pointer, mask)
            return context.get_dummy_value()

        return llvm.whole_or_part(builder, width_, tile.vector, tile.vectors, write)

    return types.none(tile, sums, y, types.intp, types.intp, types.intp, types.intp), generate


def _multiply_add(context, builder, tile, sums, numbers, weights):
    """Return sums with numbers(i, j) * weights[j] added to every vector (i, j)."""
    w, w_, q_ = weights
    at = [
        llvm.address(context, builder, w, w_, q_, INT(j * tile.lanes), vector=tile.vector)
        for j in range(tile.vectors)
    ]
    loaded = [builder.load(pointer, align=4) for pointer in at]
    for i in range(tile.rows):
        for j in range(tile.vectors):
            k = i * tile.vectors + j
            total = llvm.multiply_add(builder, numbers(i, j), loaded[j], builder.extract_value(sums, k))
            sums = builder.insert_value(sums, total, k)
    return sums


def _at_most(builder, i, count):
    """Return min(i, count - 1)."""
    return builder.select(builder.icmp_signed("<", INT(i), count), INT(i), builder.sub(count, INT(1)))
