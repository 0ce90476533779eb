"""Notebook 11: a convolution with a thread for each output."""

from __future__ import annotations

from collections.abc import Iterator

from convlab.gpu.numba_cuda import cuda, float32
from convlab.lessons.exercise import Mistake
from convlab.lessons.kernel_exercise import KernelExercise, Launch
from convlab.lessons.launches import filter_launch


@cuda.jit
def my_filter(x, w, y):
    # your code here: where is the thread's output, and is there one?
    q, p = cuda.grid(2)  # neighbouring threads: neighbouring pixels of a line
    if p < y.shape[0] and q < y.shape[1]:
        total = float32(0)
        for r in range(w.shape[0]):
            for s in range(w.shape[1]):
                total += x[p + r, q + s] * w[r, s]
        y[p, q] = total


def _cases() -> Iterator[Launch]:
    yield filter_launch(2, 8, 2, 3, (8, 2))
    yield filter_launch(3, 8, 2, 3, (8, 2))  # blocks stick out below
    yield filter_launch(2, 10, 3, 2, (8, 2))  # on the right
    yield filter_launch(3, 16, 1, 3, (8, 2))  # below, where the picture is no higher than the output
    yield filter_launch(2, 8, 4, 3, (8, 2))
    yield filter_launch(5, 40, 3, 3, (32, 4), whole=False)


@cuda.jit
def _down_the_columns(x, w, y):
    row0, col0 = cuda.grid(2)
    rows, cols = cuda.gridsize(2)
    for p in range(row0, y.shape[0], rows):
        for q in range(col0, y.shape[1], cols):
            total = float32(0)
            for r in range(w.shape[0]):
                for s in range(w.shape[1]):
                    total += x[p + r, q + s] * w[r, s]
            y[p, q] = total


_GUARD = "p < y.shape[0] and q < y.shape[1]"

