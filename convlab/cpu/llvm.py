"""What Numba does not offer, said in LLVM's terms: values that live in vector registers.

`register_tile.py` is written with these few words. `Registers` is a Numba type made of nothing but registers;
the functions below make the instructions for one operation on them.
"""

from __future__ import annotations

from functools import lru_cache

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import lower_constant
from numba.extending import NativeValue, models, overload_attribute, register_model, typeof_impl, unbox

INT = ir.IntType(64)
SCALARS = {"float32": (types.float32, ir.FloatType()), "float64": (types.float64, ir.DoubleType())}


class Registers(types.Type):
    """A fixed number of registers of one kind, as a Numba type: `name` tells it from others."""

    def __init__(self, name: str, kind, count: int):
        self.llvm = ir.ArrayType(kind, count)
        super().__init__(f"{name}[{count} x {kind}]")


@register_model(Registers)
class _RegistersModel(models.PrimitiveModel):
    def __init__(self, manager, registers):
        super().__init__(manager, registers, registers.llvm)


def travels_as_type(kind: type, numba_type: type[types.Type], *constants: str) -> None:
    """Let values of a Python class travel into kernels as types: ``numba_type(value)``, made once for each.

    Nothing of a value is left when the kernel runs. The attributes named by `constants` are numbers that the
    compiler knows.
    """
    type_of = lru_cache(numba_type)  # asked for at every call of a kernel
    typeof_impl.register(kind)(lambda value, context: type_of(value))
    kind._numba_type_ = property(type_of)  # where Numba looks first: it takes 0.3 us in place of 1.6
    register_model(numba_type)(models.OpaqueModel)
    unbox(numba_type)(lambda typ, value, c: NativeValue(c.context.get_dummy_value()))
    lower_constant(numba_type)(lambda context, builder, typ, value: context.get_dummy_value())
    for name in constants:
        overload_attribute(numba_type, name)(_constant(name))


def _constant(name: str):
    def known(value):
        number = getattr(value, name)
        return lambda value: number

    return known


def empty(registers: Registers):
    """Return registers that hold nothing yet."""
    return ir.Constant(registers.llvm, ir.Undefined)


def zero(registers: Registers):
    """Return registers that hold zeros."""
    return ir.Constant(registers.llvm, None)


def address(context, builder, array_type, array, *offsets, vector=None):
    """Return the address of array[sum of offsets], an array of one axis; of a `vector` if that is given."""
    pointer = context.make_array(array_type)(context, builder, array).data
    for offset in offsets:
        pointer = builder.gep(pointer, [offset])
    return pointer if vector is None else builder.bitcast(pointer, vector.as_pointer())


def opaque(builder, value):
    """Return `value`, but hide from LLVM where it comes from.

    Seven rows at equal distances tempt it to keep an address for every row and every turn of an unrolled
    loop: far more than there are registers, so they spill to memory. Strangers are left alone.
    """
    nothing = ir.FunctionType(value.type, [value.type])
    return builder.asm(nothing, "", f"={_kind(builder, value)},0", [value], side_effect=False)


def in_registers(builder, values: list) -> list:
    """Return values, vectors, whole numbers or addresses, all of which are in registers at this point.

    LLVM likes to load early what is used late, and to put off what is not stored at once; then there is no
    room, and sums go to memory and back. An instruction that is none takes all of them and returns them: what
    is added to them before is added by then, and what is loaded at such a number is not loaded yet.
    """
    constraints = [f"={_kind(builder, value)}" for value in values] + [str(i) for i in range(len(values))]
    types_ = [value.type for value in values]
    nothing = ir.FunctionType(ir.LiteralStructType(types_), types_)
    held = builder.asm(nothing, "", ",".join(constraints), values, side_effect=False)
    return [builder.extract_value(held, i) for i in range(len(values))]


