"""Notebook 10: a transpose whose lanes meet 32 different banks."""

from __future__ import annotations

from collections.abc import Iterator

from convlab.gpu.numba_cuda import cuda, float32
from convlab.lessons.exercise import Mistake
from convlab.lessons.kernel_exercise import KernelExercise, Launch
from convlab.lessons.launches import numbers


@cuda.jit
def my_turn(x, y):
    # your code here: in which banks do the numbers of a row lie, and of a column?
    tile = cuda.shared.array((32, 33), float32)  # one number more in a row: a column meets all banks
    lane = cuda.threadIdx.x
    for row in range(32):
        tile[row, lane] = x[row, lane]
    cuda.syncthreads()
    for row in range(32):
        y[row, lane] = tile[lane, row]


def _cases() -> Iterator[Launch]:
    for step in (1, 0.25):
        x = numbers(32, 32, step=step)
        yield Launch((1,), (32,), {"x": x, "y": None}, x.T.copy())


_PADDED = "(32, 33)"
_COLUMNS_WRITTEN = {"tile[row, lane]": "tile[lane, row]", "= tile[lane, row]": "= tile[row, lane]"}

EXERCISE = KernelExercise(
    notebook="10",
    statement="my_turn(x, y) is a kernel of one warp that writes x (32, 32) into y with rows and columns "
    "exchanged, through shared memory, so that all 32 lanes meet 32 different banks.",
    solution=my_turn,
    why="With rows of 32 numbers a whole column lies in one bank. A row of 33 moves every row on by one "
    "bank, so that a column meets all of them, and so does a row.",
    hints=(
        "Number i of shared memory lies in bank i % 32. In which banks lie the numbers of a column of a "
        "(32, 32) tile?",
        "Somebody has to go down a column of the tile: whoever writes or whoever reads. What if its rows "
        "were not exactly 32 numbers long?",
        "`tile = cuda.shared.array((32, 33), float32)`: the numbers of a column lie 33 apart, in 32 "
        "different banks. Nothing is ever put into the last column.",
    ),
    cases=_cases,
    shapes={"return": "HW"},
    carries=True,
    conflicts=1.0,
    faults={_PADDED: "(32, 32)", **_COLUMNS_WRITTEN},
    mistakes=(
        Mistake(
            "reads all of a column from one bank",
            {_PADDED: "(32, 32)"},
            "In rows of 32 numbers those of a column are 32 apart: the same bank, 32 passes.",
        ),
        Mistake(
            "writes all of a column into one bank",
            {_PADDED: "(32, 32)", **_COLUMNS_WRITTEN},
            "It does not matter whether a column is written or read: 32 lanes at one bank take 32 passes.",
        ),
        Mistake(
            "moves every row on by two banks",
            {_PADDED: "(32, 34)"},
            "Steps of two come around to the first bank after 16 lanes. Which steps meet all 32?",
        ),
        Mistake(
            "writes columns, and moves every row on by two banks",
            {_PADDED: "(32, 34)", **_COLUMNS_WRITTEN},
            "Steps of two come around to the first bank after 16 lanes. Which steps meet all 32?",
        ),
        Mistake(
            "moves every row on by four banks",
            {_PADDED: "(32, 36)"},
            "Steps of four come around to the first bank after 8 lanes. Which steps meet all 32?",
        ),
        Mistake(
            "moves every row on by sixteen banks",
            {_PADDED: "(32, 48)"},
            "Steps of sixteen meet two banks only. Which steps meet all 32?",
        ),
        Mistake(
            "goes without shared memory",
            {"    cuda.syncthreads()\n": "", "tile[row, lane] = x[row, lane]": "pass", "tile[lane": "x[lane"},
            "Then either the reads or the writes go down a column of memory, at a sector for every lane. "
            "Shared memory is where rows become columns.",
        ),
        Mistake(
            "reads x down its columns",
            {"tile[row, lane] = x[row, lane]": "tile[lane, row] = x[lane, row]"},
            "Its lanes are one below the other in memory, and each touches a sector of its own: the turn "
            "belongs into the tile.",
        ),
        Mistake(
            "writes y down its columns",
            {"y[row, lane] = tile[lane, row]": "y[lane, row] = tile[row, lane]"},
            "Its lanes are one below the other in memory, and each touches a sector of its own: the turn "
            "belongs into the tile.",
        ),
        Mistake(
            "leaves every number where it is",
            {"tile[lane, row]": "tile[row, lane]"},
            "Number [row, column] goes to [column, row]. Turned twice, at write and read, it is back.",
        ),
        Mistake(
            "has no barrier",
            {"    cuda.syncthreads()\n": ""},
            "A lane reads what other lanes wrote. Being in one warp is no promise that they are done.",
        ),
        Mistake(
            "waits after every row, and reads before all are there",
            {"    cuda.syncthreads()\n    for row in range(32):\n": "        cuda.syncthreads()\n"},
            "A column takes a number of every row: all 32 rows must be there before the first is read.",
        ),
        Mistake(
            "forgets the last row",
            {"range(32)": "range(31)"},
            "`range(32)` ends at 31 already, and 31 is the last row.",
        ),
    ),
)
