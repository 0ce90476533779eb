"""Notebook 10: a thread for each pixel, and lanes side by side."""

from __future__ import annotations

from collections.abc import Iterator

from convlab.gpu.numba_cuda import cuda
from convlab.lessons.exercise import Mistake
from convlab.lessons.kernel_exercise import KernelExercise, Launch
from convlab.lessons.launches import numbers
from convlab.support.integers import ceil_div


@cuda.jit
def my_copy(x, y):
    # your code here: which of the two that cuda.grid(2) returns is the column?
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] = x[row, col]


def _cases() -> Iterator[Launch]:
    whole, columns, rows = (4, 32, (32, 4)), (4, 40, (32, 4)), (3, 32, (32, 4))
    for H, W, block in (whole, columns, rows, (17, 64, (32, 8)), (9, 24, (16, 16))):
        x = numbers(H, W, step=0.25 if H == 9 else 1)
        grid = (ceil_div(W, block[0]), ceil_div(H, block[1]))
        yield Launch(grid, block, {"x": x, "y": None}, x)


@cuda.jit
def _down_the_columns(x, y):
    row0, col0 = cuda.grid(2)
    rows, cols = cuda.gridsize(2)
    for row in range(row0, x.shape[0], rows):
        for col in range(col0, x.shape[1], cols):
            y[row, col] = x[row, col]


@cuda.jit
def _a_row_for_each(x, y):
    _, row = cuda.grid(2)
    if row < x.shape[0]:
        for col in range(x.shape[1]):
            y[row, col] = x[row, col]


@cuda.jit
def _one_lane_of_each_row(x, y):
    col, row = cuda.grid(2)
    if col == 0 and row < x.shape[0]:
        for i in range(x.shape[1]):
            y[row, i] = x[row, i]


@cuda.jit
def _two_for_each(x, y):
    col, row = cuda.grid(2)
    if row < x.shape[0]:
        for i in range(2 * col, min(2 * col + 2, x.shape[1])):
            y[row, i] = x[row, i]


