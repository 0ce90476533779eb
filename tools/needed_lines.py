"""Of a notebook's lines only those that something needs: run, and what it shows is returned."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat


def last_shown(notebook: Path, source: str) -> Any:
    """Return what the last line of a cell shows."""
    lines = lines_of(notebook, until=source)

    def is_it(line: ast.stmt) -> bool:
        return line is lines[-1]

    (shown,) = run_lines(needed_lines(lines, is_it), is_it)
    return shown


def lines_of(notebook: Path, until: str | None = None) -> list[ast.stmt]:
    """Return the lines of code of a notebook, those of the cell `until` the last."""
    cells = [cell.source for cell in nbformat.read(notebook, as_version=4).cells if cell.cell_type == "code"]
    if until is not None:
        cells = cells[: cells.index(until) + 1]
    return [line for cell in cells for line in ast.parse(cell).body]


def needed_lines(lines: list[ast.stmt], is_shown: Callable[[ast.stmt], bool]) -> list[ast.stmt]:
    """Return the lines that show something, and those that make the names they use."""
    kept, used = [], set()
    for line in reversed(lines):
        made, uses = _names(line)
        if is_shown(line) or used & made:
            kept.append(line)
            used |= uses
    return kept[::-1]


def run_lines(lines: list[ast.stmt], is_shown: Callable[[ast.stmt], bool]) -> list[Any]:
    """Run lines as a notebook does, and return what is shown."""
    names: dict[str, object] = {"__name__": "__main__"}
    found = []
    for line in lines:
        if is_shown(line) and isinstance(line, ast.Expr):
            found.append(eval(compile(ast.Expression(line.value), "<notebook>", "eval"), names))
        else:
            exec(compile(ast.Module([line], []), "<notebook>", "exec"), names)
    return found


def _names(line: ast.stmt) -> tuple[set[str], set[str]]:
    """Return the names that a line makes or writes into, and those it uses; a function's own are neither."""
    whole = symtable.symtable(ast.unparse(line), "line", "exec")
    made = {one.get_name() for one in whole.get_symbols() if one.is_assigned() or one.is_imported()}
    written = [node for node in ast.walk(line) if isinstance(node, ast.Subscript)]
    made |= {ast.unparse(node.value) for node in written if isinstance(node.ctx, ast.Store)}
    used, tables = set(), [whole]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        used |= {one.get_name() for one in table.get_symbols() if table is whole or one.is_global()}
    return made, used
