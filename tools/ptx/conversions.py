"""From one type to another: cvt. PTX ISA, "Data Movement and Conversion Instructions: cvt".

Between whole numbers bits are dropped, or added with the sign of the source. A number with a fraction that
becomes a whole one is clamped to what that can hold, and "not a number" becomes 0. A register that is wider
than the type takes the number with its sign.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tools.ptx.kinds import DTYPES
from tools.ptx.lanes import Lanes, Mask, Step
from tools.ptx.text import Instruction

WHOLE = tuple(f"{letter}{bits}" for letter in "us" for bits in (8, 16, 32, 64))
FLOATS = ("f16", "f32", "f64")
TO_WHOLE = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


@dataclass(frozen=True)
class Conversion:
    """An instruction cvt: `function` makes the new numbers of the old ones."""

    function: object
    writes: str
    reads: tuple[str, ...]

    def bind(self, instruction: Instruction, lanes: Lanes) -> Step:
        """Return the instruction as it is on the registers of these lanes."""
        target, *sources = instruction.operands
        to = lanes.extended(target, self.writes)
        given = [lanes.read(text, kind) for text, kind in zip(sources, self.reads, strict=True)]

        def step(mask: Mask) -> None:
            values = self.function(*given)
            np.copyto(to, values, where=True if mask is None else mask, casting="unsafe")

        return step


def _clamped(kind: str, rounding):
    """Return what makes a whole number of one with a fraction."""
    dtype = DTYPES[kind]
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max

    def convert(a):
        rounded = rounding(np.asarray(a, np.float64))
        inside = np.where(np.isnan(a) | (rounded < least) | (rounded > most), 0, rounded)
        # As a float64 the largest of 64 bits is one more than it is: equal is too large then.
        over = rounded >= float(most) if dtype.itemsize == 8 else rounded > most
        whole = np.where(over, 0, inside).astype(dtype)
        return np.where(over, dtype.type(most), np.where(rounded < least, dtype.type(least), whole))

    return convert


def _to(kind: str):
    dtype = DTYPES[kind]
    return lambda a: np.asarray(a).astype(dtype)


def _tf32(a):
    """Round a float32 to 10 bits behind the point, ties away from zero; PTX ISA: cvt.rna.tf32."""
    bits = np.asarray(a).view(np.uint32)
    return np.where(np.isfinite(a), bits + np.uint32(0x1000), bits) & np.uint32(0xFFFFE000)


def _pair(high, low):
    """Two float16 in a word: the first operand is the upper half."""
    high, low = (np.asarray(part, np.float32).astype(np.float16).view(np.uint16) for part in (high, low))
    return high.astype(np.uint32) << np.uint32(16) | low


def _table() -> dict[str, Conversion]:
    table = {}
    for to in WHOLE:
        for kind in WHOLE:
            table[f"cvt.{to}.{kind}"] = Conversion(_to(to), to, (kind,))
        for kind in FLOATS:
            for name, rounding in TO_WHOLE.items():
                table[f"cvt.{name}.{to}.{kind}"] = Conversion(_clamped(to, rounding), to, (kind,))
    for to in FLOATS:
        for kind in WHOLE:
            table[f"cvt.rn.{to}.{kind}"] = Conversion(_to(to), to, (kind,))
        for kind in FLOATS:
            if DTYPES[to].itemsize != DTYPES[kind].itemsize:
                rounds = ".rn" * (DTYPES[to].itemsize < DTYPES[kind].itemsize)
                table[f"cvt{rounds}.{to}.{kind}"] = Conversion(_to(to), to, (kind,))
            else:
                for name, rounding in TO_WHOLE.items():
                    table[f"cvt.{name}.{to}.{kind}"] = Conversion(rounding, to, (kind,))
    table["cvt.rn.f16x2.f32"] = Conversion(_pair, "b32", ("f32", "f32"))
    table["cvt.rna.tf32.f32"] = Conversion(_tf32, "b32", ("f32",))
    return table


TABLE = _table()
