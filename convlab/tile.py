"""The register tile: a block of the output that lives in vector registers while it is summed.

A processor multiplies and adds whole vectors (16 float32 on AVX-512), two of them a cycle, but it can only
do so if the running sums stay in registers. Compilers do not keep an array there; so here is a Numba *type*
that is made of registers, and three operations on it::

    acc = zeros(tile)                              # rows x cols zeros
    acc = accumulate(tile, acc, a, p, step, w, q)  # acc[i, :] += a[p + i*step] * w[q : q + cols]
    store(tile, acc, y, p, step, cols_left)        # y[p + i*step : ...] = acc[i, :], at most cols_left wide

A tile's size travels as a type, so one kernel written with these serves every size, and Numba's disk cache
finds the compiled kernel again in the next process.

The idea is the micro-kernel of Goto & van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
(ACM TOMS 34(3), 2008, section 4), in its register-broadcast form.
"""

from __future__ import annotations

import platform
from functools import lru_cache

import numba
import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import (
    NativeValue,
    intrinsic,
    models,
    overload_attribute,
    register_model,
    typeof_impl,
    unbox,
)

_INT = ir.IntType(64)
_SCALARS = {"float32": (types.float32, ir.FloatType()), "float64": (types.float64, ir.DoubleType())}


class Tile:
    """A block of `rows` x (`vectors` * `lanes`) sums; for compiled code only its type matters.

    Parameters
    ----------
    rows : int
        Rows, one output pixel each.
    vectors, lanes : int
        Vector registers in a row, and numbers in a register.
    dtype : str
        "float32" or "float64".
    """

    def __init__(self, rows: int, vectors: int, lanes: int, dtype: str = "float32"):
        self.rows, self.vectors, self.lanes, self.dtype = rows, vectors, lanes, dtype

    @property
    def cols(self) -> int:
        """Columns, one filter each."""
        return self.vectors * self.lanes

    def __repr__(self) -> str:
        return f"Tile({self.rows}x{self.cols} {self.dtype})"


@lru_cache
def vector_bytes() -> int:
    """Return the bytes of one vector register of this processor: 64 (AVX-512), 32 (AVX2) or 16."""
    if numba.config.CPU_NAME and binding.get_host_cpu_name() != numba.config.CPU_NAME:
        return 32  # a processor was asked for by name (NUMBA_CPU_NAME): 32 runs on any, if not at its best
    features = binding.get_host_cpu_features()
    if features.get("avx512f"):
        return 64
    return 32 if features.get("avx2") and features.get("fma") else 16


