"""Arrays that a kernel makes: their size and type must be known when it is compiled. Numba refuses others."""

from __future__ import annotations

import ast

from convlab.gpu.numba_cuda import cuda
from convlab.gpu.simulator.errors import UNFIXED, Mistake, Place
from convlab.gpu.simulator.number_types import NumberTypes


def unfixed_sizes(definition, types: NumberTypes, file: str) -> list[Mistake]:
    """Return what is wrong with the shared and local arrays that a function makes."""
    found, late = [], set(types.arguments)
    loops = [node for node in ast.walk(definition) if isinstance(node, ast.For)]
    late |= {loop.target.id for loop in loops if isinstance(loop.target, ast.Name)}
    types.spread(late, lambda value: value is not None and _is_late(value, late, types))
    for node in ast.walk(definition):
        if isinstance(node, ast.Call) and (space := _space(node.func)):
            named = {keyword.arg: keyword.value for keyword in node.keywords}
            given = dict(zip(("shape", "dtype"), node.args, strict=False)) | named
            for what, value in given.items():
                typed = what == "dtype" and isinstance(value, ast.Attribute) and value.attr == "dtype"
                if what in ("shape", "dtype") and not typed and _is_late(value, late, types):
                    text = (
                        f"the {what} of this {space} array, {ast.unparse(value)}, is known at run time only;"
                    )
                    text += " Numba compiles it in: it must be a number, a type, or a name from outside"
                    place = Place(file, node.lineno, node.col_offset, node.end_col_offset)
                    found.append(Mistake(UNFIXED, text, place))
    return found


def _space(called) -> str:
    """Return "shared" or "local" if ``cuda.shared.array`` or the like is called."""
    is_array = isinstance(called, ast.Attribute) and called.attr == "array"
    inner = called.value if is_array else None
    return inner.attr if isinstance(inner, ast.Attribute) and inner.attr in ("shared", "local") else ""


def _is_late(node, late, types) -> bool:
    """Return whether an expression is something that only a running thread knows."""
    of_cuda = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    if of_cuda and types.outside.get(node.value.id) is cuda:
        return node.attr != "warpsize"
    if isinstance(node, ast.Name):
        return node.id in late
    return any(_is_late(part, late, types) for part in ast.iter_child_nodes(node))
