"""`check`: is your answer right? and `reveal`: was your prediction?

Small cases come first, so that the first failure is one you can work out on paper.
"""

from __future__ import annotations

import html
import math
import re
import traceback
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np

from convlab.lessons.exercises import EXERCISES
from convlab.lessons.kernel_exercise import KernelExercise, verdict
from convlab.support.checked import checked
from convlab.support.checks import check_choice, check_number
from convlab.support.measured import Measured

_READABLE = 40  # numbers; arrays up to this size are printed


class Note:
    """A few lines of plain words for the page."""

    def __init__(self, good: bool | None, title: str, body: str = "") -> None:
        self.good, self.title, self.body = good, title, body

    def _repr_html_(self) -> str:
        colour = {True: "#009E73", False: "#D55E00", None: "#9AA0A6"}[self.good]
        # Long lines break between words; Jupyter lets a <pre> break anywhere.
        style = "margin:.4em 0 0;white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere"
        if "\n" in self.body:  # a case with its arrays, whose columns must stand below each other
            style += (
                ";font-family:var(--jp-code-font-family,monospace);font-size:var(--jp-code-font-size,13px)"
            )
        body = f'<pre style="{style}">{_marked(self.body)}</pre>' if self.body else ""
        return (
            f'<div class="convlab-note" style="border-left:4px solid {colour};padding:.3em .9em">'
            f"<strong>{_marked(self.title)}</strong>{body}</div>"
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
        Your answer: the function itself, not what it returns.

    Returns
    -------
    Note
        Passed, not started (it returns None), or the first case that fails: what went in, what was
        expected, what came out.
    """
    check_choice("exercise", name, EXERCISES)
    if not callable(function):
        return Note(False, "Hand over the function itself, without calling it.", f'check("{name}", {name})')
    exercise = EXERCISES[name]
    if isinstance(exercise, KernelExercise):
        return Note(*verdict(exercise, function))
    cases = list(exercise.cases())
    for number, arguments in enumerate(cases, 1):
        kept = [_copy(a) for a in arguments]
        where = f"Case {number} of {len(cases)}: {_call(function, exercise.arguments, kept)}"
        try:
            got = function(*arguments)
        except Exception as error:  # a learner's own bug: say it, do not crash
            return Note(False, "Your function raised an error.", f"{where}\n{_trouble(error)}")
        if got is None and number == 1:
            return Note(None, "Not started: the function returns nothing yet.", exercise.statement)
        if problem := _difference(exercise.answer(*kept), got):
            return Note(False, "Not yet.", f"{where}\n{problem}")
        if any(not np.array_equal(a, b) for a, b in zip(arguments, kept, strict=True)):
            return Note(False, "Your function changes its input.", where)
    return Note(True, f"Right, in all {len(cases)} cases.")


@checked
def reveal(guess: Any, actual: Annotated[float, check_number], unit: str, because: str = "") -> Note:
    """Hold a prediction against what came out.

    Parameters
    ----------
    guess : float or None
        Your number; None as long as you have not committed to one.
    actual : float
        What was computed, or measured (`convlab.support.measured`); a loss is 0 or less.
    unit : str
        The unit of both.
    because : str
        One sentence that explains the number.
    """
    if guess is None:
        return Note(None, "Put your own number in place of None first, then run both cells.")
    try:
        guess = float(guess)
    except (TypeError, ValueError):
        guess = math.nan
    if not 0 < guess < math.inf:
        return Note(None, "A guess is a number above 0: write one in place of what is there.")
    actual = actual if isinstance(actual, Measured) else float(actual)  # a fraction, too
    if getattr(actual, "noisy", False):
        said = (
            f"You said {guess:,.4g}; this machine is too busy to tell. Run the cell again when it is calmer."
        )
        return Note(None, said, because)
    truth, told = float(actual), f"{actual:,.4g}"
    if truth <= 0:
        return Note(False, f"You said {guess:,.4g}; it is {told} {unit}: no gain, a loss.", because)
    ratio = max(guess, truth) / min(guess, truth)
    verdict = "close" if ratio < 1.25 else "within a factor of two" if ratio < 2 else f"off {ratio:.3g} times"
    return Note(ratio < 2, f"You said {guess:,.4g}; it is {told} {unit}: {verdict}.", because)


def trial(kernel: Any, grid: Any, block: Any, *arguments: Any) -> Note:
    """Run a kernel in the lane simulator and say what is wrong with it.

    Parameters
    ----------
    kernel, grid, block, *arguments
        As `convlab.gpu.simulator.run` takes them.
    """
    from convlab.gpu import simulator

    try:
        simulator.run(kernel, grid, block, *arguments).check()
    except simulator.KernelError as error:
        return Note(False, "The lane simulator found a mistake.", str(error))
    return Note(True, "No mistake: no race, nothing out of bounds, nothing read before it was written.")


# -- words -------------------------------------------------------------------------------------------------


def _marked(text: str) -> str:
    """Return text as HTML, with what stands between backticks set as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html.escape(text))


def _call(function: Any, names: Sequence[str], values: Sequence[Any]) -> str:
    """Write the call as the learner could type it, with small arrays below."""
    name = getattr(function, "__name__", "your function")
    call = f"{name}({', '.join(f'{n}={_brief(v)}' for n, v in zip(names, values, strict=True))})"
    arrays = [
        f"{n} =\n{np.array2string(v, separator=', ')}"
        for n, v in zip(names, values, strict=True)
        if isinstance(v, np.ndarray) and v.size <= _READABLE
    ]
    return "\n".join([call, *arrays])


def _trouble(error: Exception) -> str:
    """Say what was raised, and on which line of the learner's code."""
    frames = traceback.extract_tb(error.__traceback__)[1:]  # the first is `check` itself
    said = f"{type(error).__name__}: {error}"
    own = [f for f in frames if "site-packages" not in f.filename] or frames
    return f"{said}\nin line {own[-1].lineno}: {own[-1].line}" if own else said


def _difference(expected: Any, got: Any) -> str:
    """Return in words how `got` differs from `expected`, or nothing if it does not."""
    try:
        given = np.asarray(got)
        numbers = given.astype(np.float64) if given.dtype.kind in "biuf" else None
    except (TypeError, ValueError):  # a ragged list, for instance
        numbers = None
    if numbers is None:
        return f"expected {_kind(expected)}\ngot      a {type(got).__name__}: {str(got)[:80]}"
    if numbers.shape != np.shape(expected):
        return f"expected {_kind(expected)}\ngot      {_kind(numbers)}"
    wrong = ~np.isclose(numbers, expected, rtol=1e-4 if numbers.ndim else 1e-9, atol=0)
    if not wrong.any():
        return ""
    if not numbers.ndim:
        return f"expected {expected}\ngot      {got}"
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    lines = [f"{wrong.sum()} of {wrong.size} numbers differ; the first is at {first}:"]
    lines += [f"expected {expected[first]:g}", f"got      {numbers[first]:g}"]
    if expected.ndim == 2 and np.array_equal(np.sort(numbers, axis=None), np.sort(expected, axis=None)):
        lines += ["", "These are the right numbers in another order: look at the order of the axes."]
    if expected.size <= _READABLE:
        lines += ["", f"expected:\n{np.squeeze(expected)}", f"got:\n{np.squeeze(numbers)}"]
    return "\n".join(lines)


def _kind(value: Any) -> str:
    return f"an array of shape {np.shape(value)}" if np.ndim(value) else f"a number, {value}"


def _brief(value: Any) -> str:
    return f"<array {value.shape}>" if isinstance(value, np.ndarray) else repr(value)


def _copy(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value
