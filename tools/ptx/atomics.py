"""Read, change and write in one: atom and red. PTX ISA, "Parallel Synchronization and Communication"."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tools.ptx.kinds import DTYPES
from tools.ptx.lanes import Mask, Step, chosen
from tools.ptx.text import Instruction
from tools.ptx.transfers import address_of

if TYPE_CHECKING:
    from tools.ptx.wave import Wave

ATOMICS: dict[str, Callable] = {
    "add": lambda old, value: old + value,
    "min": min,
    "max": max,
    "and": lambda old, value: old & value,
    "or": lambda old, value: old | value,
    "xor": lambda old, value: old ^ value,
    "exch": lambda old, value: value,
    "cas": lambda old, expected, value: value if old == expected else old,
}


def atomic(space: str, name: str, kind: str, returns: bool):
    """Return what binds an `atom`, or a `red`, which returns nothing: one lane after the other."""

    def bind(instruction: Instruction, wave: Wave) -> Step:
        operands = list(instruction.operands)
        to = wave.lanes.write(operands.pop(0), kind) if returns else None
        address, dtype, function = address_of(operands[0], wave), DTYPES[kind], ATOMICS[name]
        sources = [wave.lanes.read(text, kind) for text in operands[1:]]

        def step(mask: Mask) -> None:
            lanes = chosen(mask, wave.lanes.count)
            for name, some, addresses in wave.split(space, lanes, address()):
                memory = wave.spaces[name]
                places = wave.places(name, some, addresses, dtype.itemsize, written=True)
                numbers = memory.bytes.view(dtype)
                for lane, place in zip(some, places, strict=True):
                    old = numbers[place]
                    given = [one[lane] if isinstance(one, np.ndarray) else one for one in sources]
                    numbers[place] = function(old, *given)
                    if to is not None:
                        to[lane] = old

        return step

    return bind


def _table() -> dict[str, Callable]:
    table: dict[str, Callable] = {}
    kinds = {
        "add": ("u32", "s32", "u64", "f32", "f64"),
        **{name: ("u32", "s32", "u64", "s64") for name in ("min", "max")},
        **{name: ("b32", "b64") for name in ("and", "or", "xor", "exch", "cas")},
    }
    for name, served in kinds.items():
        for kind in served:
            for space in ("global", "shared", ""):
                where = f".{space}" * bool(space)
                for order in ("", ".relaxed", ".relaxed.gpu", ".gpu", ".sys"):
                    table[f"atom{order}{where}.{name}.{kind}"] = atomic(space, name, kind, returns=True)
                    table[f"atom{where}{order}.{name}.{kind}"] = atomic(space, name, kind, returns=True)
                    table[f"red{where}.{name}.{kind}"] = atomic(space, name, kind, returns=False)
    return table


TABLE = _table()
