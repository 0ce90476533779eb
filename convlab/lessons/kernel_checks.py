"""`check` for a kernel: run it lane by lane, look at the numbers, the mistakes and the price."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from convlab.lessons.attempt import Outcome, said_of_error
from convlab.lessons.grids import grids
from convlab.lessons.guard import TimeUp
from convlab.lessons.kernel_diagnosis import diagnosis
from convlab.lessons.kernel_exercise import KernelExercise
from convlab.lessons.kernel_run import SECONDS, Ran, carried, run_all
from convlab.lessons.kernel_view import microscope
from convlab.lessons.kernel_waste import waste
from convlab.lessons.note import Note
from convlab.support.checks import said

ANOTHER_WAY = "Right numbers, but not in the way that was asked for."


def check_kernel(exercise: KernelExercise, kernel: Any) -> Note:
    """Try a kernel on all launches and say how it went; see `convlab.lessons.check`."""
    if odd := _not_a_kernel(kernel, exercise):
        return Note(False, odd, exercise.statement)
    runs = run_all(exercise, kernel)
    count = len(list(exercise.cases()))
    if not any(ran.sites or ran.mistakes or ran.error for ran in runs):
        return Note(None, "Not started: the kernel touches no memory yet.", exercise.statement)
    for number, ran in enumerate(runs):
        where = f"Case {number + 1} of {count}: {ran.launch}"
        printed = f"\n\nprinted:\n{ran.printed}" if ran.printed else ""
        if isinstance(ran.error, TimeUp):
            body = f"{where}\n{said_of_error(ran.error, SECONDS)}{printed}"
            return Note(False, "The kernel takes too long.", body)
        title, body = _verdict(exercise, number, ran)
        if title:
            return Note(
                False,
                title,
                f"{where}\n{body}{printed}" if body else where,
                diagnosis=diagnosis(exercise, runs),
                picture=_grids(exercise, ran),
                widget=microscope(exercise, number, ran),
            )
    return Note(True, f"Right, in all {count} cases, with no race and no waste.")


def _not_a_kernel(kernel: Any, exercise: KernelExercise) -> str:
    """Say why this cannot be launched at all, or nothing if it can."""
    function = getattr(kernel, "py_func", kernel)
    name = getattr(function, "__name__", "it")
    if inspect.isclass(kernel):
        return f"{name} is a class; a kernel is a function with `@cuda.jit` above it."
    if type(kernel).__name__.endswith("LaunchConfiguration"):
        return "Hand over the kernel itself, without the launch in square brackets: `check` launches it."
    if not inspect.isfunction(function):
        return f"Hand over the kernel itself, without calling it. This is {said(kernel)}."
    if function.__name__ == "<lambda>":
        return "A kernel is written with `def`, and `@cuda.jit` above it."
    if kernel is function:
        return f"{name} is a plain function: `@cuda.jit` above it makes it a kernel."
    options = getattr(kernel, "targetoptions", {})
    if options.get("device"):
        return f"{name} is a function for kernels to call, with `device=True`: write `@cuda.jit` alone."
    if "nopython" in options:
        return f"{name} is compiled for the processor: a kernel has `@cuda.jit` above it."
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        return f"{name} is not a plain `def`: a kernel has no `yield` and no `async`, it writes into y."
    wanted = exercise.arguments
    try:
        inspect.signature(function).bind(*wanted)
    except TypeError:
        own = ", ".join(inspect.signature(function).parameters)
        return f"It is launched with ({', '.join(wanted)}); yours takes ({own})."
    return ""


def _verdict(exercise: KernelExercise, number: int, ran: Ran) -> tuple[str, str]:
    """Return a title and what there is to say of a launch that went wrong; two empty texts if none did."""
    if ran.mistakes:
        return "The lane simulator found a mistake.", "\n".join(map(str, ran.mistakes))
    if ran.error is not None:
        return "The kernel cannot be run.", said_of_error(ran.error)
    if wrong := _difference(ran):
        return "Not yet.", wrong
    if exercise.carries and not carried(ran):
        return (
            ANOTHER_WAY,
            "No thread reads in shared memory what another put there, and that is the point.",
        )
    if exercise.method is not None and (missing := exercise.method(ran)):
        return ANOTHER_WAY, missing
    if wasted := waste(exercise, number, ran):
        return "Right numbers, but at too high a price.", wasted
    return "", ""


def _grids(exercise: KernelExercise, ran: Ran) -> str:
    """Return y beside what it must be, where it came to numbers and some of them are wrong."""
    if ran.y is None or ran.mistakes or not ran.wrong.any():
        return ""
    y = np.where(ran.unwritten, np.nan, ran.y)
    return grids(exercise, Outcome((), ran.launch.expected, y))


def _difference(ran: Ran) -> str:
    expected = ran.launch.expected
    if not ran.wrong.any():
        return ""
    if ran.unwritten.any():
        first = _index(ran.unwritten)
        return (
            f"{ran.unwritten.sum()} of {expected.size} numbers of y were not written; the first is y{first}."
        )
    first = _index(ran.wrong)
    return (
        f"{ran.wrong.sum()} of {expected.size} numbers differ; the first is y{first}:\n"
        f"expected {expected[tuple(first)]:g}\ngot      {ran.y[tuple(first)]:g}"
    )


def _index(where: np.ndarray) -> list[int]:
    return [int(i) for i in np.argwhere(where)[0]]
