"""The instructions of tensor cores: a whole warp multiplies two small matrices at once.

    d = mma_m16n8k16_f16(a0, a1, a2, a3, b0, b1, c0, c1, c2, c3)       D = A @ B + C, 16 x 8 numbers

A, B, C and D are spread over the 32 lanes of a warp; `fragments` says which lane holds what, in this order.

A word has 32 bits: two float16 that lie side by side along the sum, or one number of tf32, which is a float32
whose last 13 bits are not looked at. So one loop serves both types: it moves words.

`ldmatrix_x4` fetches A (or two of B) from shared memory, each lane one row of four words, and hands the words
out as above. `cp_async16_zfill` copies 16 bytes from global to shared memory while the thread goes on: past
the first cache, and `cp_async16_zfill_cached` by way of it.

PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions" and "Asynchronous copy".
"""

from __future__ import annotations

from llvmlite import ir

from convlab.gpu.ptx import Instruction, address

_WORD, _LONG, _SINGLE = ir.IntType(32), ir.IntType(64), ir.FloatType()
_SHARED = 3  # LLVM's number of the address space


def _product(name: str, shape: str, inputs: str) -> Instruction:
    """Return the instruction that multiplies matrices of that shape."""
    text = f"mma.sync.aligned.{shape}.row.col.f32.{inputs}.{inputs}.f32"
    text += " {$0,$1,$2,$3}, {$4,$5,$6,$7}, {$8,$9}, {$10,$11,$12,$13};"

    def typed(typing, a0, a1, a2, a3, b0, b1, c0, c1, c2, c3):
        from numba import types

        def generate(context, builder, signature, args):
            result = ir.LiteralStructType([_SINGLE] * 4)
            places = ",".join(["=f"] * 4 + ["r"] * 6 + ["f"] * 4)
            four = _assembly(builder, result, text, places, args)
            return _four(context, builder, signature, four)

        return types.UniTuple(types.float32, 4)(*[types.uint32] * 6, *[types.float32] * 4), generate

    typed.__name__ = name
    typed.__doc__ = f"Return this lane's four numbers of A @ B + C, by mma.sync {shape}."
    return Instruction(typed)


mma_m16n8k16_f16 = _product("mma_m16n8k16_f16", "m16n8k16", "f16")
mma_m16n8k8_tf32 = _product("mma_m16n8k8_tf32", "m16n8k8", "tf32")


@Instruction
def ldmatrix_x4(typing, shared, index):
    """Return this lane's word of four matrices of 8 x 4 words; lane 8*i + j points at row j of matrix i."""
    from numba import types

    def generate(context, builder, signature, args):
        text = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0,$1,$2,$3}, [$4];"
        place = _in_shared(builder, address(context, builder, *signature.args, *args))
        result = ir.LiteralStructType([_WORD] * 4)
        four = _assembly(builder, result, text, "=r,=r,=r,=r,r,~{memory}", [place])
        return _four(context, builder, signature, four)

    return types.UniTuple(types.uint32, 4)(shared, index), generate


def _copy(name: str, cache: str, way: str) -> Instruction:
    """Return the instruction that begins a copy of 16 bytes; PTX's word for `cache` says by which way."""

    def typed(typing, shared, to, array, index, wanted):
        from numba import types

        def generate(context, builder, signature, args):
            shared_type, to_type, array_type, index_type, _ = signature.args
            target = _in_shared(builder, address(context, builder, shared_type, to_type, *args[:2]))
            source = address(context, builder, array_type, index_type, *args[2:4])
            count = builder.select(args[4], _WORD(16), _WORD(0))
            text = f"cp.async.{cache}.shared.global [$0], [$1], 16, $2;"
            args = [target, builder.ptrtoint(source, _LONG), count]
            _assembly(builder, ir.VoidType(), text, "r,l,r,~{memory}", args)
            return context.get_dummy_value()

        return types.void(shared, to, array, index, types.boolean), generate

    typed.__name__ = name
    typed.__doc__ = f"""Begin to copy 16 bytes, array[index] and following, to shared[to], {way}.

    Zeros instead if not `wanted`; then nothing is read, whatever the index.
    """
    return Instruction(typed)


cp_async16_zfill = _copy("cp_async16_zfill", "cg", "past the first cache")
cp_async16_zfill_cached = _copy("cp_async16_zfill_cached", "ca", "by way of the first cache")


@Instruction
def held(typing, shared):
    """Return a shared array whose address is kept in a register.

    The compiler would work out where the array lies again before each access; that takes longer than a
    product of matrices.
    """

    def generate(context, builder, signature, args):
        array = context.make_array(shared)(context, builder, args[0])
        kind = array.data.type
        here = _assembly(builder, _WORD, "mov.u32 $0, $1;", "=r,r", [_in_shared(builder, array.data)])
        pointer = builder.inttoptr(here, ir.PointerType(kind.pointee, _SHARED))
        array.data = builder.addrspacecast(pointer, kind)
        return array._getvalue()

    return shared(shared), generate


@Instruction
def cp_async_commit(typing):
    """Close a group: all copies this thread began since the last one."""
    from numba import types

    def generate(context, builder, signature, args):
        _assembly(builder, ir.VoidType(), "cp.async.commit_group;", "~{memory}", [])
        return context.get_dummy_value()

    return types.void(), generate


@Instruction
def cp_async_wait(typing, groups):
    """Wait until at most so many of this thread's groups, a literal number, are still on their way."""
    from numba import types

    if not isinstance(groups, types.IntegerLiteral):
        return None  # Numba asks again, with the literal

    def generate(context, builder, signature, args):
        text = f"cp.async.wait_group {groups.literal_value};"
        _assembly(builder, ir.VoidType(), text, "~{memory}", [])
        return context.get_dummy_value()

    return types.void(groups), generate


# -- rounding ----------------------------------------------------------------------------------------------


@Instruction
def half2(typing, low, high):
    """Return one word of two float16: `low` and `high`, each rounded to the nearest."""
    from numba import types

    def generate(context, builder, signature, args):
        return _assembly(builder, _WORD, "cvt.rn.f16x2.f32 $0, $2, $1;", "=r,f,f", args, effects=False)

    return types.uint32(types.float32, types.float32), generate


@Instruction
def tf32(typing, value):
    """Return a word of tf32: a float32 rounded to 10 bits behind the point, ties away from zero."""
    from numba import types

    def generate(context, builder, signature, args):
        return _assembly(builder, _WORD, "cvt.rna.tf32.f32 $0, $1;", "=r,f", args, effects=False)

    return types.uint32(types.float32), generate


# -- how it is written for LLVM ----------------------------------------------------------------------------


def _assembly(builder, result, text: str, places: str, args, effects: bool = True):
    """Return what one line of PTX returns; with `effects` it stays where it is, once for each time."""
    function = ir.FunctionType(result, [arg.type for arg in args])
    # "convergent": the compiler may not move it to where fewer lanes of the warp arrive.
    attributes = ("convergent",) if effects else ()
    return builder.call(ir.InlineAsm(function, text, places, side_effect=effects), args, attrs=attributes)


def _in_shared(builder, pointer):
    """Return an address as the 32 bits that instructions on shared memory take."""
    if pointer.type.addrspace != _SHARED:
        pointer = builder.addrspacecast(pointer, ir.PointerType(pointer.type.pointee, _SHARED))
    return builder.ptrtoint(pointer, _WORD)


def _four(context, builder, signature, struct):
    parts = [builder.extract_value(struct, i) for i in range(4)]
    return context.make_tuple(builder, signature.return_type, parts)
