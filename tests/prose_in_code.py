"""The prose that stands in a Python file of the library, for `prose_numbers` to look at.

Learners read its strings; docstrings they do not. What an f-string puts in was computed, and "□" stands for
it. But a number that was typed is still typed by hand when it goes there by a name: `SAVING = 2.25` and then
f"{SAVING} times". So that stands in the prose as "2.25 times".
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

COMPUTED = "□"


def prose_in(code: str) -> str:
    """Return the strings of a file, each a paragraph, in the order they stand."""
    tree = ast.parse(code)
    return "\n\n".join(_strings(tree, _typed(tree)))


def _strings(node: ast.AST, typed: Mapping[str, float]) -> Iterator[str]:
    """Yield the strings of a part of the file."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(_part(part, typed) for part in node.values)
        for part in node.values:  # an f-string may have others in what it puts in
            if isinstance(part, ast.FormattedValue):
                yield from _strings(part.value, typed)
    elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):  # that is a docstring
        for child in ast.iter_child_nodes(node):
            yield from _strings(child, typed)


def _part(part: ast.expr, typed: Mapping[str, float]) -> str:
    """Return a part of an f-string as it is read."""
    if isinstance(part, ast.Constant):
        return part.value
    value = _by_hand(part.value, typed)
    if value is None:
        return COMPUTED
    spec = part.format_spec
    return format(value, "".join(each.value for each in spec.values) if spec else "")


def _typed(tree: ast.AST) -> dict[str, float]:
    """Return the names that are bound to a number, or to arithmetic of such numbers, and to nothing else."""
    bound: dict[str, list[float | None]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value:
            for target in getattr(node, "targets", None) or [node.target]:
                known = {name: values[-1] for name, values in bound.items() if None not in values}
                several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                pairs = zip(target.elts, node.value.elts, strict=False) if several else [(target, node.value)]
                for name, value in pairs:
                    bound.setdefault(ast.unparse(name), []).append(_by_hand(value, known))
    return {name: values[-1] for name, values in bound.items() if None not in values}


def _by_hand(expression: ast.expr, typed: Mapping[str, float]) -> float | None:
    """Return the value of an expression in which nothing but numbers stand; None of any other."""
    try:
        value = eval(
            compile(ast.Expression(expression), "a number", "eval"), {"__builtins__": {}}, dict(typed)
        )
    except Exception:  # it asks for something else: a function, a library's constant
        return None
    return value if isinstance(value, int | float) else None
