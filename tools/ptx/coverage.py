"""What of the compiled kernels has been run: instructions by their opcode, and those that nobody came by.

coverage(device.programs) is of what a device has run, coverage(programs()) of all devices of this process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tools.ptx.program import Program


@dataclass
class Coverage:
    """Instructions of some programs.

    Attributes
    ----------
    kernels : int
        How many programs.
    written, reached : Counter
        Opcode -> how often it stands in the programs; and how many of these were run at least once.
    run : Counter
        Opcode -> how often a thread ran it.
    """

    kernels: int = 0
    written: Counter = field(default_factory=Counter)
    reached: Counter = field(default_factory=Counter)
    run: Counter = field(default_factory=Counter)

    def lines(self) -> Iterable[str]:
        """Yield a table, the most frequent opcode first."""
        yield f"{'instruction':52} {'stands':>8} {'reached':>8} {'threads ran it':>16}"
        for opcode, count in self.run.most_common():
            yield f"{opcode:52} {self.written[opcode]:8} {self.reached[opcode]:8} {count:16,}"
        whole, opcodes = self.written.total(), len(self.written)
        share = self.reached.total() / max(1, whole)
        yield f"{self.kernels} kernels: {opcodes} opcodes, {whole} instructions, {share:.1%} reached"


def coverage(programs: Iterable[Program]) -> Coverage:
    """Return what of some programs has been run; one that is given twice counts once."""
    found = Coverage()
    for program in {id(one): one for one in programs}.values():
        found.kernels += 1
        for block in program.blocks.values():
            visits = program.visits.get(block.first, 0)
            for instruction in (*block.body, *filter(None, [block.last])):
                found.written[instruction.opcode] += 1
                found.reached[instruction.opcode] += visits > 0
                found.run[instruction.opcode] += visits
    return found


def unreached(program: Program) -> list[str]:
    """Return the instructions of a program that no thread came by."""
    blocks = [block for start, block in program.blocks.items() if not program.visits.get(start)]
    return [str(one) for block in blocks for one in (*block.body, *filter(None, [block.last]))]