def _kind(builder, value) -> str:
    """Return the kind of register that a value needs, as constraints of instructions name it."""
    if not isinstance(value.type, ir.VectorType):
        return "r"
    return "v" if builder.module.triple.startswith(("x86", "i386", "i686")) else "w"


def in_every_lane(builder, number, vector):
    """Return a vector register with `number` in every lane."""
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.IntType(32)(0))
    return lanes_of(builder, one, [0] * vector.count)


def lanes_of(builder, value, lanes: list[int]):
    """Return a vector register whose lane i holds lane lanes[i] of another."""
    return builder.shuffle_vector(value, value, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes))


def lanes_below(builder, width, vector, first: int):
    """Return a mask of the lanes that hold a column < width, where lane 0 holds column `first`."""
    counts = ir.VectorType(INT, vector.count)
    column = ir.Constant(counts, [first + lane for lane in range(vector.count)])
    return builder.icmp_signed("<", column, in_every_lane(builder, width, counts))


def whole_or_part(builder, width, vector, count: int, generate):
    """Return generate(masks), a mask for each of `count` vectors: those of the columns < width.

    If that is all of them the masks are None: a masked load or store is slower.
    """
    whole = builder.icmp_signed(">=", width, INT(count * vector.count))
    with builder.if_else(whole, likely=True) as (then, otherwise):
        with then:
            if_whole = generate([None] * count), builder.block
        with otherwise:
            masks = [lanes_below(builder, width, vector, j * vector.count) for j in range(count)]
            if_part = generate(masks), builder.block
    result = builder.phi(if_whole[0].type)
    result.add_incoming(*if_whole)
    result.add_incoming(*if_part)
    return result


def multiply_add(builder, a, b, c):
    """Return a * b + c, lane by lane: one instruction where the processor has it."""
    return builder.call(_intrinsic(builder, "fmuladd", a.type, [a.type] * 3, a.type), [a, b, c])


def larger(builder, floor, value):
    """Return the larger of two vectors, lane by lane; where `value` is NaN it stays."""
    return builder.select(builder.fcmp_ordered(">", floor, value), floor, value)


def load_below(builder, pointer, mask, vector):
    """Load the lanes of `mask`, the others are 0; memory behind them is not touched. No mask: all lanes."""
    if mask is None:
        return builder.load(pointer, align=4)
    to = vector.as_pointer()
    takes = [to, ir.IntType(32), mask.type, vector]
    read = _intrinsic(builder, "masked.load", vector, takes, vector, to)
    return builder.call(read, [pointer, ir.IntType(32)(4), mask, ir.Constant(vector, None)])


def store_below(builder, value, pointer, mask):
    """Store the lanes of `mask`; memory behind the others is not touched. No mask: all lanes."""
    if mask is None:
        return builder.store(value, pointer, align=4)
    vector, to = value.type, value.type.as_pointer()
    takes = [vector, to, ir.IntType(32), mask.type]
    write = _intrinsic(builder, "masked.store", ir.VoidType(), takes, vector, to)
    builder.call(write, [value, pointer, ir.IntType(32)(4), mask])


def prefetch(builder, pointer, level):
    """Ask for the cache line of `pointer` to be brought into the first or second cache, and do not wait.

    In LLVM's numbers: it is to be read (0), is wanted near (3, the first cache) or less so, and is data (1).
    """
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    ask = _intrinsic(builder, "prefetch", ir.VoidType(), [byte, number, number, number], byte)
    builder.call(ask, [builder.bitcast(pointer, byte), number(0), number(4 - level), number(1)])


def _intrinsic(builder, name, returns, takes, *overloads):
    """Declare LLVM's intrinsic `name` for these types, e.g. llvm.fmuladd.v16f32."""

    def short(kind):
        if isinstance(kind, ir.PointerType):
            return "p0"
        return f"v{kind.count}f{64 if isinstance(kind.element, ir.DoubleType) else 32}"

    full = ".".join(["llvm", name, *map(short, overloads)])
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(returns, takes), full)
