"""Arithmetic, logic and comparisons: every lane by itself. PTX ISA, "Instruction Set".

`TABLE` has every opcode that is known, whole: ``add.rn.ftz.f32`` is another one than ``add.f32``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tools.ptx import functions
from tools.ptx.functions import WIDER
from tools.ptx.lanes import Lanes, Mask, Step
from tools.ptx.text import Instruction, PtxError

BITS = ("b16", "b32", "b64")
WHOLE = ("s16", "u16", "s32", "u32", "s64", "u64")
FLOATS = ("f32", "f64")


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
        straight = isinstance(function, np.ufunc) and any(isinstance(one, np.ndarray) for one in given)
        return partial(_in_place if straight else _assigned, function, given, to)


def _assigned(function: Callable, given: list, to: np.ndarray, mask: Mask) -> None:
    """Compute, and put what comes in its place."""
    if mask is None:
        to[...] = function(*given)
    else:
        np.copyto(to, function(*given), where=mask)


def _in_place(function: Callable, given: list, to: np.ndarray, mask: Mask) -> None:
    """The same, without an array between where all lanes take part."""
    if mask is None:
        function(*given, out=to)
    else:
        np.copyto(to, function(*given), where=mask)


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
        add(f"div.{kind}", functions.toward_zero, two, kind)
        add(f"rem.{kind}", functions.rest, two, kind)
        add(f"min.{kind}", np.minimum, two, kind)
        add(f"max.{kind}", np.maximum, two, kind)
        add(f"shr.{kind}", np.right_shift, (kind, "u32"), kind)
    for kind in WIDER:
        add(f"mul.wide.{kind}", functions.wide(kind), (kind, kind), WIDER[kind])
        add(f"mul.hi.{kind}", functions.high(kind), (kind, kind), kind)
        add(f"mad.wide.{kind}", functions.wide_add(kind), (kind, kind, WIDER[kind]), WIDER[kind])
    for kind in ("s64", "u64"):
        add(f"mul.hi.{kind}", functions.high_of_64, (kind, kind), kind)
    for kind in ("s16", "s32", "s64"):
        add(f"neg.{kind}", np.negative, (kind,), kind)
        add(f"abs.{kind}", np.abs, (kind,), kind)
    for kind in FLOATS:
        two, three = (kind,) * 2, (kind,) * 3
        for rounding in ("", ".rn"):
            add(f"add{rounding}.{kind}", np.add, two, kind)
            add(f"sub{rounding}.{kind}", np.subtract, two, kind)
            add(f"mul{rounding}.{kind}", np.multiply, two, kind)
        add(f"fma.rn.{kind}", functions.multiply_add, three, kind)
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
        add(f"bfi.{kind}", functions.insert, (kind, kind, "u32", "u32"), kind)
        add(f"bfe.u{kind[1:]}", functions.extract, (kind, "u32", "u32"), kind)
        add(f"popc.{kind}", np.bitwise_count, (kind,), "u32")
        add(f"clz.{kind}", functions.leading_zeros, (kind,), "u32")
    for kind in (*WHOLE, *BITS, *FLOATS):
        add(f"selp.{kind}", lambda a, b, p: np.where(p, a, b), (kind, kind, "pred"), kind)
        add(f"mov.{kind}", lambda a: a, (kind,), kind)
    add("mov.pred", lambda a: a, ("pred",), "pred")
    for name, compare in COMPARISONS.items():
        for kind in (*WHOLE, *BITS):
            if kind[0] != "b" or name in ("eq", "ne"):
                add(f"setp.{name}.{kind}", compare, (kind, kind), "pred")
        for kind in FLOATS:
            add(f"setp.{name}.{kind}", functions.differ if name == "ne" else compare, (kind, kind), "pred")
            add(f"setp.{name}u.{kind}", functions.or_unordered(compare), (kind, kind), "pred")
    for kind in FLOATS:
        add(f"setp.nan.{kind}", lambda a, b: np.isnan(a) | np.isnan(b), (kind, kind), "pred")
        add(f"setp.num.{kind}", lambda a, b: ~(np.isnan(a) | np.isnan(b)), (kind, kind), "pred")
    return table


TABLE = _table()
# As the source says it, and the lane simulator does: the product is rounded, and then the sum.
ROUNDED_TWICE = {
    f"fma.rn.{kind}": Elementwise(lambda a, b, c: a * b + c, (kind,) * 3, kind) for kind in FLOATS
}
