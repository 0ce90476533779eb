"""`check`: is your answer right? and `reveal`: was your prediction?

Small cases come first, so that the first failure is one you can work out on paper.
"""

from __future__ import annotations

import html
from collections.abc import Callable

import numpy as np

from convlab.errors import ParameterError
from convlab.lessons.exercises import EXERCISES


class Note:
    """A few lines of plain words for the page."""

    def __init__(self, good: bool | None, title: str, body: str = ""):
        self.good, self.title, self.body = good, title, body

    def _repr_html_(self) -> str:
        colour = {True: "#009E73", False: "#D55E00", None: "#9AA0A6"}[self.good]
        style = "margin:.4em 0 0;white-space:pre-wrap"
        body = f'<pre style="{style}">{html.escape(self.body)}</pre>' if self.body else ""
        return (
            f'<div class="convlab-note" style="border-left:4px solid {colour};padding:.3em .9em">'
            f"<strong>{html.escape(self.title)}</strong>{body}</div>"
        )

    def __repr__(self) -> str:
        return f"{self.title}\n{self.body}".strip()


def check(name: str, function: Callable) -> Note:
    """Try your function on the exercise's cases and say how it went.

    Parameters
    ----------
    name : str
        The exercise, e.g. "output_size".
    function : callable
        Your answer.

    Returns
    -------
    Note
        Passed, not started (it returns None), or the first case that fails: what went in, what was
        expected, what came out.
    """
    if name not in EXERCISES:
        raise ParameterError(f"exercise={name!r}; expected one of {', '.join(EXERCISES)}")
    exercise = EXERCISES[name]
    cases = list(exercise.cases())
    for number, arguments in enumerate(cases, 1):
        kept = [_copy(a) for a in arguments]
        where = f"Case {number} of {len(cases)}: {function.__name__}({', '.join(map(_brief, kept))})"
        try:
            got = function(*arguments)
        except Exception as error:  # a learner's own bug: say it, do not crash
            return Note(False, "Your function raised an error.", f"{where}\n{type(error).__name__}: {error}")
        if got is None:
            return Note(None, "Not started: the function returns nothing yet.", exercise.statement)
        if problem := _difference(exercise.answer(*kept), got):
            return Note(False, "Not yet.", f"{where}\n{problem}")
        if any(not np.array_equal(a, b) for a, b in zip(arguments, kept, strict=True)):
            return Note(False, "Your function changes its input.", where)
    return Note(True, f"Right, in all {len(cases)} cases.")


def reveal(guess: float | None, actual: float, unit: str, because: str = "") -> Note:
    """Hold a prediction against what came out.

    Parameters
    ----------
    guess : float or None
        Your number; None as long as you have not committed to one.
    actual : float
        What was computed or measured.
    unit : str
        The unit of both.
    because : str
        One sentence that explains the number.
    """
    answer = f"{actual:,.4g} {unit}"
    if guess is None:
        return Note(None, "Put your own number in place of None first, then run both cells.", "")
    ratio = max(guess, actual) / max(min(guess, actual), 1e-300)
    verdict = "close" if ratio < 1.25 else "within a factor of two" if ratio < 2 else f"off {ratio:.3g} times"
    return Note(ratio < 2, f"You said {guess:,.4g}; it is {answer}: {verdict}.", because)


def _difference(expected, got) -> str:
    """Return in words how `got` differs from `expected`, or nothing if it does not."""
    if not isinstance(expected, np.ndarray):
        if np.ndim(got) == np.ndim(expected) and np.allclose(got, expected, rtol=1e-9):
            return ""
        return f"expected {expected}\ngot      {got}"
    got = np.asarray(got)
    if got.shape != expected.shape:
        return f"expected shape {expected.shape}\ngot shape      {got.shape}"
    wrong = ~np.isclose(got, expected, rtol=1e-4, atol=1e-4)
    if not wrong.any():
        return ""
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    lines = [f"{wrong.sum()} of {wrong.size} numbers differ; the first is at {first}"]
    lines += [f"expected {expected[first]:g}", f"got      {got[first]:g}"]
    if expected.size <= 40:
        lines += ["", f"expected:\n{np.squeeze(expected)}", f"got:\n{np.squeeze(got)}"]
    return "\n".join(lines)


def _brief(value) -> str:
    return f"array of shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)


def _copy(value):
    return value.copy() if isinstance(value, np.ndarray) else value
