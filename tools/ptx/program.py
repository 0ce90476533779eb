"""A kernel ready to be run: every instruction looked up, and put together to basic blocks.

A basic block is entered at its first instruction alone and left after its last; so threads part and meet
between blocks only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from tools.ptx import async_copies, atomics, conversions, elementwise, tensor, transfers, warps
from tools.ptx.text import Instruction, Kernel, PtxError

CONTROL = {"bra", "bra.uni", "ret", "exit", "bar.sync"}  # what ends a block: `wave` does these

_ELEMENTWISE = elementwise.TABLE | conversions.TABLE
_OTHERS: dict[str, Callable] = (
    transfers.TABLE | atomics.TABLE | async_copies.TABLE | warps.TABLE | tensor.TABLE
)
KNOWN = frozenset(_ELEMENTWISE) | frozenset(_OTHERS) | CONTROL


@dataclass(frozen=True)
class Block:
    """A basic block: its instructions from `first` on; the last may be one of control."""

    first: int
    body: tuple[Instruction, ...]
    last: Instruction | None

    @property
    def after(self) -> int:
        """Where the program goes on behind it."""
        return self.first + len(self.body) + (self.last is not None)


@dataclass
class Program:
    """A kernel, and how often its instructions have been run.

    Attributes
    ----------
    fused : bool
        False: a multiply-add rounds twice, as the source says it and the lane simulator does.
    visits : dict of int to int
        First instruction of a block -> threads that ran it.
    """

    kernel: Kernel
    fused: bool = True
    visits: dict[int, int] = field(default_factory=dict)

    def __post_init__(self):
        unknown = sorted(self.kernel.opcodes - KNOWN)
        if unknown:
            raise PtxError(f"{self.kernel.name}: unknown instructions: {', '.join(unknown)}")

    @cached_property
    def blocks(self) -> dict[int, Block]:
        """The basic blocks by their first instruction."""
        instructions, labels = self.kernel.instructions, self.kernel.labels
        starts = {0, *labels.values()}
        starts |= {i + 1 for i, one in enumerate(instructions) if one.opcode in CONTROL}
        starts = sorted(start for start in starts if start < len(instructions))
        found = {}
        for start, end in zip(starts, [*starts[1:], len(instructions)], strict=True):
            part = instructions[start:end]
            ends = part[-1].opcode in CONTROL
            found[start] = Block(start, part[:-1] if ends else part, part[-1] if ends else None)
        return found

    def binder(self, instruction: Instruction) -> Callable:
        """Return what binds an instruction to the registers of a wave: ``binder(wave)`` is a step."""
        opcode = instruction.opcode
        if opcode in ("mov.b32", "mov.b64") and any("{" in text for text in instruction.operands):
            opcode += "{}"
        if not self.fused and opcode in elementwise.ROUNDED_TWICE:
            return lambda wave: elementwise.ROUNDED_TWICE[opcode].bind(instruction, wave.lanes)
        if opcode in _ELEMENTWISE:
            return lambda wave: _ELEMENTWISE[opcode].bind(instruction, wave.lanes)
        return lambda wave: _OTHERS[opcode](instruction, wave)

    @cached_property
    def grain(self) -> dict[str, int]:
        """The bytes of the smallest access to each space, by its name."""
        smallest: dict[str, int] = {}
        for opcode in self.kernel.opcodes:
            parts = opcode.split(".")
            if parts[0] not in ("ld", "st", "atom", "red", "cp", "ldmatrix"):
                continue
            bits = "".join(c for c in parts[-1] if c.isdigit())
            wide = parts[0] in ("cp", "ldmatrix")
            size = 4 if wide else int(bits or 32) // 8
            for space in ("global", "shared"):
                if space in parts or not {"global", "shared", "local", "param", "const"} & set(parts):
                    smallest[space] = min(size, smallest.get(space, size))
        return smallest
