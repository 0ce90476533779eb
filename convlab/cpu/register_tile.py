"""The register tile: a block of the output that lives in vector registers while it is summed.

A processor multiplies and adds whole vectors (16 float32 on AVX-512), up to four of them a cycle, but it can
only do so if the running sums stay in registers. Compilers do not keep an array there; so here is a Numba
*type* that is made of registers, and a few operations on it::

    sums = zeros(tile)                           # rows x cols zeros
    rows = spaced(tile, a, p, step, count)       # row i of the other factor begins at a[p + i*step]
    sums = accumulate(tile, sums, rows, c, w, q) # sums[i, :] += rows[i][c] * w[q : q + cols]
    store(tile, sums, y, p, step, count, width)  # y[p + i*step : ...] = sums[i, :]

`accumulate` is called once for each k of a matrix product: one number of every row meets a vector of weights.
The rows may begin anywhere; `tile_rows.py` has other ways to say where. How sums are stored, and taken up
again, is in `tile_store.py`. A depthwise convolution, where every column has numbers of its own, has `slide`
instead of `accumulate` (`sliding_window.py`). Weights that come from far away can be asked for before they
are wanted, with `prefetch`.

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
from convlab.cpu.tile_rows import listed, masked, spaced, within
from convlab.cpu.tile_size import VectorTile, tile_for
from convlab.cpu.tile_store import load, load_listed, store, store_listed

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
        self.tile, self.group = tile, tile.group
        super().__init__(f"Tile({tile.rows},{tile.vectors},{tile.lanes},{tile.dtype},{tile.group})")


travels_as_type(VectorTile, TileType, "rows", "cols", "group")


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
        llvm.prefetch(builder, llvm.address(context, builder, w, *args), level=2)
        return context.get_dummy_value()

    return types.none(w, types.intp), generate
