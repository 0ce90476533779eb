"""The register tile: a block of the output that lives in vector registers while it is summed.

A processor multiplies and adds whole vectors (16 float32 on AVX-512), up to four of them a cycle, but it can
only do so if the running sums stay in registers. Compilers do not keep an array there; so here is a Numba
*type* that is made of registers, and a few operations on it::

    sums = zeros(tile)                           # rows x cols zeros
    rows = spaced(tile, a, p, step, count)       # row i of the other factor begins at a[p + i*step]
    sums = accumulate(tile, sums, rows, c, w, q) # sums[i, :] += rows[i][c] * w[q : q + cols]
    store(tile, sums, y, p, step, count, width)  # y[p + i*step : ...] = sums[i, :]

`accumulate` is called once for each k of a matrix product: one number of every row meets a vector of weights.
The rows may begin anywhere; `tile_rows.py` has other ways to say where. A sum that is done in pieces begins
with `load` instead of `zeros`: it takes up the sums that `store` left. Both have a form for rows that lie
anywhere in y: `load_listed`, `store_listed`. A depthwise convolution, where every
column has numbers of its own, has `slide` instead of `accumulate` (`sliding_window.py`). Weights that come
from far away can be asked for before they are wanted, with `prefetch`.

There is no second kernel for what is left over at the edges. Rows past the last one (`count` are left) repeat
it: the same sums are computed, and stored, twice. Columns past the last one (`width` are left) are computed
and not stored. The tile's size (`tile_size.py`) is a type, all that compiled code needs of it. So a kernel is
written once for all sizes, is compiled for each, and is found again on disk by the next process.

The idea is the micro-kernel of Goto & van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (ACM
TOMS 34(3), 2008), in its register-broadcast form.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload_attribute

from convlab.cpu import llvm
from convlab.cpu.llvm import INT, SCALARS, Registers, travels_as_type
from convlab.cpu.tile_rows import at_most, distances, listed, masked, spaced, within
from convlab.cpu.tile_size import VectorTile, tile_for

__all__ = [
    "TileType",
    "VectorTile",
    "accumulate",
    "listed",
    "load",
    "load_listed",
    "masked",
    "prefetch",
    "spaced",
    "store",
    "store_listed",
    "tile_for",
    "within",
    "zeros",
]


class TileType(types.Type):
    def __init__(self, tile: VectorTile):
        self.rows, self.vectors, self.lanes, self.cols = tile.rows, tile.vectors, tile.lanes, tile.cols
        _, scalar = SCALARS[tile.dtype]
        self.vector = ir.VectorType(scalar, tile.lanes)
        self.sums = Registers("sums", self.vector, tile.rows * tile.vectors)
        self.starts = Registers("starts", scalar.as_pointer(), tile.rows)
        self.tile = tile
        super().__init__(f"Tile({tile.rows},{tile.vectors},{tile.lanes},{tile.dtype})")


travels_as_type(VectorTile, TileType, "rows", "cols")


@intrinsic
def _narrow_tile(typing, tile):
    narrow = TileType(tile.tile.narrow)
    return narrow(tile), lambda context, builder, signature, args: context.get_dummy_value()


@overload_attribute(TileType, "narrow")
def _narrow(tile):
    return lambda tile: _narrow_tile(tile)


# -- the operations ----------------------------------------------------------------------------------------

# Each operation is a pair: the type of what it returns, and the instructions that LLVM is to make of it.


@intrinsic
def zeros(typing, tile):
    """Return a tile of zeros."""
    return tile.sums(tile), lambda context, builder, signature, args: llvm.zero(tile.sums)


@intrinsic
def accumulate(typing, tile, sums, rows, c, w, q):
    """Return sums with ``sums[i, :] += rows[i][c] * w[q : q + cols]`` for every row i."""

    def generate(context, builder, signature, args):
        _, sums_, rows_, c_, w_, q_ = args
        weights = []
        for j in range(tile.vectors):
            pointer = llvm.address(context, builder, w, w_, q_, INT(j * tile.lanes), vector=tile.vector)
            weights.append(builder.load(pointer, align=4))
        for i in range(tile.rows):
            start = builder.extract_value(rows_, i)
            number = builder.load(builder.gep(start, [c_]))  # one number of the row, in every lane
            number = llvm.in_every_lane(builder, number, tile.vector)
            for j, weight in enumerate(weights):
                k = i * tile.vectors + j
                total = llvm.multiply_add(builder, number, weight, builder.extract_value(sums_, k))
                sums_ = builder.insert_value(sums_, total, k)
        return sums_

    return sums(tile, sums, rows, types.intp, w, types.intp), generate


@intrinsic
def prefetch(typing, w, q):
    """Ask for the cache line of w[q] to be brought from far memory into the second cache, and do not wait.

    A guess costs no more than its place in the queue: there need be no such weights.
    """

    def generate(context, builder, signature, args):
        llvm.prefetch(builder, llvm.address(context, builder, w, *args))
        return context.get_dummy_value()

    return types.none(w, types.intp), generate


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
