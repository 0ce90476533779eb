"""`check`: is your answer right? (`judge`: is anybody's?) and `reveal`: was your prediction?

Small cases come first, so that the first failure is one you can work out on paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any

import numpy as np

from convlab.lessons import progress
from convlab.lessons.attempt import SECONDS, attempt, not_a_function, said_of_error
from convlab.lessons.borrowed import borrowed
from convlab.lessons.diagnosis import diagnosis
from convlab.lessons.difference import READABLE, difference
from convlab.lessons.exercise import Exercise
from convlab.lessons.exercises import EXERCISES
from convlab.lessons.grids import grids
from convlab.lessons.guard import TimeUp, guarded
from convlab.lessons.kernel_checks import check_kernel
from convlab.lessons.kernel_exercise import KernelExercise
from convlab.lessons.note import Note
from convlab.support.checked import checked
from convlab.support.checks import check_choice, check_number
from convlab.support.measured import Measured


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
        expected, what came out; in `diagnosis` the mistake that it behaves like, if one is recognised.
    """
    check_choice("exercise", name, EXERCISES)
    exercise = EXERCISES[name]
    note = judge(exercise, function, f'check("{name}", {exercise.solution.__name__})')
    if note.good is not None and not exercise.untouched(function):
        progress.record("try", name, good=note.good, diagnosis=note.diagnosis)
    stuck = "" if note.good else f'Stuck? `hint("{name}")` helps you on.'
    note.aside = " ".join(filter(None, (stuck, progress.trouble())))
    return note


def judge(exercise: Exercise | KernelExercise, answer: Any, call: str) -> Note:
    """Try an answer on the cases of any exercise and say how it went; nothing is remembered of it.

    Parameters
    ----------
    exercise : Exercise or KernelExercise
    answer : callable
        A function or a kernel.
    call : str
        How an answer is handed over, for those who hand over something else.
    """
    if isinstance(exercise, KernelExercise):
        return check_kernel(exercise, answer)
    return _check_function(exercise, answer, call)


def _check_function(exercise: Exercise, function: Callable, call: str) -> Note:
    if said := not_a_function(function, exercise):
        return Note(False, said, call)
    outcomes = attempt(function, exercise)
    first = outcomes[0]
    if all(o.got is None and o.error is None for o in outcomes):
        if first.printed:
            where = f"Case 1: {_call(function, exercise, first.arguments)}"
            return Note(
                False,
                "Your function prints, but returns nothing.",
                f"{where}\n\nprinted:\n{first.printed}",
                diagnosis="`print` shows a result to you. Whoever calls the function gets what stands behind "
                "`return`: write `return` in place of `print`.",
            )
        return Note(None, "Not started: the function returns nothing yet.", exercise.statement)
    count = sum(1 for _ in exercise.cases())
    for number, outcome in enumerate(outcomes, 1):
        where = f"Case {number} of {count}: {_call(function, exercise, outcome.arguments)}"
        printed = f"\n\nprinted:\n{outcome.printed}" if outcome.printed else ""
        if outcome.error is not None:
            body = f"{where}\n{said_of_error(outcome.error)}{printed}"
            slow = isinstance(outcome.error, TimeUp)
            title = "Your function takes too long." if slow else "Your function raised an error."
            return Note(False, title, body, diagnosis="" if slow else diagnosis(exercise, outcomes))
        if problem := difference(outcome.expected, outcome.got, exercise.parts):
            body = f"{where}\n{problem}{printed}"
            said = diagnosis(exercise, outcomes)
            picture = "" if exercise.parts else grids(exercise, outcome)
            return Note(False, "Not yet.", body, diagnosis=said, picture=picture)
        if outcome.changed:
            return Note(
                False,
                "Your function changes its input.",
                where,
                diagnosis="The numbers are right, but whoever called you finds other ones in their arrays "
                "afterwards. Work on a copy.",
            )
    if missing := _missing(exercise, function):
        return Note(False, "Right numbers, but not in the way that was asked for.", diagnosis=missing)
    return Note(
        True, f"Right, in all {count} cases.", f"It printed:\n{first.printed}" if first.printed else ""
    )


class _Unwatchable(Exception):
    """A right answer that fails on arrays that watch it: that is not its fault."""


def _missing(exercise: Exercise, function: Callable) -> str:
    """Say what is missing in how a right function works; nothing, where that cannot be seen."""

    def answer(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (TimeUp, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise _Unwatchable from error

    def library(answer: Callable) -> str:
        *_, last = exercise.cases()
        name = borrowed(answer, last, own=function, tools=exercise.tools)
        return (
            f"It calls `{name}`: that is the library's. Write it yourself; NumPy and SciPy may help."
            * bool(name)
        )

    for look in filter(None, (exercise.method, library)):
        with suppress(_Unwatchable, TimeUp), guarded(SECONDS):
            if said := look(answer):
                return said
    return ""


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
    except (TypeError, ValueError, OverflowError):
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


def _call(function: Any, exercise: Exercise, values: Sequence[Any]) -> str:
    """Write the call as the learner could type it, with small arrays below."""
    name = getattr(function, "__name__", "your function")
    named = dict(zip(exercise.arguments, values, strict=True))
    call = f"{name}({', '.join(f'{n}={_brief(v)}' for n, v in named.items())})"
    arrays = [
        _written(n, v)
        for n, v in named.items()
        if isinstance(v, np.ndarray) and v.size <= READABLE and n not in exercise.unprinted
    ]
    return "\n".join([call, *arrays])


def _written(name: str, array: np.ndarray) -> str:
    """Write a small array, whole numbers as such; of a long shape only the axes with more than one entry."""
    long = array.ndim > 2 and 1 in array.shape
    part = f"[{', '.join('0' if size == 1 else ':' for size in array.shape)}]" if long else ""
    shown = np.squeeze(array) if long else array
    whole = array.dtype.kind == "f" and bool((array == np.round(array)).all())
    if whole:
        shown = shown.astype(np.float64)  # of float32, NumPy gives large numbers an exponent
    return f"{name}{part} =\n{np.array2string(shown, separator=', ', suppress_small=whole)}"


def _brief(value: Any) -> str:
    return f"<array {value.shape}>" if isinstance(value, np.ndarray) else repr(value)
