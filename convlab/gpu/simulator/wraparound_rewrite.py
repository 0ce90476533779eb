"""Numbers watched while a kernel runs: unsigned ones that wrap below zero, and fractions that are an index.

`WraparoundRewriter` puts questions into a kernel's source where its `NumberTypes` say that they may be of
use, and nowhere else; `wraparound_checks` answers them. A number that wraps is no mistake: hashes do it all
the time, and ``uint32(row - 1) < rows`` is a common way to ask for both bounds at once. It is one

    if it is the index of an access                        x[uint32(i - 1)], where i is 0
    if it is the bound that lets an access be made         if i < uint32(n - 4): y[i] = ..., where n is 3
    if it is how often a loop goes round                   for i in range(n - k)
"""

from __future__ import annotations

import ast

from convlab.gpu.ptx import Instruction
from convlab.gpu.simulator.number_types import ARITHMETIC, NumberTypes

SIMULATION = "<simulation>"  # a name no kernel can have
_NAMES = {"SIMULATION": SIMULATION, "NUMBER": "<number>"}
_WORD, _LONG = (1 << 32) - 1, (1 << 64) - 1
_EXITS = ast.Return, ast.Continue, ast.Break
_ORDERS = ast.Lt, ast.LtE, ast.Gt, ast.GtE


