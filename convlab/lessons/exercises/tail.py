"""Notebook 11: the last block, which has less to do, and a barrier that it must not miss."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.gpu.numba_cuda import cuda, float32
from convlab.lessons.exercise import Mistake
from convlab.lessons.kernel_exercise import KernelExercise, Launch
from convlab.lessons.launches import numbers

_RUN = 64


@cuda.jit
def my_tail(x, y):
    # your code here: how many numbers has this block?
    tile = cuda.shared.array(64, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    count = min(64, x.size - cuda.blockIdx.x * 64)  # of this block: the last one may have fewer
    if t < count:
        tile[t] = x[i]
    cuda.syncthreads()  # outside of every `if`: all threads come by
    if t < count:
        y[i] = tile[count - 1 - t]


def _cases() -> Iterator[Launch]:
    for size in (_RUN, 2 * _RUN, 2 * _RUN + 22, _RUN + 40, 10):
        x = numbers(size, step=0.25 if size == _RUN + 40 else 1)
        runs = [x[start : start + _RUN][::-1] for start in range(0, size, _RUN)]
        yield Launch((len(runs),), (_RUN,), {"x": x, "y": None}, np.concatenate(runs))


_COUNT = "min(64, x.size - cuda.blockIdx.x * 64)"
_OWN = f"    count = {_COUNT}  # of this block: the last one may have fewer\n"
_LEFT = {"t < count": "i < x.size"}  # guards by the size of x, which need no count
_LOAD = "    if t < count:\n        tile[t] = x[i]\n"
_STORE = "    if t < count:\n        y[i] = tile[count - 1 - t]\n"
_WAIT = "    cuda.syncthreads()  # outside of every `if`: all threads come by\n"

EXERCISE = KernelExercise(
    notebook="11",
    statement=f"my_tail(x, y) is a kernel of blocks of {_RUN} threads: each turns its run of {_RUN} numbers "
    "back to front, through shared memory; the last run may be shorter.",
    solution=my_tail,
    why="A block first asks how many numbers are its own; all places are worked out from that. Threads with "
    "nothing to load or store still come to the barrier, where the others wait for them.",
    hints=(
        "x has 104 numbers. How many of them are the second block's, and which of its threads have one?",
        "Work out `count`, the numbers of this block: 64, or what is left. Guard the load and the store by "
        "it, but not the barrier. Where does the last of `count` numbers lie in the tile?",
        "count = min(64, x.size - cuda.blockIdx.x * 64); `if t < count` before the load and again before "
        "the store, `cuda.syncthreads()` between them, and the store reads tile[count - 1 - t].",
    ),
    cases=_cases,
    carries=True,
    generous=1.6,  # who clamps the load asks for a sector more where the last run is short: that is no waste
    faults={_OWN: "", _LOAD: "    tile[t] = x[i]\n", _STORE: "    y[i] = tile[63 - t]\n"},
    mistakes=(
        Mistake(
            "lets threads with nothing to do miss the barrier",
            {_LOAD: "    if t >= count:\n        return\n    tile[t] = x[i]\n"},
            "A barrier is for all threads of the block. Since Volta it does not wait for those who have "
            "returned, but it does for one that goes around it; older GPUs promise nothing.",
        ),
        Mistake(
            "loads past the end of x",
            {_LOAD: "    tile[t] = x[i]\n"},
            "The last block has more threads than there are numbers: x ends before its last thread.",
        ),
        Mistake(
            "stores past the end of y, and turns the last run as if it were whole",
            {_STORE: "    y[i] = tile[63 - t]\n"},
            "The last block has more threads than numbers, and what it has begins further back in the tile.",
        ),
        Mistake(
            "stores past the end of y",
            {_STORE: "    y[i] = tile[count - 1 - t]\n"},
            "The last block has more threads than numbers: at the load they are sent away, and here again.",
        ),
        Mistake(
            "turns the last run as if it were whole",
            {"tile[count - 1 - t]": "tile[63 - t]"},
            "A run of 40 numbers ends at number 39 of the tile: nobody has put anything at 63.",
        ),
        Mistake(
            "fills the last run up with zeros, and turns them around, too",
            {_LOAD: "    tile[t] = x[i] if t < count else 0\n", "tile[count - 1 - t]": "tile[63 - t]"},
            "The zeros come out first, then, and numbers are lost at the end. A run of 40 ends at number 39.",
        ),
        Mistake(
            "has no barrier",
            {_WAIT: ""},
            "A thread reads what another one wrote: it has to wait until all have.",
        ),
        Mistake(
            "leaves out a last run that is not whole",
            {_COUNT: "64 if x.size >= cuda.blockIdx.x * 64 + 64 else 0"},
            "What is left over is turned around, too: it has less to do, not nothing.",
        ),
        Mistake(
            "takes what is left over for the size of every run",
            {_COUNT: "x.size % 64 or 64"},
            "Only the last block has fewer: each has to work out its own count.",
        ),
        Mistake(
            "takes the remainder for the count, which is 0 where the runs are whole",
            {_COUNT: "x.size % 64 if cuda.blockIdx.x == cuda.gridDim.x - 1 else 64"},
            "128 numbers leave no remainder, and yet the last block has 64 of them.",
        ),
        Mistake(
            "takes the remainder for the count of every run, which is 0 where the runs are whole",
            {_COUNT: "x.size % 64", **_LEFT},
            "Only the last block may have fewer than 64, and where nothing is left over it has 64, too.",
        ),
        Mistake(
            "takes the remainder for the last count, and puts nothing else in its place where it is 0",
            {_COUNT: "x.size % 64 if cuda.blockIdx.x == cuda.gridDim.x - 1 else 64", **_LEFT},
            "128 numbers leave no remainder, and yet the last block has 64 of them.",
        ),
        Mistake(
            "counts all numbers from the block's first on, and not its own 64",
            {_COUNT: "x.size - cuda.blockIdx.x * 64"},
            "What comes after a run of 64 is the next block's: a block has 64 numbers, or fewer.",
        ),
        Mistake(
            "counts what all blocks have, not the block",
            {_COUNT: "min(64, x.size)", **_LEFT},
            "x has 64 numbers or more, but what is left for the last block are fewer: where does that begin?",
        ),
        Mistake(
            "turns all of x around, not each run by itself",
            {"y[i] =": "y[x.size - cuda.blockIdx.x * 64 - count + t] ="},
            "Each run stays where it is; only its own numbers are back to front.",
        ),
        Mistake(
            "reads one number too far",
            {"tile[count - 1 - t]": "tile[count - t]"},
            "The last of `count` numbers is number count - 1.",
        ),
        Mistake("copies", {"tile[count - 1 - t]": "tile[t]"}, "The first of a run becomes its last."),
        Mistake(
            "gives every block the first run",
            {"cuda.grid(1)": "cuda.threadIdx.x"},
            "`threadIdx` counts from zero in every block. Which block it is belongs into the place as well.",
        ),
        Mistake(
            "goes around shared memory",
            {_LOAD: "", "tile[count - 1 - t]": "x[cuda.blockIdx.x * 64 + count - 1 - t]"},
            "That is right, and here even quick. But the exercise is about a barrier that all threads reach, "
            "with numbers handed from thread to thread.",
        ),
    ),
)
