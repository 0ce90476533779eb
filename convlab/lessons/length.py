"""How long a notebook keeps a reader: the same rule for all of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

HIDDEN = "hide-input"  # the tag of a cell whose code is folded away

_WORDS_PER_MINUTE, _LINES_PER_MINUTE = 200, 15
_PREDICTION, _EXERCISE, _WIDGET = 1.5, 8, 3  # minutes


@dataclass(frozen=True)
class Length:
    """What there is to read and to do in some cells."""

    words: int = 0
    lines: int = 0  # of code that is shown
    predictions: int = 0
    exercises: int = 0
    widgets: int = 0

    @property
    def minutes(self) -> float:
        """How long that takes, about."""
        reading = self.words / _WORDS_PER_MINUTE + self.lines / _LINES_PER_MINUTE
        return reading + _PREDICTION * self.predictions + _EXERCISE * self.exercises + _WIDGET * self.widgets


def length(cells: Iterable[dict]) -> Length:
    """Return how much there is in the cells of a notebook, as its file has them."""
    words = lines = 0
    imported: set[str] = set()
    called: list[ast.Call] = []
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            words += len(re.sub(r"<[^>]*>", " ", text).split())
        elif cell["cell_type"] == "code":
            if HIDDEN not in cell.get("metadata", {}).get("tags", ()):
                lines += sum(bool(line.strip()) for line in text.splitlines())
            imported |= set(_widgets(text))
            called += calls(text)
    names = [name_of(call) for call in called]
    return Length(
        words,
        lines,
        sum(map(is_prediction, called)),
        len({ast.unparse(call.args[0]) for call in called if name_of(call) == "check" and call.args}),
        sum(name in imported for name in names),
    )


def is_prediction(call: ast.Call) -> bool:
    """Say if a call asks for a prediction: notebook 16 predicts times, with a function of the same name."""
    return name_of(call) == "predict" and any(keyword.arg == "question" for keyword in call.keywords)


def name_of(call: ast.Call) -> str:
    """Return the name of what is called, "" if it has none."""
    return getattr(call.func, "id", "")


def calls(code: str) -> Iterator[ast.Call]:
    """Yield the calls in a cell."""
    yield from (node for node in _nodes(code) if isinstance(node, ast.Call))


def _widgets(code: str) -> Iterator[str]:
    for node in _nodes(code):
        if isinstance(node, ast.ImportFrom) and node.module in ("convlab.widgets", "convlab.interview"):
            yield from (alias.asname or alias.name for alias in node.names)


def _nodes(code: str) -> Iterator[ast.AST]:
    try:
        yield from ast.walk(ast.parse(code))
    except (SyntaxError, ValueError):  # half of it typed, or a magic
        return
