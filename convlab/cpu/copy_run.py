"""`copy_run`: C's memcpy, for kernels that copy runs of neighbouring numbers."""

from __future__ import annotations

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def copy_run(typing, target, at, source, start, count):
    """Copy `count` neighbouring numbers, ``target[at : at + count] = source[start : start + count]``.

    Both arrays have one axis. This is several times as fast as a slice assignment, which must first make
    sure that the two do not overlap.
    """

    def generate(context, builder, signature, args):
        to_type, from_type = signature.args[0], signature.args[2]
        to = builder.gep(context.make_array(to_type)(context, builder, args[0]).data, [args[1]])
        source_ = builder.gep(context.make_array(from_type)(context, builder, args[2]).data, [args[3]])
        cgutils.raw_memcpy(builder, to, source_, args[4], to_type.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.none(target, types.intp, source, types.intp, types.intp), generate