EXERCISE = KernelExercise(
    notebook="11",
    statement="my_filter(x, w, y) is a kernel that writes y[p, q] = sum over r and s of "
    "x[p + r, q + s] * w[r, s]. It is launched with two-dimensional blocks, enough of them to cover y and "
    "often a little more.",
    solution=my_filter,
    why="The loops over outputs have become threads; those over taps stay. The sum stays in a register, and "
    "y is written once.",
    hints=(
        "Of the four loops p, q, r, s, which have iterations that do not depend on each other?",
        "p and q come from `cuda.grid(2)`, q first: it runs along x. Threads whose output does not exist do "
        "nothing. The others add up in a variable.",
        "q, p = cuda.grid(2); if p < y.shape[0] and q < y.shape[1]: total = float32(0); two loops over the "
        "shape of w add x[p + r, q + s] * w[r, s]; then y[p, q] = total.",
    ),
    cases=_cases,
    shapes={"return": "PQ"},
    mistakes=(
        Mistake(
            "lets threads work that have no output",
            {f"if {_GUARD}:": "if True:"},
            "The last blocks have more threads than there are outputs. They must be told to do nothing.",
        ),
        Mistake(
            "keeps threads within the rows of y, and not within its columns",
            {" and q < y.shape[1]": ""},
            "Blocks stick out on both sides, so the guard has two halves.",
        ),
        Mistake(
            "keeps threads within the columns of y, and not within its rows",
            {"p < y.shape[0] and ": ""},
            "Blocks stick out on both sides, so the guard has two halves.",
        ),
        Mistake(
            "keeps threads within the picture, and not within the output",
            {"p < y.shape[0]": "p < x.shape[0]", "q < y.shape[1]": "q < x.shape[1]"},
            "y is smaller than x, by R - 1 rows and S - 1 columns: whose thread are you?",
        ),
        Mistake(
            "takes the first number of `cuda.grid(2)` for the row",
            {"q, p = cuda.grid(2)": "p, q = cuda.grid(2)"},
            "The first is the place along x, and along x lie the columns q.",
        ),
        Mistake(
            "gives every block the same outputs",
            {"cuda.grid(2)": "cuda.threadIdx.x, cuda.threadIdx.y"},
            "`threadIdx` counts from zero in every block. Which block it is belongs into the place as well.",
        ),
        Mistake(
            "moves on by one output from block to block",
            {"cuda.grid(2)": "cuda.threadIdx.x + cuda.blockIdx.x, cuda.threadIdx.y + cuda.blockIdx.y"},
            "Before block number b lie b blocks, each as wide as it has threads: that is `blockDim`.",
        ),
        Mistake(
            "takes the filter for a square one",
            {"range(w.shape[1])": "range(w.shape[0])"},
            "`w.shape` is (R, S), and the two need not be the same.",
        ),
        Mistake(
            "lays the middle of the filter on the pixel",
            {"x[p + r, q + s]": "x[p + r - w.shape[0] // 2, q + s - w.shape[1] // 2]"},
            "There is no padding here: output (p, q) has the *corner* of its window at pixel (p, q).",
        ),
        Mistake(
            "lays the middle of the filter on the pixel, and leaves out what is beyond the picture",
            {
                "x[p + r, q + s] * w[r, s]": "w[r, s] * (x[p + r - w.shape[0] // 2, q + s - w.shape[1] // 2] "
                "if p + r >= w.shape[0] // 2 and q + s >= w.shape[1] // 2 else float32(0))"
            },
            "There is no padding here: output (p, q) has the *corner* of its window at pixel (p, q).",
        ),
        Mistake(
            "counts on a filter of 3 x 3",
            {"range(w.shape[0])": "range(3)", "range(w.shape[1])": "range(3)"},
            "`w.shape` says how large it is, and it is different from launch to launch.",
        ),
        Mistake(
            "is done after the first row of taps",
            {"range(w.shape[0])": "range(1)"},
            "All R x S products belong into one sum, which is written when both loops are over.",
        ),
        Mistake(
            "swaps r and s in the picture",
            {"x[p + r, q + s]": "x[p + s, q + r]"},
            "r counts rows and goes with p, s counts columns and goes with q.",
        ),
        Mistake(
            "exchanges rows and columns of the picture",
            {"x[p + r, q + s]": "x[q + s, p + r]"},
            "p and r count rows, and the row comes first.",
        ),
        Mistake(
            "begins the sum anew in every row of taps",
            {"            for s in": "            total = float32(0)\n            for s in"},
            "All R x S products belong into one sum: it begins once, before both loops.",
        ),
        Mistake(
            "flips the filter",
            {"w[r, s]": "w[w.shape[0] - 1 - r, w.shape[1] - 1 - s]"},
            "The filter lies on the picture as it is.",
        ),
        Mistake(
            "swaps r and s in the filter",
            {"w[r, s]": "w[s, r]"},
            "r counts rows and comes first, in w as in x.",
        ),
        Mistake(
            "adds up in y, which holds nothing yet",
            {"total = float32(0)": "pass", "total +=": "y[p, q] +=", "        y[p, q] = total\n": ""},
            "Nobody has put a zero there. A variable is a register: it costs nothing to add to.",
        ),
        Mistake(
            "adds up in y",
            {"total = float32(0)": "y[p, q] = 0", "total +=": "y[p, q] +=", "        y[p, q] = total\n": ""},
            "The numbers are right. But every tap reads and writes memory, where a variable would stay in a "
            "register.",
        ),
        Mistake(
            "writes y after every row of taps",
            {"        y[p, q] = total\n": "            y[p, q] = total\n"},
            "The numbers are right, and all writes but the last are for nothing.",
        ),
        Mistake(
            "lets neighbouring lanes go down a column",
            _down_the_columns,
            "All numbers are right. But lanes of a warp differ in x: down a column each touches a sector of "
            "its own, side by side eight of them share one.",
        ),
        Mistake(
            "leaves out the last row and column of taps",
            {"range(w.shape[0])": "range(w.shape[0] - 1)", "range(w.shape[1])": "range(w.shape[1] - 1)"},
            "`range(R)` ends at R - 1 already.",
        ),
        Mistake(
            "leaves out the first tap of each row",
            {"range(w.shape[1])": "range(1, w.shape[1])"},
            "Taps are counted from 0.",
        ),
        Mistake(
            "keeps the last product only",
            {"total +=": "total ="},
            "Every tap *adds* to the output.",
        ),
        Mistake(
            "makes whole numbers of the products",
            {"total += x[p + r, q + s] * w[r, s]": "total += int(x[p + r, q + s] * w[r, s])"},
            "What is made an integer loses its fraction.",
        ),
    ),
)