class WraparoundRewriter(ast.NodeTransformer):
    """Rewrites the source of one function.

    In one whose numbers are uint32 by rule, an operation that is watched here is marked `wraps_later`: what
    it gives is brought into range by the watch, and not by the rule.
    """

    def __init__(self, types: NumberTypes):
        self._types, self._inside, self._tests = types, False, 0
        self._limit = _WORD if types.by_rule else _LONG  # the largest number of those that are watched

    # -- where numbers wrap ----------------------------------------------------------------------------------

    def visit_BinOp(self, node):
        inside, types = self._inside, self._types
        whole = isinstance(node.op, ARITHMETIC) and types.is_unsigned(node)
        self._inside = whole
        text = ast.unparse(node) if not inside else ""
        self.generic_visit(node)
        self._inside = inside
        if inside:
            node.wraps_later = whole
            return node
        if not whole:
            if types.by_rule:
                return node
            if isinstance(node.op, ast.Sub) and types.is_unsigned(node.left) and not types.is_fraction(node):
                return expression(
                    f"NUMBER if (NUMBER := NODE) >= 0 else SIMULATION.watch.sinks(NUMBER, {text!r})", node
                )
            return node
        if types.is_mixed(node):
            return expression(f"NODE & {self._limit}", node)
        node.wraps_later = True
        return expression(
            f"NUMBER if 0 <= (NUMBER := NODE) <= {self._limit} else "
            f"SIMULATION.watch.wraps(NUMBER, {text!r}, {self._limit})",
            node,
        )

    def visit_AugAssign(self, node):
        if isinstance(node.target, ast.Name) and isinstance(node.op, ARITHMETIC):
            name = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
            value = ast.copy_location(ast.BinOp(name, node.op, node.value), node)
            if self._types.is_unsigned(value):
                return ast.copy_location(ast.Assign([node.target], self.visit(value)), node)
        return self._outermost(node)

    def visit_Call(self, node):
        dtype, types = self._types.cast(node), self._types
        if not types.by_rule and dtype is not None and dtype.kind == "u" and len(node.args) == 1:
            [value] = node.args
            if types.subtracts(value) and not types.is_mixed(value):
                text, self._inside = ast.unparse(value), True
                value = self.generic_visit(value)
                self._inside = False
                wraps = f"SIMULATION.watch.wraps(NUMBER, {text!r}, {_LONG})"
                node.args = [expression(f"NUMBER if (NUMBER := NODE) >= 0 else {wraps}", value)]
                return node
        wrong = self._takes_index(node.func) and len(node.args) > 1 and types.is_fraction(node.args[1])
        node = self._outermost(node)
        if wrong:
            node.args[1] = expression("SIMULATION.watch.index(NODE)", node.args[1])
        return node

    def _takes_index(self, called):
        """Return whether an array and an index are what a function takes first."""
        if isinstance(called, ast.Name):
            return isinstance(self._types.outside.get(called.id), Instruction)
        return isinstance(called, ast.Attribute) and getattr(called.value, "attr", "") == "atomic"

    def _outermost(self, node):
        inside, self._inside = self._inside, False
        node = self.generic_visit(node)
        self._inside = inside
        return node

    # -- where they are used ---------------------------------------------------------------------------------

    def visit_Subscript(self, node):
        index = node.slice
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        wrong = [self._types.is_fraction(part) for part in parts]
        node = self._outermost(node)
        if any(wrong):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            pairs = zip(parts, wrong, strict=True)
            parts = [expression("SIMULATION.watch.index(NODE)", part) if bad else part for part, bad in pairs]
            node.slice = (
                ast.copy_location(ast.Tuple(parts, ast.Load()), index) if len(parts) > 1 else parts[0]
            )
        return node

    def visit_For(self, node):
        is_range = isinstance(node.iter, ast.Call) and getattr(node.iter.func, "id", "") == "range"
        ends = node.iter.args if is_range else []
        watched = [self._types.is_fraction(end) for end in ends]
        if ends:
            stop = min(len(ends), 2) - 1
            watched[stop] = watched[stop] or self._types.is_lowered(ends[stop])
        node = self._outermost(node)
        for i in (i for i, asked in enumerate(watched) if asked):
            node.iter.args[i] = expression("SIMULATION.watch.rounds(NODE)", node.iter.args[i])
        return node

    def visit_FunctionDef(self, node):
        self._indices = _names_of_indices(node)
        return self.generic_visit(node)

    def visit_If(self, node):
        # Where the body leaves the function or the loop, all that follows is let by.
        leaves = isinstance(node.body[-1], _EXITS)
        let_by = self._indices if leaves else _names_of_indices(*node.orelse)
        return self._guard(node, _names_of_indices(*node.body), let_by)

    def visit_While(self, node):
        return self._guard(node, _names_of_indices(*node.body), set())

    def visit_IfExp(self, node):
        return self._guard(node, _names_of_indices(node.body), _names_of_indices(node.orelse))

    def _guard(self, node, indices_in: set[str], indices_by: set[str]):
        """Watch the test of a branch; say in each arm, if it has an index to guard, that it was passed."""
        let_in, let_by = self._bounds(node.test)
        passes = f"SIMULATION.watch.passes({self._tests})"
        node = self._outermost(node)
        for arm, guarded in (("body", let_in & indices_in), ("orelse", let_by & indices_by)):
            if guarded:
                inside = getattr(node, arm)
                if isinstance(inside, list):
                    inside.insert(0, statement(passes, node.test))
                else:
                    setattr(node, arm, expression(f"{passes} or NODE", inside))
        return node

    def _bounds(self, test) -> tuple[set[str], set[str]]:
        """Watch what may have wrapped in a test, and is held against something.

        Return the names of what is below such a number if the test is true, and if it is not.
        """
        self._tests += 1
        let_in, let_by = set(), set()
        for node in ast.walk(test):
            if not isinstance(node, ast.Compare) or len(node.ops) > 1 or not isinstance(node.ops[0], _ORDERS):
                continue
            left, right = node.left, node.comparators[0]
            upwards = isinstance(node.ops[0], ast.Lt | ast.LtE)
            if self._is_bound(right, left):
                (let_in if upwards else let_by).update(self._names(left))
                node.comparators = [self._watched(right)]
            elif self._is_bound(left, right):
                (let_by if upwards else let_in).update(self._names(right))
                node.left = self._watched(left)
        return let_in, let_by

    def _is_bound(self, node, index) -> bool:
        """Return whether an expression may have wrapped, one for all threads; `index` is each one's own."""
        types = self._types
        return types.is_lowered(node) and types.is_varying(index) and not types.is_varying(node)

    def _names(self, node) -> set[str]:
        return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} & self._types.given

    def _watched(self, high):
        return expression(f"SIMULATION.watch.bound(NODE, {self._tests})", high)


def _names_of_indices(*nodes) -> set[str]:
    """Return the names that are in the index of any access, or an argument of a call."""
    found = set()
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Subscript):
                found |= {name.id for name in ast.walk(part.slice) if isinstance(name, ast.Name)}
            elif isinstance(part, ast.Call):
                found |= {name.id for name in part.args if isinstance(name, ast.Name)}
    return found


def expression(text, node):
    """Return an expression where NODE is the node given, as if it stood in its place."""
    return statement(text, node).value


def statement(text, node):
    """Return a statement as if it stood where a node stands; NODE in it is that node."""
    [tree] = ast.parse(text).body
    for part in ast.walk(tree):
        ast.copy_location(part, node)
    return _Placed(node).visit(tree)


class _Placed(ast.NodeTransformer):
    def __init__(self, node):
        self._node = node

    def visit_Name(self, name):
        name.id = _NAMES.get(name.id, name.id)
        return self._node if name.id == "NODE" else name
