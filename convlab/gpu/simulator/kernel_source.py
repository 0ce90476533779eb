"""A kernel's own source, made to run: the loops count their iterations, everything else is as it was written.

Each ``for`` and ``while`` becomes

    SIMULATION.path = SIMULATION.path.enter()
    for ...:
        SIMULATION.path = SIMULATION.path.following or SIMULATION.path.next()
        ...
    SIMULATION.path = SIMULATION.path.outer

(a ``while`` may be one that never ends: it asks the simulation, and not the path, for what is next) on the
lines it had, so that every error, and every access, still knows its place in the file. Unsigned numbers that
may wrap around below zero are watched (`wraparound_rewrite`).
"""

from __future__ import annotations

import ast
import dis
import inspect
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType

import numpy as np

from convlab.gpu.kernels import Arithmetic, definition_of
from convlab.gpu.simulator.array_sizes import unfixed_sizes
from convlab.gpu.simulator.casts import literal
from convlab.gpu.simulator.errors import Place
from convlab.gpu.simulator.number_types import NumberTypes
from convlab.gpu.simulator.wraparound_rewrite import WraparoundRewriter, expression, statement
from convlab.gpu.uint32_operations import OPERATIONS

_ENTER = "SIMULATION.path = SIMULATION.path.enter()"
_NEXT = "SIMULATION.path = SIMULATION.path.following or SIMULATION.path.next()"
_NEXT_ROUND = "SIMULATION.path = SIMULATION.path.following or SIMULATION.next_round()"
_LEAVE = "SIMULATION.path = SIMULATION.path.outer"
_WRAPPED = "NUMBER if (NUMBER := NODE).__class__ is not int else NUMBER & 0xFFFFFFFF"  # with no call
_PYTHON = {name: operator() for operator, (name, _) in OPERATIONS.items()}


@dataclass(frozen=True)
class KernelSource:
    """A function's code, with loops that count, and what is known of it.

    Attributes
    ----------
    code : code object
        Names of the function's closure are global names here.
    constants : dict of str to numpy.floating
        The floating-point numbers written in it.
    arrays : dict of (int, int) to str
        Line and column of a call, and the name its value is given: what an array made there is called.
    unfixed : tuple of Mistake
        Arrays whose size is not known when it is compiled.
    """

    code: CodeType
    constants: dict
    arrays: dict
    unfixed: tuple

    def names(self) -> set[str]:
        """Return every global name the code may look up."""
        return {name for code in _codes(self.code) for name in code.co_names}


@lru_cache(maxsize=1024)
def read(function, unsigned: frozenset = frozenset()) -> KernelSource:
    """Return a function's source, rebuilt, once for each function and its arguments that are unsigned."""
    definition = definition_of(function)
    file, types = inspect.getsourcefile(function), NumberTypes(definition, function, unsigned)
    unfixed = tuple(unfixed_sizes(definition, types, file))
    rebuilt = _RebuiltUnsigned() if getattr(function, "is_unsigned", False) else _Rebuilt()
    module = ast.Module([rebuilt.visit(WraparoundRewriter(types).visit(definition))], [])
    code = compile(ast.fix_missing_locations(module), file, "exec")
    [code] = [part for part in code.co_consts if isinstance(part, CodeType)]
    return KernelSource(code, rebuilt.constants, rebuilt.arrays, unfixed)


class _Rebuilt(ast.NodeTransformer):
    def __init__(self):
        self.constants, self.arrays = {}, {}

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        node.decorator_list, node.returns = [], None
        node.args.defaults, node.args.kw_defaults = [], []
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        return node

    def _counted(self, node):
        self.generic_visit(node)
        # A `while` is told from a `for`, which ends. Its test is on the line that is to be named.
        ends = isinstance(node, ast.For)
        node.body.insert(0, statement(_NEXT, node) if ends else statement(_NEXT_ROUND, node.test))
        return [statement(_ENTER, node), node, statement(_LEAVE, node)]

    visit_For = visit_While = _counted

    def visit_Assign(self, node):
        for target in node.targets:
            several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            pairs = zip(target.elts, node.value.elts, strict=True) if several else [(target, node.value)]
            for name, value in pairs:
                if isinstance(name, ast.Name):
                    self.arrays[value.lineno, value.col_offset] = name.id
        return self.generic_visit(node)

    def visit_Constant(self, node):
        # 0.5 is a float64 to Numba: next to a float32 it wins, which a Python float does not.
        value = literal(node.value)
        if not isinstance(value, np.generic):
            return node
        name = f"<{value!r}>"
        self.constants[name] = value
        return ast.copy_location(ast.Name(name, ast.Load()), node)


class _RebuiltUnsigned(Arithmetic, _Rebuilt):
    """The same for a kernel whose whole numbers are uint32: a result that is one wraps around."""

    def visit_BinOp(self, node):
        return self.generic_visit(node) if getattr(node, "wraps_later", False) else super().visit_BinOp(node)

    def operation(self, node, name, *operands):
        left, right = operands
        return expression(_WRAPPED, ast.copy_location(ast.BinOp(left, _PYTHON[name], right), node))


def _codes(code):
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


@lru_cache(maxsize=1024)
def places(code) -> list[Place]:
    """Return the place of every instruction of a code object; `f_lasti` // 2 counts instructions."""
    return [
        Place(code.co_filename, line or 0, column or 0, (end if line == last else column) or 0)
        for line, last, column, end in code.co_positions()
    ]


@lru_cache(maxsize=1024)
def instructions(code) -> list[int]:
    """Return, for every value of `f_lasti` // 2, the instruction it belongs to.

    Since Python 3.11 an instruction is followed by room for what the interpreter learns about it, and once it
    has learned something, `f_lasti` may point into that room.
    """
    starts = [instruction.offset // 2 for instruction in dis.get_instructions(code)]
    ends = [*starts[1:], len(code.co_code) // 2]
    return [start for start, end in zip(starts, ends, strict=True) for _ in range(start, end)]


@lru_cache(maxsize=4096)
def dropped(code, instruction: int) -> bool:
    """Return whether what a call returns, made at this `f_lasti`, is thrown away at once."""
    following = instructions(code)[instruction // 2] + 1
    while instructions(code)[following] != following:
        following += 1
    return dis.opname[code.co_code[2 * following]] == "POP_TOP"