@cuda.jit
def _numbered_along_x(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i // x.shape[1], i % x.shape[1]] = x[i // x.shape[1], i % x.shape[1]]


EXERCISE = KernelExercise(
    notebook="10",
    statement="my_copy(x, y) is a kernel that copies x (H, W) into y. It is launched with two-dimensional "
    "blocks, enough of them to cover the picture and often a little more.",
    solution=my_copy,
    why="Threads that are neighbours along x are lanes of one warp, so they take neighbouring columns and "
    "share sectors. The guard sends those away that stand beyond the picture.",
    hints=(
        "Each thread copies one number. Where does it find out which, if there are several blocks?",
        "`cuda.grid(2)` returns two places, the first along x. Lanes of a warp differ in that one: should "
        "they go along a row, or down a column? And what does a thread do that has no pixel?",
        "col, row = cuda.grid(2); then y[row, col] = x[row, col] under "
        "`if row < x.shape[0] and col < x.shape[1]`.",
    ),
    cases=_cases,
    shapes={"return": "HW"},
    mistakes=(
        Mistake(
            "lets threads beyond the edges reach for the picture",
            {"if row < x.shape[0] and col < x.shape[1]:": "if True:"},
            "The last blocks stick out below and on the right. Their threads are launched all the same, and "
            "must be told to do nothing.",
        ),
        Mistake(
            "keeps threads within the rows, and not within the columns",
            {" and col < x.shape[1]": ""},
            "Blocks stick out on both sides, so the guard has two halves.",
        ),
        Mistake(
            "keeps threads within the columns, and not within the rows",
            {"row < x.shape[0] and ": ""},
            "Blocks stick out on both sides, so the guard has two halves.",
        ),
        Mistake(
            "holds the row against the width, and the column against the height",
            {"row < x.shape[0] and col < x.shape[1]": "row < x.shape[1] and col < x.shape[0]"},
            "x is (H, W): `x.shape[0]` counts its rows.",
        ),
        Mistake(
            "takes the first number of `cuda.grid(2)` for the row",
            {"col, row = cuda.grid(2)": "row, col = cuda.grid(2)"},
            "The first is the place along x, and along x lie the columns: an array is indexed the other way "
            "round, row first.",
        ),
        Mistake(
            "takes the first number of `cuda.grid(2)` for the row, and holds it against the width",
            {
                "col, row = cuda.grid(2)": "row, col = cuda.grid(2)",
                "row < x.shape[0] and col < x.shape[1]": "row < x.shape[1] and col < x.shape[0]",
            },
            "The guard is right for what `cuda.grid(2)` returns, which is the place along x first. But then "
            "the names are exchanged: an array is indexed row first.",
        ),
        Mistake(
            "gives every block the same part of the picture",
            {"cuda.grid(2)": "cuda.threadIdx.x, cuda.threadIdx.y"},
            "`threadIdx` counts from zero in every block. Which block it is belongs into the place as well.",
        ),
        Mistake(
            "moves on by one pixel from block to block",
            {"cuda.grid(2)": "cuda.threadIdx.x + cuda.blockIdx.x, cuda.threadIdx.y + cuda.blockIdx.y"},
            "Before block number b lie b blocks, each as wide as it has threads: that is `blockDim`.",
        ),
        Mistake(
            "moves on by the number of blocks, not by the threads of one",
            {
                "cuda.grid(2)": "cuda.threadIdx.x + cuda.blockIdx.x * cuda.gridDim.x, "
                "cuda.threadIdx.y + cuda.blockIdx.y * cuda.gridDim.y"
            },
            "Before block number b lie b blocks, each as wide as it has threads: that is `blockDim`.",
        ),
        Mistake(
            "takes the height of a block for its width",
            {
                "cuda.grid(2)": "cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.y, "
                "cuda.threadIdx.y + cuda.blockIdx.y * cuda.blockDim.x"
            },
            "`blockDim.x` is how many threads a block has along x, and x is the direction of the columns.",
        ),
        Mistake(
            "counts on blocks of 32 x 4 threads",
            {
                "cuda.grid(2)": "cuda.threadIdx.x + cuda.blockIdx.x * 32, "
                "cuda.threadIdx.y + cuda.blockIdx.y * 4"
            },
            "A kernel may be launched with blocks of any size: `cuda.blockDim` says which it is.",
        ),
        Mistake(
            "numbers the threads along x only, where blocks have two dimensions",
            _numbered_along_x,
            "`cuda.grid(1)` is the place along x. Threads one below the other have the same one.",
        ),
        Mistake(
            "lets neighbouring lanes go down a column",
            _down_the_columns,
            "All numbers are right. But lanes of a warp differ in x, and one below the other they touch a "
            "sector each; side by side, eight of them share one.",
        ),
        Mistake(
            "lets one lane copy a row, while the others look on",
            _one_lane_of_each_row,
            "All numbers are right. But a warp does one thing at a time, with 32 lanes if they take part: "
            "give each a pixel.",
        ),
        Mistake(
            "gives each thread two numbers side by side",
            _two_for_each,
            "All numbers are right. But lanes that ask at once are two apart then, and a request touches "
            "twice the sectors; half the threads have nothing to do.",
        ),
        Mistake(
            "leaves out the last row and the last column",
            {"x.shape[0] and": "x.shape[0] - 1 and", "x.shape[1]:": "x.shape[1] - 1:"},
            "Rows are counted from 0 to H - 1: `row < H` is all of them.",
        ),
        Mistake(
            "lets every thread copy a whole row",
            _a_row_for_each,
            "All threads of a row of the block write the same numbers. With a thread for each pixel there is "
            "no loop to write.",
        ),
        Mistake(
            "exchanges rows and columns",
            {"y[row, col]": "y[col, row]"},
            "That writes the transpose: a copy leaves every number at its place.",
        ),
    ),
)
