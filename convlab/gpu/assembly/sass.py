"""A GPU's machine code (SASS) as nvdisasm writes it: its instructions, and what is counted of them.

An opcode is read from left to right: LDG.E.128 is a load (LD) from global memory (G), 128 bits wide. A count
takes an opcode's beginning: ``count("LDG")`` has all loads from global memory, ``count("LDG.E.128")`` those
of four numbers at once. The ones to know: FFMA multiplies and adds in float32, HMMA is a tensor core at work;
LDG and STG are global memory, LDS and STS shared, LDL and STL local (spills); IMAD, IADD3, LEA, LOP3 and
ISETP compute addresses and conditions; BAR is a barrier, BRA a jump.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property

# HFMA2 is not among them: the compiler uses it to write a constant into a register.
MULTIPLY_ADDS = ("FFMA", "DFMA", "HMMA", "IMMA", "DMMA", "HGMMA")
_FLOAT64 = re.compile(r"D(FMA|ADD|MUL|SETP|MNMX|MMA)\b|F2F\..*F64|[IF]2[IF]\..*F64|MUFU\.\w+64H")
_MEMORY = re.compile(r"(LD|ST|ATOM|RED)[GSL]?\b|LDSM|LDGSTS|ATOM[GS]")
_LABEL = re.compile(r"^\s*(\.L_\w+|\$[\w$]+):")
_CODE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")
_GUARD = re.compile(r"^@!?U?P\w+\s+")
_TARGET = re.compile(r"`\((\.L_\w+)\)")


@dataclass(frozen=True)
class Operation:
    """One machine instruction.

    Attributes
    ----------
    address : int
        In bytes, from the kernel's beginning.
    opcode : str
        For example "LDG.E.128".
    text : str
        All of it, with its guard (``@P0``) and operands.
    target : int or None
        The address it jumps to.
    """

    address: int
    opcode: str
    text: str
    target: int | None = None

    @property
    def leaves(self) -> bool:
        """Whether what comes after it may be something else than the next instruction."""
        return self.opcode.partition(".")[0] in ("BRA", "BRX", "JMP", "JMX", "EXIT", "RET")

    @property
    def guarded(self) -> bool:
        """Whether it is carried out only by the threads for which a condition holds."""
        return bool(_GUARD.match(self.text)) or bool(re.search(r"^BRA\S*\s+(!?U?P\d|.*UR)", self.text))


@dataclass(frozen=True)
class Code:
    """Instructions in the order of their addresses: a whole kernel, or one turn of a loop."""

    operations: tuple[Operation, ...]

    def __len__(self) -> int:
        return len(self.operations)

    def __str__(self) -> str:
        return "\n".join(f"{o.address:04x}  {o.text}" for o in self.operations)

    @cached_property
    def opcodes(self) -> Counter:
        """Full opcodes and how often they stand here, e.g. {"LDG.E.128": 2}."""
        return Counter(o.opcode for o in self.operations)

    def count(self, opcode: str) -> int:
        """Return how many instructions begin with these parts: "LDG", "LDG.E.128"."""
        return sum(n for full, n in self.opcodes.items() if (full + ".").startswith(opcode + "."))

    def share(self, opcode: str) -> float:
        """Return how much of the code these instructions are: 0.83 for 83 of 100."""
        return self.count(opcode) / len(self) if len(self) else 0.0

    @cached_property
    def multiply_adds(self) -> int:
        """Instructions that multiply and add, on single numbers or in tensor cores."""
        return sum(map(self.count, MULTIPLY_ADDS))

    @cached_property
    def float64(self) -> Counter:
        """Instructions that compute in float64, or convert from or to it: none in a good float32 kernel."""
        return Counter({full: n for full, n in self.opcodes.items() if _FLOAT64.match(full)})

    @cached_property
    def memory(self) -> Counter:
        """Loads, stores and atomics, with their widths."""
        return Counter({full: n for full, n in self.opcodes.items() if _MEMORY.match(full)})


def parse(listing: str) -> Code:
    """Return the instructions of a listing by ``nvdisasm -c``: one kernel and what it calls.

    What only fills the last lines of the code's memory (NOP, and a jump to itself) is left out.
    """
    found: list[Operation] = []
    labels: dict[str, int] = {}
    waiting: list[str] = []
    for row in listing.splitlines():
        if label := _LABEL.match(row):
            waiting.append(label[1])
        elif code := _CODE.match(row):
            address, text = int(code[1], 16), " ".join(code[2].split())
            labels |= dict.fromkeys(waiting, address)
            waiting.clear()
            found.append(Operation(address, _GUARD.sub("", text).split()[0], text))
    jumps = {
        o.address: labels.get(target[1])
        for o in found
        if o.opcode.startswith("BRA") and (target := _TARGET.search(o.text))
    }
    operations = [replace(o, target=jumps.get(o.address)) for o in found]
    while operations and (operations[-1].opcode == "NOP" or operations[-1].target == operations[-1].address):
        operations.pop()
    return Code(tuple(operations))
