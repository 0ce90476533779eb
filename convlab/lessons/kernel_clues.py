"""What can be told of a kernel that behaves like no known mistake: from what the simulator saw, from y."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from convlab.gpu.occupancy import WARP
from convlab.gpu.simulator import Mistake, errors
from convlab.lessons.clues import AXES, of_arrays
from convlab.lessons.kernel_exercise import KernelExercise, Launch
from convlab.lessons.kernel_run import Ran

BARRIERS = (
    "A barrier is for all threads of the block: none may pass it by. It stands under no `if` that some "
    "threads skip, below no early `return`, and in a loop only if all go round equally often."
)
EARLY = (
    "What is read there was put there by nobody yet: either another thread is to write it, and there is no "
    "barrier between, or nobody ever does."
)


def clue(exercise: KernelExercise, runs: Sequence[Ran]) -> str:
    """Return what can be told of the first launch that went wrong, or ""."""
    bad = next((ran for ran in runs if not ran.right), None)
    if bad is None:
        return ""
    if bad.mistakes:
        return next(filter(None, (_of_mistake(bad, mistake) for mistake in bad.mistakes)), "")
    if bad.y is None:
        return ""
    letters = exercise.shapes.get("return", "")
    if bad.unwritten.any():
        return _place(bad.unwritten, bad.launch, letters, "is not written", "are not written")
    wrong = [ran for ran in runs if ran.y is not None and not ran.right and not ran.mistakes]
    pairs = [(np.asarray(ran.launch.expected, np.float64), np.asarray(ran.y, np.float64)) for ran in wrong]
    return next(of_arrays(pairs, letters), "") or _place(
        bad.wrong, bad.launch, letters, "is wrong", "are wrong"
    )


def _of_mistake(ran: Ran, mistake: Mistake) -> str:
    """Say what is behind a mistake that the simulator found."""
    if mistake.kind in (errors.BOUNDS, errors.NEGATIVE):
        return _beyond(ran, mistake)
    if mistake.kind == errors.RACE:
        return _race(ran, mistake)
    if mistake.kind == errors.UNWRITTEN:
        which = ran.parameter(mistake.array)
        if which >= 0:
            return f"{mistake.array} holds nothing at first: add up in a variable, and write the sum once."
        if "a local array" in mistake.message:
            return f"A local array holds anything at first: set {mistake.array} to zero before you add to it."
        return EARLY
    return {
        errors.BARRIER: BARRIERS,
        errors.FRACTION: "Places are whole numbers: divide them with `//`.",
        errors.SPIN: "A loop in it never ends: what would have to change for its condition to become false?",
        errors.UNFIXED: "The compiler must know the size of such an array: write it as a number.",
        errors.WRAPPED: "A number without a sign went below zero, and is a very large one now.",
    }.get(mistake.kind, "")


def _beyond(ran: Ran, mistake: Mistake) -> str:
    if mistake.kind == errors.NEGATIVE:
        return "A place below zero: is there a case in which nothing lies there, and nothing may be read?"
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
        return (
            f"Several blocks meet at the same numbers of {mistake.array}: has each a part of its own? "
            "The place of a block, `cuda.blockIdx`, belongs into it."
        )
    if ran.parameter(mistake.array) >= 0:
        return f"Two threads write the same number of {mistake.array}: each should have numbers of its own."
    return (
        f"Two threads meet at a number of {mistake.array}, and one of them writes it. A barrier between "
        "makes all wait until that is done: before the first read, and before it is written anew."
    )


def _place(bad: np.ndarray, launch: Launch, letters: str, one: str, many: str) -> str:
    """Say which part of y is wrong or unwritten, if that is a part that has a name."""
    if bad.all():
        return f"All of y {one}: is `y[...] = ...` reached, and by which threads?" if "written" in one else ""
    for axis, size in enumerate(bad.shape):
        each = np.moveaxis(bad, axis, 0).reshape(size, -1).any(axis=1)
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
    if first == size - 1:
        return "Only the last is missing: does a guard or a range end one too early? "
    if threads and blocks > 1 and first == threads:
        return "Only what one block stands for is there: the place of the block belongs into the index. "
    if threads and blocks > 1 and first == (blocks - 1) * threads:
        return "What belongs to the last block is missing: it has less to do, not nothing. "
    if first == WARP and np.prod(launch.block) > WARP:
        return "That is as far as one warp goes. "
    if first == np.prod(launch.block):
        return "That is one number for each thread; each has several to do. "
    return ""


def _along(axis: int, part: np.ndarray) -> tuple:
    return (*[slice(None)] * axis, part)


def _plural(letters: str, axis: int, axes: int) -> str:
    if axes == 1:
        return "numbers of y"
    name = AXES.get(letters[axis], letters[axis]) if len(letters) == axes else f"places along axis {axis}"
    return name.replace("row", "rows").replace("column", "columns") if "axis" not in name else name


def _nth(n: int) -> str:
    return {2: "second", 3: "third"}.get(n, f"{n}th")
