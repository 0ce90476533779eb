"""What a compiled kernel really does: the machine instructions of the loop where it spends its time.

The hottest loop is taken to be the innermost one with the most multiply-adds, those on vectors first.
Instructions are read from Numba's listing, for x86 (AT&T order: the target comes last) and 64-bit ARM.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numba
from numba.core.dispatcher import Dispatcher

from convlab.errors import ConvError, ParameterError
from convlab.support.checks import said

_LABEL = re.compile(r"^(\.?L\w+):")
_JUMP = re.compile(r"^(?:j\w+|b(?:\.\w+)?|cbn?z|tbn?z)\s+(?:.*,\s*)?(\.?L\w+)$")
# An x86 processor without AVX multiplies first, and adds in an instruction of its own: `mulps`, then `addps`.
_MULTIPLY_ADD = re.compile(r"^(?:(?:vfn?m(?:add|sub)\d*|mul)(?P<kind>[ps])[sd]|(?P<arm>fmla|fmadd))\b")
_VECTOR = re.compile(r"%[xyz]mm\d|\b[vqds]\d+\b")
_MEMORY = re.compile(r"\([^)]*%\w+[^)]*\)|(?<!\w)\[[^\]]+\]")
_STACK = re.compile(r"\(%rsp\b|\[sp\b")
_CALL = re.compile(r"^(?:callq?|blr?)\s")


@dataclass(frozen=True)
class Loop:
    """One loop of machine code.

    Attributes
    ----------
    lines : tuple of str
        Its instructions, in order.
    """

    lines: tuple[str, ...]

    @cached_property
    def multiply_adds(self) -> int:
        """Multiply-adds in one turn, on vectors or on single numbers: an instruction each, two before AVX."""
        return sum(bool(_MULTIPLY_ADD.match(line)) for line in self.lines)

    @cached_property
    def on_vectors(self) -> int:
        """Those of them that work on whole vectors."""
        found = [_MULTIPLY_ADD.match(line) for line in self.lines]
        return sum(m["kind"] == "p" or m["arm"] == "fmla" for m in found if m)

    @cached_property
    def loads(self) -> int:
        """Registers filled with numbers from memory, spilled ones left out; ARM's `ldp` fills two at once."""
        return sum(_registers(line) for line in self.lines if _reads(line) and not _STACK.search(line))

    @cached_property
    def stores(self) -> int:
        """Registers written to memory, spilled ones left out."""
        return sum(_registers(line) for line in self.lines if _writes(line) and not _STACK.search(line))

    @cached_property
    def spills(self) -> int:
        """Vector registers put away on the stack, or fetched from there, for want of room."""
        moved = (line for line in self.lines if _STACK.search(line) and (_reads(line) or _writes(line)))
        return sum(_registers(line) for line in moved)

    @cached_property
    def prefetches(self) -> int:
        """Cache lines that are asked for ahead of their use."""
        return sum(line.startswith(("prefetch", "prfm")) for line in self.lines)

    @cached_property
    def calls(self) -> int:
        """Calls of other functions."""
        return sum(bool(_CALL.match(line)) for line in self.lines)

    @cached_property
    def jumps(self) -> int:
        """Jumps, with the one back to the beginning."""
        return sum(bool(_JUMP.match(line)) for line in self.lines)

    def __str__(self) -> str:
        return "\n".join(self.lines)


def hottest_loop(kernel: Callable, *arguments) -> Loop:
    """Compile a kernel for these arguments and return its innermost loop with the most multiply-adds.

    Parameters
    ----------
    kernel : callable
        A function decorated by `convlab.cpu.jit.njit`. It is compiled anew: Numba does not show the code of a
        kernel that comes from its cache.
    *arguments
        Arguments it can be called with; only their types matter. It is not run.

    Raises
    ------
    ConvError
        If it cannot be compiled for them, or no loop has a multiply-add.
    """
    if not isinstance(kernel, Dispatcher):
        raise ParameterError(
            f"kernel={said(kernel)}; expected a function decorated by `convlab.cpu.jit.njit`"
        )
    fresh = uncached(kernel)
    try:
        signature = tuple(numba.typeof(argument) for argument in arguments)
        fresh.compile(signature)
    except (ValueError, numba.core.errors.NumbaError) as error:
        given = ", ".join(said(argument) for argument in arguments)
        why = said(error)
        raise ParameterError(
            f"arguments=({given}); expected what {kernel.__name__} can take ({why})"
        ) from None
    found = loops(fresh.inspect_asm(fresh.signatures[0]))
    best = max(found, key=lambda loop: (loop.on_vectors, loop.multiply_adds, -loop.jumps), default=None)
    if best is None or not best.multiply_adds:
        raise ConvError(f"{kernel.__name__} has no loop with a multiply-add")
    return best


def uncached(kernel: Dispatcher) -> Dispatcher:
    """Return the same kernel without the cache on disk: Numba shows the machine code of such a one only."""
    return numba.jit(**kernel.targetoptions)(kernel.py_func)


def loops(listing: str) -> list[Loop]:
    """Return the innermost loops of an assembly listing, in the order they stand there."""
    lines = [text for line in listing.splitlines() if (text := _instruction(line))]
    at, found = {}, []
    for number, line in enumerate(lines):
        if label := _LABEL.match(line):
            at[label[1]] = number
        elif (jump := _JUMP.match(line)) and jump[1] in at:
            found.append((at[jump[1]], number))
    innermost = [
        (a, b) for a, b in found if not any(a <= c and d <= b and (a, b) != (c, d) for c, d in found)
    ]
    body = lambda a, b: tuple(line for line in lines[a : b + 1] if not _LABEL.match(line))  # noqa: E731
    return [Loop(body(a, b)) for a, b in dict.fromkeys(innermost)]


def _instruction(line: str) -> str:
    """Return a line's instruction or label, without comment; nothing for the assembler's own words."""
    text = " ".join(re.split(r"\s#\s|\s//|##", line)[0].split())
    return "" if text.startswith(".") and not _LABEL.match(text) else text


def _reads(line: str) -> bool:
    """Does it bring numbers from memory into a vector register?"""
    return bool(_MEMORY.search(line) and _VECTOR.search(line)) and not _writes(line)


def _writes(line: str) -> bool:
    """Does it put a vector register into memory? On x86 the target is the last operand."""
    if not (_MEMORY.search(line) and _VECTOR.search(line)):
        return False
    return line.rstrip().endswith(")") if "%" in line else line.startswith("st")


def _registers(line: str) -> int:
    """Return how many registers a load or a store moves: ARM has some for pairs."""
    return 2 if line.startswith(("ldp", "ldnp", "stp", "stnp")) else 1
