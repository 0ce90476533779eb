"""Arithmetic, logic and comparisons: every lane by itself. PTX ISA, "Instructions", integer to logic and shift.

`TABLE` has every opcode that is known, whole: ``add.rn.ftz.f32`` is another one than ``add.f32``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from tools.ptx.kinds import DTYPES
from tools.ptx.lanes import Lanes, Mask, Step
from tools.ptx.text import Instruction, PtxError

BITS = ("b16", "b32", "b64")
WHOLE = ("s16", "u16", "s32", "u32", "s64", "u64")
FLOATS = ("f32", "f64")
WIDER = {"s16": "s32", "u16": "u32", "s32": "s64", "u32": "u64"}


@dataclass(frozen=True)
class Elementwise:
    """An instruction that is one function of NumPy arrays: the types it reads, and the one it writes."""

    function: Callable
    reads: tuple[str, ...]
    writes: str

    def bind(self, instruction: Instruction, lanes: Lanes) -> Step:
        """Return the instruction as it is on the registers of these lanes."""
        target, *sources = instruction.operands
        if len(sources) != len(self.reads):
            raise PtxError(f"{instruction}: expected {len(self.reads)} operands after the first")
        to = lanes.write(target, self.writes)
        given = [lanes.read(text, kind) for text, kind in zip(sources, self.reads, strict=True)]
        function = self.function

        def step(mask: Mask) -> None:
            if mask is None:
                to[...] = function(*given)
            else:
                np.copyto(to, function(*given), where=mask)

        def in_place(mask: Mask) -> None:
            if mask is None:
                function(*given, out=to)
            else:
                np.copyto(to, function(*given), where=mask)

        straight = isinstance(function, np.ufunc) and any(isinstance(one, np.ndarray) for one in given)
        return in_place if straight else step


# -- what NumPy has no function for ------------------------------------------------------------------------


@cache
def fused():
    """Return fma(a, b, c): one rounding, as ``fma.rn`` has it. Numba makes the processor's own of it."""
    from numba import vectorize
    from numba.extending import intrinsic

    @intrinsic
    def in_one(typing, a, b, c):
        return a(a, a, a), lambda context, builder, signature, args: builder.fma(*args)

    return vectorize(["f4(f4,f4,f4)", "f8(f8,f8,f8)"], nopython=True)(lambda a, b, c: in_one(a, b, c))


def multiply_add(a, b, c):
    """Return a*b + c, rounded once."""
    return fused()(a, b, c)


def _toward_zero(a, b):
    """Whole quotient; NumPy's is rounded down. By zero the ISA leaves open what comes: here -1, all ones."""
    a, b = np.asarray(a), np.asarray(b)
    quotient = np.floor_divide(a, b)
    if a.dtype.kind == "i":
        quotient = quotient + ((quotient < 0) & (quotient * b != a)).astype(a.dtype)
    return np.where(b == 0, np.array(-1).astype(a.dtype), quotient)


def _rest(a, b):
    return np.asarray(a) - _toward_zero(a, b) * np.asarray(b)


def _wide(kind: str):
    """Return the product of two numbers in twice as many bits."""
    dtype = DTYPES[WIDER[kind]]
    return lambda a, b: np.multiply(a, b, dtype=dtype)


def _high(kind: str):
    """Return the upper half of the product."""
    dtype, wide = DTYPES[kind], DTYPES[WIDER[kind]]
    return lambda a, b: (np.multiply(a, b, dtype=wide) >> 8 * dtype.itemsize).astype(dtype)


def _high_of_64(a, b):
    """Return the upper 64 bits of the product of two numbers of 64, from halves of 32."""
    u, v = np.asarray(a).astype(np.uint64), np.asarray(b).astype(np.uint64)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    middle = (u >> half) * (v & low) + ((u & low) * (v & low) >> half)
    other = (u & low) * (v >> half) + (middle & low)
    high = (u >> half) * (v >> half) + (middle >> half) + (other >> half)
    if np.asarray(a).dtype.kind == "i":  # a number below zero was taken for 2**64 more
        high = high - np.where(np.less(a, 0), v, np.uint64(0)) - np.where(np.less(b, 0), u, np.uint64(0))
    return high.view(np.asarray(a).dtype)


def _insert(a, b, position, length):
    """bfi: `length` bits of a, put into b from bit `position` on."""
    bits = 8 * np.asarray(b).dtype.itemsize
    wide = np.dtype(f"u{bits // 8}").type
    position, length = np.asarray(position & 0xFF).astype(wide), np.asarray(length & 0xFF).astype(wide)
    ones = np.where(length >= bits, wide(~wide(0)), (wide(1) << length) - wide(1))
    field = ones << position  # beyond the last bit nothing is left of it
    return np.where(position >= bits, b, (b & ~field) | ((a << position) & field))


def _extract(a, position, length):
    """bfe, unsigned: `length` bits of a from bit `position` on."""
    bits = 8 * np.asarray(a).dtype.itemsize
    wide = np.dtype(f"u{bits // 8}").type
    position, length = np.asarray(position & 0xFF).astype(wide), np.asarray(length & 0xFF).astype(wide)
    ones = np.where(length >= bits, wide(~wide(0)), (wide(1) << length) - wide(1))
    return (a >> position) & ones


