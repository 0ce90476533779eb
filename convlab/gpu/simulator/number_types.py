"""What the source says of a kernel's numbers, before it runs: which are unsigned, which have a fraction.

Whole numbers are Python's while a kernel runs, and do not know their type. But where two unsigned numbers
meet, a result below zero is a large number on the device; and an index that was divided by / is none, though
it be whole. A name is unsigned if all that it is ever given is, as Numba's rules have it: unsigned with
unsigned is unsigned, and with a literal, which is signed, it is signed. In a kernel that counts with uint32
by rule (`convlab.gpu.kernels`) literals, shapes and the places of threads are unsigned as well.
"""

from __future__ import annotations

import ast
from collections import ChainMap
from types import ModuleType

import numpy as np

from convlab.gpu.kernels import PLACES
from convlab.gpu.numba_cuda import cuda
from convlab.gpu.simulator.casts import as_dtype, is_number_type

ARITHMETIC = ast.Add, ast.Sub, ast.Mult
_KEEPS = *ARITHMETIC, ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr, ast.BitXor
# What hashes are made of, and places in memory are not: some operations, and large factors.
_MIXES = ast.BitXor, ast.BitOr, ast.LShift, ast.Invert
_LARGE = 1 << 16
# What all threads of a block share, of `cuda`.
_SAME = {"blockIdx", "blockDim", "gridDim", "gridsize", "warpsize", "shared", "local", "const"}


