"""Instructions that Numba does not offer: numbers loaded or stored several at once.

    a, b, c, d = load4(array, i)         # array[i], array[i + 1], ...; i a multiple of four
    store4(array, i, a, b, c, d)
    store2(array, i, a, b)               # i a multiple of two

One 128-bit instruction instead of four: a quarter of the requests. No index is taken from the end, as Python
does for negative ones, so none is looked at.
"""

from __future__ import annotations

from functools import cached_property

from llvmlite import ir


class Instruction:
    """An operation for kernels: Numba compiles `generate`, the lane simulator has a stand-in of that name.

    Parameters
    ----------
    typed : callable
        ``typed(typing, *types)`` returns the signature and the generator, as for Numba's `intrinsic`.
    """

    def __init__(self, typed):
        self.name, self._typed, self.__doc__ = typed.__name__, typed, typed.__doc__

    @cached_property
    def _numba_type_(self):
        # Numba asks any foreign object for this; the CUDA target is imported no earlier.
        from numba.cuda.descriptor import cuda_target
        from numba.cuda.extending import intrinsic

        compiled = intrinsic(self._typed)
        cuda_target.typing_context.refresh()
        return cuda_target.typing_context.resolve_value_type(compiled)

    def __call__(self, *arguments):
        raise TypeError(f"{self.name} is an operation for kernels")


@Instruction
def load4(typing, array, index):
    """Return the four numbers array[index : index + 4]."""
    from numba import types

    def generate(context, builder, signature, args):
        pointer = address(context, builder, *signature.args, *args)
        loaded = builder.load(_as_vector(builder, pointer), align=16)
        lanes = [builder.extract_element(loaded, ir.IntType(32)(lane)) for lane in range(4)]
        return context.make_tuple(builder, signature.return_type, lanes)

    return types.UniTuple(array.dtype, 4)(array, index), generate


@Instruction
def store4(typing, array, index, a, b, c, d):
    """Write four numbers to array[index : index + 4]."""
    from numba import types

    return types.void(array, index, *[array.dtype] * 4), _store


@Instruction
def store2(typing, array, index, a, b):
    """Write two numbers to array[index : index + 2]."""
    from numba import types

    return types.void(array, index, *[array.dtype] * 2), _store


def _store(context, builder, signature, args):
    place, numbers = address(context, builder, *signature.args[:2], *args[:2]), args[2:]
    pointer = _as_vector(builder, place, len(numbers))
    vector = ir.Constant(pointer.type.pointee, ir.Undefined)
    for lane, value in enumerate(numbers):
        vector = builder.insert_element(vector, value, ir.IntType(32)(lane))
    size = context.get_abi_sizeof(numbers[0].type)
    builder.store(vector, pointer, align=min(16, len(numbers) * size))
    return context.get_dummy_value()


def address(context, builder, array_type, index_type, array, index):
    """Return the address of array[index], an index or a tuple of them."""
    from numba import types
    from numba.cuda import cgutils

    several = isinstance(index_type, types.BaseTuple)
    indices = cgutils.unpack_tuple(builder, index) if several else [index]
    kinds = list(index_type) if several else [index_type]
    indices = [
        context.cast(builder, i, kind, types.intp if kind.signed else types.uintp)
        for i, kind in zip(indices, kinds, strict=True)
    ]
    array = context.make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, array_type, array, indices, wraparound=False)


def _as_vector(builder, pointer, many=4):
    vector = ir.VectorType(pointer.type.pointee, many)
    return builder.bitcast(pointer, vector.as_pointer(pointer.type.addrspace))
