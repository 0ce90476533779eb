"""What can be told of a kernel that behaves like no known mistake: from what the simulator saw, from y."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import numpy as np

from convlab.gpu.numba_cuda import cuda
from convlab.gpu.occupancy import WARP
from convlab.gpu.simulator import Mistake, errors
from convlab.gpu.simulator.traced_arrays import TracedArray
from convlab.lessons.clues import AXES, Letters, of_arrays
from convlab.lessons.kernel_exercise import KernelExercise, Launch
from convlab.lessons.kernel_run import Ran, address_of, carried
from convlab.lessons.kernel_waste import why_wasted

BARRIERS = (
    "A barrier is for all threads of the block: none may pass it by. It stands under no `if` that some "
    "threads skip, below no early `return`, and in a loop only if all go round equally often."
)
ORDER = (errors.BARRIER, errors.BOUNDS, errors.NEGATIVE, errors.RACE)  # what says the most, first
EARLY = (
    "What is read there was put there by nobody yet: another thread is to write it, and there is no barrier "
    "between."
)
NEVER = "Nobody ever puts anything there: count what is written there, and what is read."


def clue(exercise: KernelExercise, runs: Sequence[Ran]) -> str:
    """Return what can be told of the first launch that went wrong, or ""."""
    bad = next((ran for ran in runs if not ran.right), None)
    if bad is None:
        if missing := next(filter(None, (another_way(exercise, ran) for ran in runs)), ""):
            return missing
        return next(filter(None, (why_wasted(exercise, number, ran) for number, ran in enumerate(runs))), "")
    if bad.mistakes:
        mistakes = sorted(bad.mistakes, key=lambda m: ORDER.index(m.kind) if m.kind in ORDER else len(ORDER))
        return next(filter(None, (_of_mistake(bad, mistake) for mistake in mistakes)), "")
    if bad.y is None:
        return _of_error(bad.error)
    letters = exercise.shapes.get("return", "")
    if bad.unwritten.any():
        said = _place(bad.unwritten, bad.launch, letters, "is not written", "are not written")
        return said or _share(bad)
    wrong = [ran for ran in runs if ran.y is not None and not ran.right and not ran.mistakes]
    pairs = [(np.asarray(ran.launch.expected, np.float64), np.asarray(ran.y, np.float64)) for ran in wrong]
    return next(of_arrays(pairs, letters), "") or _place(
        bad.wrong, bad.launch, letters, "is wrong", "are wrong"
    )


def another_way(exercise: KernelExercise, ran: Ran) -> str:
    """Say what is missing in how a right kernel works, or nothing if that is as it was asked for."""
    if exercise.carries and not carried(ran):
        return "No thread reads in shared memory what another one put there, and that is the point."
    return exercise.method(ran) if exercise.method is not None else ""


def _of_error(error: BaseException | None) -> str:
    """Say what a name may have been meant to be."""
    if isinstance(error, NameError):
        return f"Nothing is called `{error.name}` there: is it spelled as where it was given its value?"
    if isinstance(error, AttributeError) and isinstance(error.obj, TracedArray):
        return _spelled(str(error.name), ("shape", "size", "ndim", "dtype", "strides"), "An array")
    if isinstance(error, NotImplementedError):
        return _spelled(str(error).rpartition("cuda.")[2], dir(cuda), "`cuda`")
    return ""


def _spelled(name: str, known: Iterable[str], who: str) -> str:
    near = get_close_matches(name, known, 1)
    return f"{who} has no `{name}`" + (f"; did you mean `{near[0]}`?" if near else ".")


def _of_mistake(ran: Ran, mistake: Mistake) -> str:
    """Say what is behind a mistake that the simulator found."""
    if mistake.kind in (errors.BOUNDS, errors.NEGATIVE):
        return _beyond(ran, mistake)
    if mistake.kind == errors.RACE:
        return _race(ran, mistake)
    if mistake.kind == errors.UNWRITTEN:
        which = ran.parameter(mistake.array)
        if which >= 0:
            return (
                f"{mistake.array} holds nothing at first, so there is nothing to read in it: a sum is added "
                "up in a variable, and written once."
            )
        if "a local array" in mistake.message:
            return f"A local array holds anything at first: set {mistake.array} to zero before you add to it."
        return NEVER if _nobody_writes(ran, mistake) else EARLY
    return {
        errors.BARRIER: BARRIERS,
        errors.FRACTION: "Places are whole numbers: divide them with `//`.",
        errors.SPIN: "A loop in it never ends: what would have to change for its condition to become false?",
        errors.MEMORY: "There is not so much of it: how many numbers does the array need?",
        errors.UNFIXED: "The compiler must know the size of such an array: write it as a number.",
        errors.WRAPPED: "A number without a sign went below zero, and is a very large one now.",
    }.get(mistake.kind, "")


def _beyond(ran: Ran, mistake: Mistake) -> str:
    if mistake.kind == errors.NEGATIVE:
        return (
            "A place below zero. Work it out by hand for the thread that is named: what should it do there?"
        )
    block, grid = mistake.block, (*ran.launch.grid, 1, 1)[:3]
    several = any(size > 1 for size in grid)
    last = any(size > 1 and at == size - 1 for at, size in zip(block, grid, strict=True))
    if ran.parameter(mistake.array) < 0:
        return f"{mistake.array} is smaller than that: count its rows and columns once more."
    if not several:
        return (
            "Either there are more threads than there is to do, and those must do nothing; or the place is "
            "worked out wrongly: try it by hand for the thread that is named."
        )
    if last:
        return "Blocks at the end stick out: threads that have nothing to do there must not touch memory."
    return "This is not even the last block. Work the place out by hand, for the thread that is named."


def _race(ran: Ran, mistake: Mistake) -> str:
    if "of block" in mistake.message and "blocks run in any order" in mistake.message:
        if _names(ran) & {"blockIdx", "grid", "gridsize"}:
            return (
                f"Two blocks meet at the same numbers of {mistake.array}: how far apart do blocks begin? By "
                "as much as one of them does, and `cuda.blockDim` says how many threads it has."
            )
        return (
            f"Several blocks meet at the same numbers of {mistake.array}: has each a part of its own? "
            "The place of a block, `cuda.blockIdx`, belongs into it."
        )
    if ran.parameter(mistake.array) >= 0:
        return f"Two threads write the same number of {mistake.array}: each should have numbers of its own."
    if " and written by " in mistake.message:
        return (
            f"Two threads put a number at the same place of {mistake.array}: let there be one for each "
            "place, or a barrier between."
        )
    return (
        f"Two threads meet at a number of {mistake.array}, and one of them writes it. A barrier between "
        "makes all wait until that is done: before the first read, and before it is written anew."
    )


def _nobody_writes(ran: Ran, mistake: Mistake) -> bool:
    """Return whether no thread of a block ever wrote the place in shared memory that one of them read."""
    assert ran.trace is not None
    stores = [site for site in ran.sites if site.array == mistake.array and site.kind != "ld"]
    return not any(
        request.block == tuple(mistake.block) and address_of(site, mistake.index) in request.addresses
        for site in stores
        for request in ran.trace.requests(site)
    )


def _names(ran: Ran) -> set[str]:
    """Return what a kernel takes from modules, such as "blockIdx"."""
    return set(getattr(ran.kernel, "py_func", ran.kernel).__code__.co_names)


def _place(bad: np.ndarray, launch: Launch, letters: Letters, one: str, many: str) -> str:
    """Say which part of y is wrong or unwritten, if that is a part that has a name."""
    if bad.all():
        return f"All of y {one}: is `y[...] = ...` reached, and by which threads?" if "written" in one else ""
    if bad.size > 2 and np.flatnonzero(bad).tolist() == [bad.size - 1]:
        return f"Only the very last number of y {one}: does a guard or a range end one too early?"
    for axis, size in enumerate(bad.shape):
        each = np.asarray(np.moveaxis(bad, axis, 0).reshape(size, -1).any(axis=1))
        first, count = int(each.argmax()), int(each.sum())
        names = _plural(letters, axis, bad.ndim)
        if count == size or not bad[_along(axis, each)].all():
            continue
        if each[first:].all():
            return (
                f"{_reason(first, size, axis, bad.ndim, launch)}{names.capitalize()} from {first} on {many}."
            )
        if each[:count].all():
            return f"The first {count} of {size} {names} {one if count == 1 else many}."
        step = np.flatnonzero(~each)
        if len(step) > 1 and len(set(np.diff(step))) == 1 and step[0] == 0:
            return f"Only every {_nth(int(step[1]))} of the {names} is right; the others {many}."
    return ""


def _reason(first: int, size: int, axis: int, axes: int, launch: Launch) -> str:
    """Say why y is right as far as `first`, where there is a likely reason."""
    threads = launch.block[axes - 1 - axis] if axes == len(launch.block) else 0
    blocks = launch.grid[axes - 1 - axis] if axes == len(launch.grid) else 0
    if first == size - 1 > 1:
        return "Only the last is missing: does a guard or a range end one too early? "
    if threads and blocks > 1 and first == (blocks - 1) * threads and size % threads:
        return "The first blocks are right, and the last one is not: it has less to do than they have. "
    if threads and blocks > 1 and first == threads:
        return (
            "Only what the first block stands for is right: does the place of a block belong into the index? "
        )
    if first == WARP and np.prod(launch.block) > WARP:
        return "That is as far as one warp goes. "
    if first == np.prod(launch.block):
        return "That is one number for each thread; each has several to do. "
    return ""


def _share(ran: Ran) -> str:
    """Say how much of y each thread wrote, where all wrote equally much."""
    written, threads = int((~ran.unwritten).sum()), int(np.prod(ran.launch.grid) * np.prod(ran.launch.block))
    if not written or written % threads:
        return ""
    each = written // threads
    of = f"{ran.unwritten.size / threads:.3g} of them for each thread"
    return f"Of {ran.unwritten.size} numbers of y, {of}, every thread writes {each}." if each else ""


def _along(axis: int, part: np.ndarray) -> tuple:
    return (*[slice(None)] * axis, part)


def _plural(letters: Letters, axis: int, axes: int) -> str:
    if axes == 1:
        return "numbers of y"
    if len(letters) != axes:
        return f"places along axis {axis}"
    one, *of = AXES.get(letters[axis], letters[axis]).split(" ", 1)
    return " ".join([f"{one}s", *of])


def _nth(n: int) -> str:
    return {2: "second", 3: "third"}.get(n, f"{n}th")