def _leading_zeros(a):
    count = np.zeros(np.shape(a), np.uint32)
    bits = 8 * np.asarray(a).dtype.itemsize
    for bit in range(bits):
        count += (a >> np.asarray(bit, a.dtype)) == 0
    return count


def _or_unordered(compare):
    """Return a comparison that a NaN makes true: the forms that end in u."""
    return lambda a, b: compare(a, b) | np.isnan(a) | np.isnan(b)


def _differ(a, b):
    return (a != b) & ~(np.isnan(a) | np.isnan(b))


COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def _table() -> dict[str, Elementwise]:
    table = {}

    def add(opcode, function, reads, writes):
        table[opcode] = Elementwise(function, reads, writes)

    for kind in WHOLE:
        two = kind, kind
        add(f"add.{kind}", np.add, two, kind)
        add(f"sub.{kind}", np.subtract, two, kind)
        add(f"mul.lo.{kind}", np.multiply, two, kind)
        add(f"mad.lo.{kind}", lambda a, b, c: a * b + c, (kind,) * 3, kind)
        add(f"div.{kind}", _toward_zero, two, kind)
        add(f"rem.{kind}", _rest, two, kind)
        add(f"min.{kind}", np.minimum, two, kind)
        add(f"max.{kind}", np.maximum, two, kind)
        add(f"shr.{kind}", np.right_shift, (kind, "u32"), kind)
    for kind in WIDER:
        add(f"mul.wide.{kind}", _wide(kind), (kind, kind), WIDER[kind])
        add(f"mul.hi.{kind}", _high(kind), (kind, kind), kind)
        wide = _wide(kind)
        add(
            f"mad.wide.{kind}",
            lambda a, b, c, wide=wide: wide(a, b) + c,
            (kind, kind, WIDER[kind]),
            WIDER[kind],
        )
    for kind in ("s64", "u64"):
        add(f"mul.hi.{kind}", _high_of_64, (kind, kind), kind)
    for kind in ("s16", "s32", "s64"):
        add(f"neg.{kind}", np.negative, (kind,), kind)
        add(f"abs.{kind}", np.abs, (kind,), kind)
    for kind in FLOATS:
        two, three = (kind,) * 2, (kind,) * 3
        for rounding in ("", ".rn"):
            add(f"add{rounding}.{kind}", np.add, two, kind)
            add(f"sub{rounding}.{kind}", np.subtract, two, kind)
            add(f"mul{rounding}.{kind}", np.multiply, two, kind)
        add(f"fma.rn.{kind}", multiply_add, three, kind)
        add(f"div.rn.{kind}", np.divide, two, kind)
        add(f"rcp.rn.{kind}", np.reciprocal, (kind,), kind)
        add(f"sqrt.rn.{kind}", np.sqrt, (kind,), kind)
        add(f"min.{kind}", np.fmin, two, kind)  # of a NaN and a number the number
        add(f"max.{kind}", np.fmax, two, kind)
        add(f"neg.{kind}", np.negative, (kind,), kind)
        add(f"abs.{kind}", np.abs, (kind,), kind)
    for kind in (*BITS, "pred"):
        add(f"and.{kind}", np.bitwise_and, (kind, kind), kind)
        add(f"or.{kind}", np.bitwise_or, (kind, kind), kind)
        add(f"xor.{kind}", np.bitwise_xor, (kind, kind), kind)
        add(f"not.{kind}", np.invert, (kind,), kind)
    for kind in BITS:
        add(f"shl.{kind}", np.left_shift, (kind, "u32"), kind)  # by as many bits as there are, or more: 0
        add(f"shr.{kind}", np.right_shift, (kind, "u32"), kind)
    for kind in ("b32", "b64"):
        add(f"bfi.{kind}", _insert, (kind, kind, "u32", "u32"), kind)
        add(f"bfe.u{kind[1:]}", _extract, (kind, "u32", "u32"), kind)
        add(f"popc.{kind}", np.bitwise_count, (kind,), "u32")
        add(f"clz.{kind}", _leading_zeros, (kind,), "u32")
    for kind in (*WHOLE, *BITS, *FLOATS):
        add(f"selp.{kind}", lambda a, b, p: np.where(p, a, b), (kind, kind, "pred"), kind)
        add(f"mov.{kind}", lambda a: a, (kind,), kind)
    add("mov.pred", lambda a: a, ("pred",), "pred")
    for name, compare in COMPARISONS.items():
        for kind in (*WHOLE, *BITS):
            if kind[0] != "b" or name in ("eq", "ne"):
                add(f"setp.{name}.{kind}", compare, (kind, kind), "pred")
        for kind in FLOATS:
            add(f"setp.{name}.{kind}", _differ if name == "ne" else compare, (kind, kind), "pred")
            add(f"setp.{name}u.{kind}", _or_unordered(compare), (kind, kind), "pred")
    for kind in FLOATS:
        add(f"setp.nan.{kind}", lambda a, b: np.isnan(a) | np.isnan(b), (kind, kind), "pred")
        add(f"setp.num.{kind}", lambda a, b: ~(np.isnan(a) | np.isnan(b)), (kind, kind), "pred")
    return table


TABLE = _table()
# As the source says it, and the lane simulator does: the product is rounded, and then the sum.
ROUNDED_TWICE = {
    f"fma.rn.{kind}": Elementwise(lambda a, b, c: a * b + c, (kind,) * 3, kind) for kind in FLOATS
}