@lru_cache
def tile_for(M: int, dtype: str = "float32") -> Tile:
    """Return the tile for a product with `M` rows on this processor.

    Two vectors wide, and as tall as the registers allow: 7 rows (14 of 32 registers) on AVX-512 and ARM,
    where 7 divides the 7, 14, 28 and 56 rows of real networks; 6 rows (12 of 16) on other x86 processors.
    Fewer rows only if M itself is smaller.
    """
    has_32_registers = vector_bytes() == 64 or platform.machine().lower() in ("arm64", "aarch64")
    tallest = 7 if has_32_registers else 6
    rows = tallest if tallest <= M else 4 if M >= 4 else 2 if M >= 2 else 1
    return Tile(rows, 2, vector_bytes() // np.dtype(dtype).itemsize, dtype)


# -- the types ---------------------------------------------------------------------------------------------


class _TileType(types.Type):
    def __init__(self, tile):
        self.rows, self.vectors, self.lanes = tile.rows, tile.vectors, tile.lanes
        self.scalar, self.llvm_scalar = _SCALARS[tile.dtype]
        super().__init__(f"Tile({tile.rows},{tile.vectors},{tile.lanes},{tile.dtype})")


class _SumsType(types.Type):
    """rows * vectors vector registers."""

    def __init__(self, tile_type):
        self.vector = ir.VectorType(tile_type.llvm_scalar, tile_type.lanes)
        self.llvm = ir.ArrayType(self.vector, tile_type.rows * tile_type.vectors)
        super().__init__(f"Sums({tile_type.name})")


@typeof_impl.register(Tile)
def _type_of_tile(tile, context):
    return _TileType(tile)


register_model(_TileType)(models.OpaqueModel)


@register_model(_SumsType)
class _SumsModel(models.PrimitiveModel):
    def __init__(self, manager, sums):
        super().__init__(manager, sums, sums.llvm)


@unbox(_TileType)
def _unbox_tile(tile, obj, context):
    return NativeValue(context.context.get_dummy_value())


@overload_attribute(_TileType, "rows")
def _rows(tile):
    rows = tile.rows
    return lambda tile: rows


@overload_attribute(_TileType, "cols")
def _cols(tile):
    cols = tile.vectors * tile.lanes
    return lambda tile: cols


# -- the three operations ----------------------------------------------------------------------------------


@intrinsic
def zeros(typing, tile):
    """Return a tile of zeros."""
    sums = _SumsType(tile)
    return sums(tile), lambda context, builder, signature, args: ir.Constant(sums.llvm, None)


@intrinsic
def accumulate(typing, tile, sums, a, p, step, w, q):
    """Return sums with ``sums[i, :] += a[p + i*step] * w[q : q + cols]`` for every row i."""

    def generate(context, builder, signature, args):
        _, sums_, a_, p_, step_, w_, q_ = args
        vector = ir.VectorType(tile.llvm_scalar, tile.lanes)
        fma = _function(builder, "fmuladd", vector, vector, vector, vector)
        weights = [
            builder.load(_address(context, builder, w, w_, q_, _INT(j * tile.lanes), as_type=vector), align=4)
            for j in range(tile.vectors)
        ]
        for i in range(tile.rows):
            # One number of a, copied into every lane of a register.
            one = builder.load(_address(context, builder, a, a_, p_, builder.mul(step_, _INT(i))))
            lanes = builder.insert_element(ir.Constant(vector, ir.Undefined), one, ir.IntType(32)(0))
            every = ir.Constant(ir.VectorType(ir.IntType(32), tile.lanes), None)
            lanes = builder.shuffle_vector(lanes, lanes, every)
            for j in range(tile.vectors):
                k = i * tile.vectors + j
                total = builder.call(fma, [lanes, weights[j], builder.extract_value(sums_, k)])
                sums_ = builder.insert_value(sums_, total, k)
        return sums_

    return sums(tile, sums, a, types.intp, types.intp, w, types.intp), generate


@intrinsic
def store(typing, tile, sums, y, p, step, cols_left):
    """Write ``y[p + i*step + j] = sums[i, j]`` for every row i and every column j < cols_left."""

    def generate(context, builder, signature, args):
        _, sums_, y_, p_, step_, left_ = args
        vector = ir.VectorType(tile.llvm_scalar, tile.lanes)
        counts, mask = ir.VectorType(_INT, tile.lanes), ir.VectorType(ir.IntType(1), tile.lanes)
        to = vector.as_pointer()
        write = _function(
            builder, "masked.store", ir.VoidType(), vector, to, ir.IntType(32), mask, suffix=(vector, to)
        )
        left = builder.insert_element(ir.Constant(counts, ir.Undefined), left_, ir.IntType(32)(0))
        left = builder.shuffle_vector(
            left, left, ir.Constant(ir.VectorType(ir.IntType(32), tile.lanes), None)
        )
        for j in range(tile.vectors):
            column = ir.Constant(counts, [j * tile.lanes + lane for lane in range(tile.lanes)])
            inside = builder.icmp_signed("<", column, left)  # lanes past the last column stay unwritten
            for i in range(tile.rows):
                row = builder.mul(step_, _INT(i))
                address = _address(context, builder, y, y_, p_, row, _INT(j * tile.lanes), as_type=vector)
                value = builder.extract_value(sums_, i * tile.vectors + j)
                builder.call(write, [value, address, ir.IntType(32)(4), inside])
        return context.get_dummy_value()

    return types.none(tile, sums, y, types.intp, types.intp, types.intp), generate


def _address(context, builder, array_type, array, *offsets, as_type=None):
    """Return the address of array[sum of offsets], an array of one axis."""
    pointer = context.make_array(array_type)(context, builder, array).data
    for offset in offsets:
        pointer = builder.gep(pointer, [offset])
    return pointer if as_type is None else builder.bitcast(pointer, as_type.as_pointer())


def _function(builder, name, returns, *takes, suffix=None):
    """Declare LLVM's intrinsic `name` for these types, e.g. llvm.fmuladd.v16f32."""

    def short(kind):
        if isinstance(kind, ir.PointerType):
            return "p0"
        return f"v{kind.count}f{64 if isinstance(kind.element, ir.DoubleType) else 32}"

    kinds = ".".join(short(kind) for kind in (suffix or (returns,)))
    return cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(returns, list(takes)), f"llvm.{name}.{kinds}"
    )
