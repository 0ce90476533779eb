"""Notebook 10: barriers, where threads exchange numbers."""

from __future__ import annotations

from collections.abc import Iterator

from convlab.gpu.numba_cuda import cuda, float32
from convlab.lessons.exercise import Mistake
from convlab.lessons.kernel_exercise import KernelExercise, Launch
from convlab.lessons.launches import numbers

_RUN = 64


@cuda.jit
def my_reverse(x, y):
    # your code here: where must all threads wait for all others?
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    for start in range(0, x.size, 64):
        tile[t] = x[start + t]
        cuda.syncthreads()  # nobody reads before all have written
        y[start + t] = tile[63 - t]
        cuda.syncthreads()  # nobody writes the next run before all have read this one


def _cases() -> Iterator[Launch]:
    for runs in (1, 2, 17, 3):
        x = numbers(runs * _RUN, step=0.25 if runs == 3 else 1)
        yield Launch((1,), (_RUN,), {"x": x, "y": None}, x.reshape(runs, _RUN)[:, ::-1].ravel())


@cuda.jit
def _all_runs_first(x, y):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    for start in range(0, x.size, 64):
        tile[t] = x[start + t]
    cuda.syncthreads()
    for start in range(0, x.size, 64):
        y[start + t] = tile[63 - t]


_BEFORE = "        cuda.syncthreads()  # nobody reads before all have written\n"
_AFTER = "        cuda.syncthreads()  # nobody writes the next run before all have read this one\n"

EXERCISE = KernelExercise(
    notebook="10",
    statement=f"my_reverse(x, y) is a kernel of one block of {_RUN} threads that writes each run of {_RUN} "
    "numbers of x into y back to front, through shared memory.",
    solution=my_reverse,
    why="The first barrier lets nobody read what is not there yet, the second lets nobody overwrite what is "
    "still to be read. All threads go round equally often, so all of them come by both.",
    hints=(
        "Thread 0 reads what thread 63 wrote, and that is in another warp. Which of them is there first?",
        "Between the write into `tile` and the read of it all have to wait. And what does a fast thread do "
        "at the beginning of the next run, while a slow one still reads?",
        "Two calls of `cuda.syncthreads()` in the loop: one after `tile[t] = ...`, one after `y[...] = ...`.",
    ),
    cases=_cases,
    carries=True,
    faults={_BEFORE: "", _AFTER: ""},
    mistakes=(
        Mistake(
            "has no barrier for the whole block",
            {_BEFORE: "", _AFTER: ""},
            "Thread 0 reads what thread 63 writes, and nothing says that 63 is there first: they are in two "
            "warps, and each goes at its own speed.",
        ),
        Mistake(
            "does not wait before the next run",
            {_AFTER: ""},
            "A fast thread writes its number of the next run while a slow one still reads the last: after "
            "the reads, too, all must wait for all.",
        ),
        Mistake(
            "waits between two runs, and not before it reads",
            {_BEFORE: ""},
            "A barrier between two runs keeps the next one away. But within a run, too, numbers are read "
            "that others write.",
        ),
        Mistake(
            "puts all runs into the tile before it reads the first",
            _all_runs_first,
            "The tile has room for one run: each must be read before the next is put there.",
        ),
        Mistake(
            "reads one number too far",
            {"63 - t": "64 - t"},
            "The last of 64 numbers is number 63: thread 0 reads that one.",
        ),
        Mistake(
            "lets one warp wait, and not the other",
            {_BEFORE: "        if t < 32:\n            cuda.syncthreads()\n"},
            "A barrier is for all threads of the block. Those who wait at this one are let go when the "
            "others come to the next, or never.",
        ),
        Mistake(
            "turns all of x around, not each run by itself",
            {"y[start + t]": "y[x.size - 64 - start + t]"},
            "Each run of 64 stays where it is; only its own numbers are back to front.",
        ),
        Mistake("copies", {"63 - t": "t"}, "Thread t writes what thread 63 - t has put into the tile."),
        Mistake(
            "turns each warp's 32 numbers by themselves",
            {"63 - t": "t // 32 * 32 + 31 - t % 32"},
            "A run has 64 numbers: the first of them changes places with the last, in the other warp.",
        ),
        Mistake(
            "turns the first run only",
            {"range(0, x.size, 64)": "range(0, 64, 64)"},
            "There is one block, and x may have several runs: it goes from run to run.",
        ),
        Mistake(
            "goes around shared memory",
            {"tile[t] = x[start + t]": "pass", "tile[63 - t]": "x[start + 63 - t]"},
            "That is right, and here even quick. But the exercise is about handing numbers from thread to "
            "thread, as soon every tile will.",
        ),
    ),
)
