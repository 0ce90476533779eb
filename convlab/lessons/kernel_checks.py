"""`check` for a kernel: run it lane by lane, look at the numbers, the mistakes and the price."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from convlab.lessons.attempt import Outcome, other_arguments, said_of_error
from convlab.lessons.grids import grids
from convlab.lessons.guard import TimeUp
from convlab.lessons.kernel_clues import another_way
from convlab.lessons.kernel_compiles import foreign, refused
from convlab.lessons.kernel_diagnosis import diagnosis
from convlab.lessons.kernel_exercise import KernelExercise
from convlab.lessons.kernel_run import SECONDS, Ran, run_all
from convlab.lessons.kernel_view import microscope
from convlab.lessons.kernel_waste import waste
from convlab.lessons.note import Note
from convlab.support.checks import said


def check_kernel(exercise: KernelExercise, kernel: Any) -> Note:
    """Try a kernel on all launches and say how it went; see `convlab.lessons.check`."""
    if odd := _not_a_kernel(kernel, exercise):
        return Note(False, odd, exercise.statement)
    runs = run_all(exercise, kernel)
    count = len(list(exercise.cases()))
    if not any(ran.sites or ran.mistakes or ran.error for ran in runs):
        return Note(None, "Not started: the kernel touches no memory yet.", exercise.statement)
    for look in (_wrong, _another_way, _at_a_price):  # numbers of all launches before the price of one
        for number, ran in enumerate(runs):
            title, body = look(exercise, number, ran)
            if title:
                why = diagnosis(exercise, runs)
                where = f"Case {number + 1} of {count}: {ran.launch}"
                told = "" if body == why else f"\n{body}"
                printed = f"\n\nprinted:\n{ran.printed}" if ran.printed else ""
                return Note(
                    False,
                    title,
                    f"{where}{told}{printed}",
                    diagnosis=why,
                    picture=_grids(exercise, ran),
                    widget=microscope(exercise, number, ran),
                )
    if odd := refused(kernel, runs[0].launch):
        there = "Here Python runs a kernel. For a GPU Numba compiles it, and says:"
        return Note(False, "Right numbers, but it cannot be compiled.", f"{there}\n{odd}")
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
    if odd := foreign(function):
        return f"{name} has a `{odd}`: there is no such thing in a kernel."
    return other_arguments(function, exercise.arguments, "launched")


def _wrong(exercise: KernelExercise, number: int, ran: Ran) -> tuple[str, str]:
    """Return a title and what there is to say where a launch went wrong; two empty texts if it did not."""
    if isinstance(ran.error, TimeUp):
        return "The kernel takes too long.", said_of_error(ran.error, SECONDS)
    if ran.mistakes:
        return "The lane simulator found a mistake.", "\n".join(map(str, ran.mistakes))
    if ran.error is not None:
        return "The kernel cannot be run.", said_of_error(ran.error)
    return ("Not yet.", _difference(ran)) if ran.wrong.any() else ("", "")


def _another_way(exercise: KernelExercise, number: int, ran: Ran) -> tuple[str, str]:
    missing = another_way(exercise, ran)
    return ("Right numbers, but not in the way that was asked for.", missing) if missing else ("", "")


def _at_a_price(exercise: KernelExercise, number: int, ran: Ran) -> tuple[str, str]:
    wasted = waste(exercise, number, ran)
    return ("Right numbers, but at too high a price.", wasted) if wasted else ("", "")


def _grids(exercise: KernelExercise, ran: Ran) -> str:
    """Return y beside what it must be, where it came to numbers and some of them are wrong."""
    if ran.y is None or ran.mistakes or not ran.wrong.any():
        return ""
    y = np.where(ran.unwritten, np.nan, np.asarray(ran.y))
    page = grids(exercise, Outcome((), ran.launch.expected, y))
    written = np.isnan(y[~ran.unwritten]).any()
    return page if written else page.replace(">nan<", "><")  # an empty cell: nobody wrote there


def _difference(ran: Ran) -> str:
    expected, y = ran.launch.expected, np.asarray(ran.y)
    bad = ran.unwritten if ran.unwritten.any() else ran.wrong
    first = tuple(int(i) for i in np.argwhere(bad)[0])
    count, place = f"{bad.sum()} of {expected.size} numbers", f"the first is y{list(first)}"
    if ran.unwritten.any():
        return f"{count} of y were not written; {place}."
    return f"{count} differ; {place}:\nexpected {expected[first]:g}\ngot      {y[first]:g}"
