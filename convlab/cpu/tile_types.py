"""The register tile as a type that Numba knows: its size is all that compiled code needs of it.

So one kernel serves every size, is compiled for each, and is found again on disk by the next process.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload_attribute

from convlab.cpu.llvm import SCALARS, Registers, travels_as_type
from convlab.cpu.tile_size import VectorTile


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
