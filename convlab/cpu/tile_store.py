"""A tile of sums on its way to y and back: whole, or as much of it as lies in y.

    store(tile, sums, y, p, step, count, width)                # y[p + i*step + j] = sums[i, j]
    store_listed(tile, sums, y, p, places, at, count, width)   # rows that lie anywhere in y
    sums = load(tile, y, p, step, count, width)                # what `store` left, to be added to
    sums = load_listed(tile, y, p, places, at, count, width)

Rows past the last one (`count` are left) repeat it: the same sums are stored twice. Columns past the last one
(`width` are left) are not stored. The tile, and what is computed with it, is in `register_tile.py`.
"""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic

from convlab.cpu import llvm
from convlab.cpu.llvm import INT
from convlab.cpu.tile_rows import at_most, distances


@intrinsic
def load(typing, tile, y, p, step, count, width):
    """Return the sums that `store` left: ``sums[i, j] = y[p + i*step + j]``, 0 in columns from `width` on."""

    def generate(context, builder, signature, args):
        _, y_, p_, step_, count_, width_ = args
        rows = distances(builder, tile.rows, step_, count_)
        return _read(context, builder, tile, y, y_, p_, rows, width_)

    return tile.sums(tile, y, types.intp, types.intp, types.intp, types.intp), generate


@intrinsic
def load_listed(typing, tile, y, p, places, at, count, width):
    """Return the sums that `store_listed` left: ``sums[i, j] = y[p + places[at + i] + j]``."""

    def generate(context, builder, signature, args):
        _, y_, p_, places_, at_, count_, width_ = args
        rows = _listed_rows(context, builder, tile, places, places_, at_, count_)
        return _read(context, builder, tile, y, y_, p_, rows, width_)

    return tile.sums(tile, y, types.intp, places, types.intp, types.intp, types.intp), generate


@intrinsic
def store(typing, tile, sums, y, p, step, count, width):
    """Write ``y[p + i*step + j] = sums[i, j]`` for every row i and every column j < width.

    Rows from `count` on go where the last one goes, and before it: the last one stays.
    """

    def generate(context, builder, signature, args):
        _, sums_, y_, p_, step_, count_, width_ = args
        rows = distances(builder, tile.rows, step_, count_)
        return _write(context, builder, tile, sums_, y, y_, p_, rows, width_)

    return types.none(tile, sums, y, types.intp, types.intp, types.intp, types.intp), generate


@intrinsic
def store_listed(typing, tile, sums, y, p, places, at, count, width):
    """Write ``y[p + places[at + i] + j] = sums[i, j]``, as `store` does: rows may lie anywhere in y."""

    def generate(context, builder, signature, args):
        _, sums_, y_, p_, places_, at_, count_, width_ = args
        rows = _listed_rows(context, builder, tile, places, places_, at_, count_)
        return _write(context, builder, tile, sums_, y, y_, p_, rows, width_)

    return types.none(tile, sums, y, types.intp, places, types.intp, types.intp, types.intp), generate


def _listed_rows(context, builder, tile, places, places_, at_, count_) -> list:
    """Return where in y the rows begin, as the list says."""
    rows = []
    for i in range(tile.rows):
        here = llvm.address(context, builder, places, places_, at_, at_most(builder, i, count_))
        rows.append(context.cast(builder, builder.load(here), places.dtype, types.intp))
    return rows


def _read(context, builder, tile, y, y_, p_, rows, width_):
    """Return the instructions that read a tile of sums from y."""

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


def _write(context, builder, tile, sums_, y, y_, p_, rows, width_):
    """Return the instructions that write a tile of sums to y, the last row last."""

    def write(masks):
        for j, mask in enumerate(masks):
            for i, row in reversed([*enumerate(rows)]):
                here = row, INT(j * tile.lanes)
                pointer = llvm.address(context, builder, y, y_, p_, *here, vector=tile.vector)
                value = builder.extract_value(sums_, i * tile.vectors + j)
                llvm.store_below(builder, value, pointer, mask)
        return context.get_dummy_value()

    return llvm.whole_or_part(builder, width_, tile.vector, tile.vectors, write)
