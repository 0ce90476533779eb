"""Which mistakes of the course make a round of finding a bug, and which of them a seed takes.

A round shows a worked solution with one line changed. Both texts are written anew from what Python makes of
them: no comment contradicts the line, and no odd spaces or brackets tell that something was taken out.
"""

from __future__ import annotations

import ast
import random
import re
from functools import cache
from itertools import zip_longest

from convlab.lessons.exercise import Mistake, Task
from convlab.lessons.exercises import EXERCISES

BUG = re.compile(r"find_the_bug (\d{1,10})")  # what a round is remembered by; seeds have no more digits
_LONGER = 12  # characters that a mistake may add to its line: what is longer was made up
_LEAST = 4  # lines below the head and the docstring: of fewer, one need not search
_ODD = (  # what nobody writes by mistake, and what a change leaves behind
    r"\b(True|False|pass|if|is)\b",
    r"[*/] [01]\b|\b[01] \*|[+-] 0\b|\b0 [+-] ",
    r"range\([01]\)|\[0:|\((\d+, )\1|\(0, (\d+), \2\)",
)


def plain(task: Task, mistake: Mistake | None = None) -> list[str]:
    """Return the lines of a solution, or of a wrong answer, as Python writes them: with no comments."""
    text = task.source if mistake is None else task.mistaken(mistake)
    return ast.unparse(ast.parse(text)).splitlines()


def wrong_line(task: Task, mistake: Mistake) -> int:
    """Return the number of the only line that a mistake changes, counted from 1; 0 if it is not one line."""
    return _differ(plain(task), plain(task, mistake))


def _differ(right: list[str], wrong: list[str]) -> int:
    """Return the number of the only line in which two texts differ; 0 if that is not one line."""
    off = [n for n, pair in enumerate(zip_longest(right, wrong), 1) if pair[0] != pair[1]]
    return off[0] if len(off) == 1 and len(right) == len(wrong) else 0


def serves(task: Task, mistake: Mistake, right: list[str]) -> bool:
    """Return whether a mistake makes a round: one line of the right ones, and nothing that gives it away."""
    if callable(mistake.edits):
        return False
    wrong = plain(task, mistake)
    line = _differ(right, wrong)
    if not line:
        return False
    (reads, sets), (reads_now, sets_now) = _names(right), _names(wrong)
    if reads - reads_now or reads_now - reads or sets != sets_now:
        return False  # a name that is there for nothing, or one that is new
    before, after = right[line - 1].strip(), wrong[line - 1].strip()
    odd = any(len(re.findall(o, after)) > len(re.findall(o, before)) for o in _ODD)
    return before != after and not odd and len(after) <= len(before) + _LONGER


def _names(lines: list[str]) -> tuple[set[str], set[str]]:
    """Return the names that a text reads, attributes among them, and those that it gives a value."""
    nodes = [node for node in ast.walk(ast.parse("\n".join(lines)))]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    read |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return read, {node.id for node in names if isinstance(node.ctx, ast.Store)}


def _body(task: Task) -> list[str]:
    """Return the lines below the head and the docstring."""
    (function,) = ast.parse(task.source).body
    assert isinstance(function, ast.FunctionDef)
    function.body = function.body[ast.get_docstring(function) is not None :]
    return "\n".join(map(ast.unparse, function.body)).splitlines()


@cache
def rounds() -> tuple[tuple[str, tuple[Mistake, ...]], ...]:
    """Return the exercises of which there are rounds, and for each the mistakes, both shuffled once."""
    shuffle = random.Random(17).shuffle
    found = []
    for name, task in EXERCISES.items():
        if name == "mend" or len(_body(task)) < _LEAST:  # the former is a round itself
            continue
        right = plain(task)
        mistakes = [mistake for mistake in task.mistakes if serves(task, mistake, right)]
        shuffle(mistakes)
        found += [(name, tuple(mistakes))] if mistakes else []
    shuffle(found)
    return tuple(found)


def round_of(seed: int) -> tuple[str, Mistake]:
    """Return the exercise and the mistake of a round; of neighbouring seeds no two share the exercise."""
    again, which = divmod(seed, len(rounds()))
    name, mistakes = rounds()[which]
    return name, mistakes[again % len(mistakes)]
