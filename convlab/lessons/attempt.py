"""One try of a learner's function on all cases of an exercise: what went in, what came out."""

from __future__ import annotations

import copy
import inspect
import linecache
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np

from convlab.lessons.difference import kept
from convlab.lessons.exercise import Exercise
from convlab.lessons.guard import TimeUp, guarded, of_a_library
from convlab.lessons.unwritten import unwritten_shows

SECONDS = 7.0  # for all cases together


@dataclass
class Outcome:
    """What came of one case.

    Attributes
    ----------
    arguments : tuple
        What went in, as it was before.
    expected, got : object
        What the oracle says, and what the function returned, as `kept` keeps it.
    error : BaseException or None
        What it raised instead; `TimeUp` if it did not return in time.
    printed : str
        The first lines that it printed.
    changed : bool
        Whether it changed its input.
    """

    arguments: tuple
    expected: Any
    got: Any = None
    error: BaseException | None = None
    printed: str = ""
    changed: bool = False


def not_a_function(function: Any, exercise: Exercise) -> str:
    """Say why this cannot be tried at all, or nothing if it can."""
    name = getattr(function, "__name__", "it")
    if not callable(function):
        return "Hand over the function itself, without calling it."
    if inspect.isclass(function):
        return f"{name} is a class; write a function."
    if inspect.iscoroutinefunction(function):
        return f"{name} is a coroutine: calling it computes nothing. Write `def` without `async`."
    if inspect.isgeneratorfunction(function):
        return f"{name} is a generator, because it has a `yield`. Collect the numbers and `return` them."
    return other_arguments(function, exercise.arguments, "called")


def other_arguments(function: Callable[..., Any], wanted: Sequence[str], begun: str) -> str:
    """Say that a function does not take the arguments it is `begun` with, or nothing if it does."""
    try:
        inspect.signature(function).bind(*wanted)
    except TypeError:
        own = ", ".join(inspect.signature(function).parameters)
        return f"It is {begun} with ({', '.join(wanted)}); yours takes ({own})."
    except ValueError:  # a function in C has no signature that can be read
        pass
    return ""


def attempt(function: Callable[..., Any], exercise: Exercise) -> list[Outcome]:
    """Try a function on all cases; the last outcome is the one in which the time was up, if it was.

    Only the first lines of what is printed are kept, and the memory is limited, see `guarded`.
    """
    outcomes = []
    until = time.monotonic() + SECONDS
    for arguments in exercise.cases():
        outcome = Outcome(copy.deepcopy(arguments), exercise.answer(*arguments))
        outcomes.append(outcome)
        try:
            with unwritten_shows(), guarded(until - time.monotonic()) as printed:
                # A copy: it may return its input, or the same array every time.
                outcome.got = kept(function(*arguments))
        except KeyboardInterrupt:  # nobody's bug: who waits for it has stopped it
            raise
        except BaseException as error:  # a learner's own bug: say it, do not crash
            outcome.error = error
            if isinstance(error, TimeUp):
                break
        finally:
            outcome.printed = str(printed)
        outcome.changed = not _same(arguments, outcome.arguments)
    return outcomes


def said_of_error(error: BaseException, seconds: float = SECONDS) -> str:
    """Say what was raised, and on which line of the learner's code."""
    said = f"{type(error).__name__}: {str(error)[:400]}"
    if isinstance(error, TimeUp):
        said = f"It had not returned after {seconds:g} s, and was stopped."
    elif isinstance(error, MemoryError):
        said = f"It wanted too much memory. {said}"
    elif isinstance(error, RecursionError):
        said = f"It calls itself without end. {said}"
    return f"{said}\n{where}" if (where := _own_line(error)) else said


def _own_line(error: BaseException) -> str:
    """Say which line of the learner's it was: the last that is no library's and not ours."""
    own = None
    step = error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if not of_a_library(file):
            own = step
        step = step.tb_next
    if own is None:
        return ""
    code = own.tb_frame.f_code
    line = own.tb_lineno or _line_before(code, own.tb_lasti)
    text = linecache.getline(code.co_filename, line, own.tb_frame.f_globals).strip()
    return f"in line {line}: {text}" if text else f"in line {line}"


def _line_before(code: CodeType, at: int) -> int:
    """Return the line that led to an instruction which has none: a jump back to the top of a loop."""
    lines = [line for start, _, line in code.co_lines() if line is not None and start <= at]
    return lines[-1] if lines else code.co_firstlineno


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, tuple):
        return all(_same(x, y) for x, y in zip(a, b, strict=True))
    return a == b
