"""What an exercise is: everything that is known of it, in one object.

The worked solution comes first, and much follows from it: what the learner is handed (`skeleton`) is the
solution less the lines below "your code here", and most of the named wrong answers are the solution with one
thing changed in its text. What is right, however, is said by an oracle that shares no code with the solution.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from textwrap import dedent
from typing import Any

MARK = "# your code here"


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that has a name.

    Attributes
    ----------
    name : str
        What such an answer does, so that "Yours behaves like one that ..." can be put before it.
    edits : dict of str to str, or callable
        Pieces of the solution's text and what stands there instead; or, if it cannot be said so, the wrong
        function itself.
    meaning : str
        What is behind it: one or two sentences that help on, and do not give the line away.
    """

    name: str
    edits: Mapping[str, str] | Callable[..., Any]
    meaning: str

    def __str__(self) -> str:
        return f"Yours behaves like one that {self.name}. {self.meaning}"


@dataclass(frozen=True, kw_only=True)
class Task:
    """What exercises of all kinds have.

    Attributes
    ----------
    notebook : str
        Number of the notebook it stands in, e.g. "02".
    statement : str
        What is asked, in a sentence.
    solution : callable
        The worked solution: a function or a kernel.
    why : str
        Two sentences on why it is written so.
    hints : tuple of str
        Three, each of which gives away more than the one before.
    mistakes : tuple of Mistake
        At least six. Each fails, and fails in a way of its own.
    faults : dict of str to str
        Where the learner is handed more than the skeleton, code to be mended: what makes it of the solution.
    """

    notebook: str
    statement: str
    solution: Callable[..., Any]
    why: str
    hints: tuple[str, str, str]
    mistakes: tuple[Mistake, ...]
    faults: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def source(self) -> str:
        """The solution's text, with the mark between what is given and what is asked."""
        return dedent(inspect.getsource(getattr(self.solution, "py_func", self.solution)))

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments, in order."""
        return tuple(inspect.signature(getattr(self.solution, "py_func", self.solution)).parameters)

    @property
    def skeleton(self) -> str:
        """What the learner is handed: the solution as far as the mark."""
        lines = self.source.splitlines()
        last = next(i for i, line in enumerate(lines) if MARK in line)
        return "\n".join(lines[: last + 1])

    @property
    def solved(self) -> str:
        """The solution's text as the learner sees it."""
        return "\n".join(line for line in self.source.splitlines() if MARK not in line)

    def untouched(self, answer: Callable[..., Any]) -> bool:
        """Say if an answer is the code that was handed out to be mended, but for comments and blanks."""
        if not self.faults:
            return False
        try:
            text = dedent(inspect.getsource(getattr(answer, "py_func", answer)))
            return ast.dump(ast.parse(text)) == ast.dump(ast.parse(_edited(self.source, self.faults)))
        except (OSError, TypeError, SyntaxError):  # nobody knows its text
            return False

    def wrong(self, *mistakes: Mistake) -> Callable[..., Any] | None:
        """Return an answer that makes these mistakes, or None if they cannot be made together."""
        if len(mistakes) == 1 and callable(mistakes[0].edits):
            return mistakes[0].edits
        text = self.mistaken(*mistakes)
        return self.compiled(text, ", ".join(m.name for m in mistakes)) if text else None

    def mistaken(self, *mistakes: Mistake) -> str:
        """Return the solution's text with these mistakes in it; "" if that is not how they are written."""
        text = self.source
        for mistake in mistakes:
            if callable(mistake.edits) or any(old not in text for old in mistake.edits):
                return ""
            text = _edited(text, mistake.edits)
        return text

    def compiled(self, text: str, title: str) -> Callable[..., Any]:
        """Return the answer whose text this is, in the place of the solution."""
        # The text is known to linecache under its name: the simulator reads a kernel's source.
        file = f"<{self.solution.__name__}: {title}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        plain = getattr(self.solution, "py_func", self.solution)
        names: dict[str, Any] = dict(plain.__globals__)
        names.pop(plain.__name__, None)  # a text without it has none
        exec(compile(text, file, "exec"), names)
        return names[plain.__name__]


def _edited(text: str, edits: Mapping[str, str]) -> str:
    """Put other pieces in place of some, all at once: two of them may change places."""
    pieces = "|".join(map(re.escape, edits))
    return re.sub(pieces, lambda found: edits[found[0]], text) if edits else text


@dataclass(frozen=True, kw_only=True)
class Exercise(Task):
    """An exercise whose answer is a Python function.

    Attributes
    ----------
    cases : callable
        Returns the argument tuples to try. The first can be worked out on paper; later ones tell H from W, R
        from S, N from 1, and have inputs that are no whole numbers.
    answer : callable
        The oracle: what is right for one tuple of arguments. It shares no code with the solution.
    shapes : dict of str to str or tuple of str
        The letters of each array among the arguments, e.g. {"x": "NHWC"}; "return" has those of the result.
        What is wrong is said in them. An axis that is made of several is a string in a tuple: ("NPQ", "RSC").
    window : callable, optional
        ``window(index, *arguments)`` returns the argument that number `index` of the result is made from, as
        (its name, the indices that are read).
    unprinted : tuple of str
        Arguments that would say nothing if they were printed.
    parts : tuple of str
        If the result is several numbers, what each of them is called.
    method : callable, optional
        ``method(function)`` looks at *how* a right function works: what is missing, in words, or "".
    tools : tuple of str
        Files of convlab that an answer may use; all else of the library is what is to be written.
    """

    cases: Callable[[], Iterable[tuple]]
    answer: Callable[..., Any]
    shapes: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    window: Callable[..., tuple[str, list[tuple[int, ...]]]] | None = None
    unprinted: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    method: Callable[[Callable[..., Any]], str] | None = None
    tools: tuple[str, ...] = ("problem.py",)
