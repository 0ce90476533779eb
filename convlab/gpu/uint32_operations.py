"""Operations on whole numbers of 32 bits without a sign, as kernels call them once they are rewritten.

`u32_add(a, b)` is a uint32 for two whole numbers of any type, and what ``a + b`` is to Numba for all others;
`convlab.gpu.kernels` puts it where a kernel says ``a + b``.
"""

from __future__ import annotations

import ast
import operator
from functools import lru_cache

from convlab.gpu.ptx import Instruction

# The operations, by their Python operator: the name of the function, and of LLVM's instruction.
OPERATIONS = {
    ast.Add: ("add", "add"),
    ast.Sub: ("sub", "sub"),
    ast.Mult: ("mul", "mul"),
    ast.FloorDiv: ("floordiv", "udiv"),
    ast.Mod: ("mod", "urem"),
    ast.BitAnd: ("and_", "and_"),
    ast.BitOr: ("or_", "or_"),
    ast.BitXor: ("xor", "xor"),
    ast.LShift: ("lshift", "shl"),
    ast.RShift: ("rshift", "lshr"),
}


@lru_cache
def operations() -> dict[str, Instruction]:
    """Return the operations of rewritten kernels, by name."""
    made = [_operation(getattr(operator, name), llvm) for name, llvm in OPERATIONS.values()]
    return {operation.name: operation for operation in (*made, u32_divmod, u32_counted, u32_whole)}


def _operation(of_python, llvm: str) -> Instruction:
    """Return the operation that is LLVM's for two whole numbers, and what Python's is to Numba for others."""

    def typed(typing, a, b):
        from numba import types

        if _is_whole(a) and _is_whole(b):
            kind = types.uint64 if types.uint64 in (a, b) else types.uint32

            def generate_unsigned(context, builder, signature, args):
                a, b = (
                    context.cast(builder, value, type_, kind)
                    for value, type_ in zip(args, signature.args, strict=True)
                )
                return getattr(builder, llvm)(a, b)

            return kind(a, b), generate_unsigned
        usual = typing.resolve_function_type(of_python, (a, b), {})

        def generate(context, builder, signature, args):
            operands = (
                context.cast(builder, value, *types_)
                for value, *types_ in zip(args, signature.args, usual.args, strict=True)
            )
            return context.get_function(of_python, usual)(builder, tuple(operands))

        return usual.return_type(a, b), generate

    typed.__name__ = f"u32_{of_python.__name__}"
    return Instruction(typed)


@Instruction
def u32_divmod(typing, a, b):
    """Return the quotient and the remainder of two whole numbers."""
    from numba import types

    def generate(context, builder, signature, args):
        a, b = (
            context.cast(builder, value, kind, types.uint32)
            for value, kind in zip(args, signature.args, strict=True)
        )
        return context.make_tuple(builder, signature.return_type, (builder.udiv(a, b), builder.urem(a, b)))

    if _is_whole(a) and _is_whole(b):
        return types.UniTuple(types.uint32, 2)(a, b), generate
    return None


@Instruction
def u32_counted(typing, a):
    """Return what a loop counts with as a uint32, if it is a whole number; `range` may give a uint64."""
    from numba import types

    return _as(types.uint32 if _is_whole(a) else a, a)


@Instruction
def u32_whole(typing, a):
    """Return a whole number as a uint32, but for a uint64; anything else as it is."""
    from numba import types

    return _as(types.uint32 if _is_whole(a) and a != types.uint64 else a, a)


def _as(kind, a):
    """Return the signature and the generator of a change of type."""

    def generate(context, builder, signature, args):
        return context.cast(builder, args[0], signature.args[0], kind)

    return kind(a), generate


def _is_whole(kind) -> bool:
    from numba import types

    return isinstance(kind, types.Integer | types.IntegerLiteral)