class NumberTypes:
    """The names of one function.

    Parameters
    ----------
    definition : ast.FunctionDef
    function : callable
        Whose source it is.
    unsigned : collection of str
        Arguments that are unsigned, or arrays of such numbers.

    Attributes
    ----------
    by_rule : bool
        Whether its whole numbers are uint32 by rule.
    assigned : list of (str, ast.expr or None)
        All that names are given; None is something unknown.
    """

    def __init__(self, definition, function, unsigned=()):
        self.outside, self.by_rule = outside(function), getattr(function, "is_unsigned", False)
        self.arguments = {argument.arg for argument in ast.walk(definition) if isinstance(argument, ast.arg)}
        self.assigned = [(name, value) for node in ast.walk(definition) for name, value in _given(node)]
        self.given = {name for name, _ in self.assigned} | self.arguments
        unsigned = self._unsigned = set(unsigned) | (self.given - self.arguments)
        while wrong := {name for name, value in self.assigned if not self.is_unsigned(value)} & unsigned:
            unsigned -= wrong
        self._fractions, self._mixed, self._lowered, self._varying = set(), set(), set(), set()
        for names, test in (
            (self._fractions, self.is_fraction),
            (self._mixed, self.is_mixed),
            (self._lowered, self.is_lowered),
            (self._varying, self.is_varying),
        ):
            self.spread(names, test)

    def spread(self, names: set[str], test) -> None:
        """Add to some names all that are given a value of their kind, as `test` knows it by the names."""
        while found := {name for name, value in self.assigned if name not in names and test(value)}:
            names |= found

    def cast(self, node) -> np.dtype | None:
        """Return the type that a call casts to, if it is a cast."""
        if not isinstance(node, ast.Call):
            return None
        called = node.func
        value = self.outside.get(called.id) if isinstance(called, ast.Name) else None
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            module = self.outside.get(called.value.id)
            value = getattr(module, called.attr, None) if isinstance(module, ModuleType) else None
        return as_dtype(value) if is_number_type(value) else None

    def is_unsigned(self, node) -> bool:
        """Return whether an expression is an unsigned number."""
        if self.by_rule and self._is_unsigned_by_rule(node):
            return True
        if isinstance(node, ast.Name):
            return node.id in self._unsigned or isinstance(self.outside.get(node.id), np.unsignedinteger)
        if isinstance(node, ast.Subscript):
            return isinstance(node.value, ast.Name) and self.is_unsigned(node.value)
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, ast.RShift | ast.LShift):
                return self.is_unsigned(node.left)
            return (
                isinstance(node.op, _KEEPS) and self.is_unsigned(node.left) and self.is_unsigned(node.right)
            )
        if isinstance(node, ast.IfExp):
            return self.is_unsigned(node.body) and self.is_unsigned(node.orelse)
        if isinstance(node, ast.Call):
            dtype = self.cast(node)
            if dtype is None and isinstance(node.func, ast.Name) and node.func.id in ("min", "max", "range"):
                return bool(node.args) and all(map(self.is_unsigned, node.args))
            return dtype is not None and dtype.kind == "u"
        return False

    def _is_unsigned_by_rule(self, node) -> bool:
        """Return whether an expression that is no operation is a uint32 to a kernel that counts with them."""
        if isinstance(node, ast.Constant):
            return type(node.value) is int
        if isinstance(node, ast.Name):
            return node.id not in self.given and type(self.outside.get(node.id)) is int
        if isinstance(node, ast.Subscript):
            return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Attribute) and node.func.attr == "grid"
        where = node.value if isinstance(node, ast.Attribute) else None
        return isinstance(where, ast.Attribute) and where.attr in PLACES

    def is_fraction(self, node) -> bool:
        """Return whether an expression is a floating-point number."""
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, ast.Div) or self.is_fraction(node.left) or self.is_fraction(node.right)
        if isinstance(node, ast.UnaryOp):
            return self.is_fraction(node.operand)
        if isinstance(node, ast.IfExp):
            return self.is_fraction(node.body) or self.is_fraction(node.orelse)
        if isinstance(node, ast.Constant):
            return isinstance(node.value, float)
        dtype = self.cast(node)
        return (dtype is not None and dtype.kind == "f") or (
            isinstance(node, ast.Name) and node.id in self._fractions
        )

    def is_mixed(self, node) -> bool:
        """Return whether an expression is made of bits, as hashes are: it wraps around, and may."""
        return node is not None and any(
            isinstance(part, _MIXES)
            or (isinstance(part, ast.Constant) and isinstance(part.value, int) and part.value >= _LARGE)
            or (isinstance(part, ast.Name) and part.id in self._mixed)
            for part in ast.walk(node)
        )

    def is_lowered(self, node) -> bool:
        """Return whether an expression is unsigned, and something was subtracted to get it."""
        if node is None or self.is_mixed(node):
            return False
        if isinstance(node, ast.BinOp):
            lowered = isinstance(node.op, ast.Sub) or any(map(self.is_lowered, (node.left, node.right)))
            return isinstance(node.op, ARITHMETIC) and self.is_unsigned(node) and lowered
        if isinstance(node, ast.IfExp):
            return self.is_lowered(node.body) or self.is_lowered(node.orelse)
        if isinstance(node, ast.Call):
            cast = self.cast(node) is not None
            return self.is_unsigned(node) and any(
                self.is_lowered(part) or (cast and self.subtracts(part)) for part in node.args
            )
        return isinstance(node, ast.Name) and node.id in self._lowered

    def is_varying(self, node) -> bool:
        """Return whether an expression is another one for every thread, as an index is and a bound is not."""
        if node is None:
            return False
        named = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if named and self.outside.get(node.value.id) is cuda:
            return node.attr not in _SAME
        if isinstance(node, ast.Name):
            return node.id in self._varying
        return any(map(self.is_varying, ast.iter_child_nodes(node)))

    def subtracts(self, node) -> bool:
        """Return whether sums and products of an expression have a difference in them."""
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ARITHMETIC):
            return False
        return isinstance(node.op, ast.Sub) or self.subtracts(node.left) or self.subtracts(node.right)


def outside(function) -> ChainMap:
    """Return everything a function finds outside of itself, by its name."""
    closure = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            closure[name] = cell.cell_contents
        except ValueError:  # not given a value yet
            continue
    return ChainMap(closure, function.__globals__)


def _given(node):
    """Yield the names that a statement gives a value to, and the values."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _targets(target, node.value)
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        name = ast.Name(node.target.id, ast.Load())
        yield node.target.id, ast.copy_location(ast.BinOp(name, node.op, node.value), node)
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and isinstance(node.target, ast.Name):
        yield node.target.id, node.value
    elif isinstance(node, ast.For):
        yield from _targets(node.target, node.iter)


def _targets(target, value):
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List):
        same = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
        for i, part in enumerate(target.elts):
            yield from _targets(part, value.elts[i] if same else None)
