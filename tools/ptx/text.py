"""PTX, taken apart: a module's kernel, its parameters, its arrays and its instructions.

PTX ISA, "Syntax" and "State Spaces, Types, and Variables".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from convlab.errors import ConvError

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\((.*?)\)([^{;]*)\{(.*)\}", re.DOTALL)
_PARAMETER = re.compile(r"\.param\s+\.(\w+)\s+([\w$]+)")
_ARRAY = re.compile(
    r"\.(shared|const|global|local)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$]+)\s*(?:\[(\d*)\])?"
    r"\s*(?:=\s*(?:\{([^}]*)\}|([^;]*)))?;"
)
_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+([^;]+);")
_RANGE = re.compile(r"(%?[\w$]+)<(\d+)>")
_STATEMENT = re.compile(r"\s*(?:@(!?)(%?[\w$]+)\s+)?([a-z][\w.:]*)\s*(.*)", re.DOTALL)
_TOP_LEVEL_COMMA = re.compile(r",(?![^{\[]*[}\]])")


class PtxError(ConvError):
    """PTX that cannot be read, or has an instruction that no table here has."""


@dataclass(frozen=True)
class Instruction:
    """One instruction: `opcode` with all that follows its name, "setp.lt.u32", and its operands as written.

    Attributes
    ----------
    guard : str
        The predicate that says which threads take part, or "" for all.
    negated : bool
        Those for which it is false.
    """

    opcode: str
    operands: tuple[str, ...] = ()
    guard: str = ""
    negated: bool = False

    def __str__(self) -> str:
        guard = f"@{'!' * self.negated}{self.guard} " if self.guard else ""
        return f"{guard}{self.opcode} {', '.join(self.operands)}".strip()


@dataclass(frozen=True)
class Array:
    """An array that the module declares: where it lies, its bytes, and what is in it if given."""

    space: str
    name: str
    kind: str
    size: int
    align: int
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kernel:
    """A kernel as text: parameters in order as (name, kind); labels by the instruction they stand before."""

    name: str
    target: str
    parameters: tuple[tuple[str, str], ...]
    arrays: tuple[Array, ...]
    registers: dict[str, str]  # name, or what comes before the number -> type
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]

    @cached_property
    def opcodes(self) -> frozenset[str]:
        """The opcodes that occur."""
        return frozenset(one.opcode for one in self.instructions)

    @cached_property
    def _kinds(self) -> dict[str, str | None]:
        return {}

    def register_kind(self, name: str) -> str | None:
        """Return the declared type of a register, or None if there is none of that name."""
        if name not in self._kinds:
            several = name.rstrip("0123456789") + "<>"
            self._kinds[name] = self.registers.get(name) or self.registers.get(several)
        return self._kinds[name]


def parse(ptx: str) -> Kernel:
    """Return the one kernel of a module.

    Raises
    ------
    PtxError
        If there is no kernel, or more than one, or a statement that is none.
    """
    ptx = _COMMENT.sub("", ptx)
    target = re.search(r"\.target\s+(\w+)", ptx)
    entry = _ENTRY.search(ptx)
    if not target or not entry or ptx.count(".entry") != 1 or ".func" in ptx:
        raise PtxError("expected a module with one kernel, and no other function")
    name, parameters, _, body = entry.groups()
    instructions, labels = _statements(body)
    return Kernel(
        name,
        target[1],
        tuple((parameter, kind) for kind, parameter in _PARAMETER.findall(parameters)),
        tuple(map(_array, _ARRAY.findall(ptx))),
        dict(_declared(body)),
        instructions,
        labels,
    )


def _array(match: tuple[str, ...]) -> Array:
    space, align, kind, name, count, values, value = match
    width = int(kind[1:]) // 8
    given = tuple(part.strip() for part in (values or value).split(",") if part.strip())
    return Array(space, name, kind, width * int(count or not match[4]), int(align or width), given)


def _declared(body: str):
    for kind, names in _REGISTERS.findall(body):
        for name in map(str.strip, names.split(",")):
            several = _RANGE.fullmatch(name)
            yield (several[1] + "<>" if several else name), kind


def _statements(body: str) -> tuple[tuple[Instruction, ...], dict[str, int]]:
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    for text in re.sub(r"([\w$]+):(?!:)", r"\1:;", body).split(";"):
        text = re.sub(r"^\s*[{}](?=\s|$)|(?<=\s)[{}]\s*$", "", text).strip()  # a block of its own
        if not text or text.startswith("."):
            continue
        if text.endswith(":"):
            labels[text[:-1]] = len(instructions)
            continue
        match = _STATEMENT.fullmatch(text)
        if not match:
            raise PtxError(f"not an instruction: {text!r}")
        negated, guard, opcode, operands = match.groups()
        parts = tuple(part.strip() for part in _TOP_LEVEL_COMMA.split(operands)) if operands else ()
        instructions.append(Instruction(opcode, parts, guard or "", bool(negated)))
    return tuple(instructions), labels
