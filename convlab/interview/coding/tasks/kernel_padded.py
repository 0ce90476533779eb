"""A kernel for a convolution with padding: right, with no race, within bounds."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from convlab.gpu.numba_cuda import cuda, float32
from convlab.interview.coding.tasks.launches import BLOCK, channels_first
from convlab.lessons.exercise import Mistake
from convlab.lessons.kernel_exercise import KernelExercise, Launch


@cuda.jit
def conv2d(x, w, y, padding):
    # your code here
    K, P, Q = y.shape
    i = cuda.grid(1)
    if i < K * P * Q:
        k, p, q = i // (P * Q), i // Q % P, i % Q
        total = float32(0)
        for c in range(x.shape[0]):
            for r in range(w.shape[2]):
                for s in range(w.shape[3]):
                    row, col = p + r - padding, q + s - padding
                    if 0 <= row < x.shape[1] and 0 <= col < x.shape[2]:
                        total += x[c, row, col] * w[k, c, r, s]
        y[k, p, q] = total


def _cases() -> Iterator[Launch]:
    block = (BLOCK,)
    yield channels_first(1, 4, 9, 1, 2, 2, 0, block)
    yield channels_first(1, 6, 8, 2, 3, 3, 1, block)  # 96 outputs: the last block sticks out
    yield channels_first(2, 5, 4, 3, 2, 3, 1, block)
    yield channels_first(3, 4, 7, 2, 1, 2, 2, block)
    yield channels_first(4, 4, 4, 1, 3, 3, 1, block)
    yield channels_first(2, 7, 5, 2, 3, 2, 1, block, whole=False)


ON = "0 <= row < x.shape[1] and 0 <= col < x.shape[2]"
OUTSIDE = "Where there is no pixel there are zeros: such a tap adds nothing, and must not read memory."
BIASED = "The window of output (p, q) begins `padding` rows above row p, and as many columns further left."

SUM = (
    "conv2d(x, w, y, padding) is a kernel, `@cuda.jit` above it: y[k, p, q] is the sum over c, r, s of x[c, "
    "p + r - padding, q + s - padding] * w[k, c, r, s], with zeros outside of x. x is (C, H, W), w (K, C, "
    "R, S), y (K, P, Q)."
)

EXERCISE = KernelExercise(
    notebook="19",
    statement=f"{SUM} The grid and its blocks of {BLOCK} threads are one-dimensional, with a thread at "
    "least for every number of y. Naive will do.",
    solution=conv2d,
    why="A thread finds out which output is its own, or that there is none. Then three loops, and a "
    "question at each tap: a border of zeros need not lie in memory.",
    hints=(
        "How does thread number i find its k, p and q? And which threads have nothing to do?",
        "i = cuda.grid(1); q = i % Q, p = i // Q % P, k = i // (P * Q). The sum goes over c, r and s, into a "
        "variable. When is a tap beside the picture?",
        "row, col = p + r - padding, q + s - padding; if 0 <= row < H and 0 <= col < W: total += x[c, row, "
        "col] * w[k, c, r, s]. After the loops y[k, p, q] = total.",
    ),
    cases=_cases,
    shapes={"return": "KPQ"},
    generous=inf,  # naive will do
    mistakes=(
        Mistake(
            "lets threads work that have no output",
            {"if i < K * P * Q:": "if True:"},
            "The last block has more threads than there are outputs. They must be told to do nothing.",
        ),
        Mistake(
            "gives every block the same outputs",
            {"cuda.grid(1)": "cuda.threadIdx.x"},
            "`threadIdx` counts from zero in every block: `cuda.grid(1)` counts on.",
        ),
        Mistake("reads wherever a tap falls", {f"if {ON}:": "if True:"}, OUTSIDE),
        Mistake("looks for the edges above and on the left only", {ON: "0 <= row and 0 <= col"}, OUTSIDE),
        Mistake(
            "ends the picture where the output ends",
            {ON: "0 <= row < min(P, x.shape[1]) and 0 <= col < min(Q, x.shape[2])"},
            "A tap reads the *input*: it is H x W.",
        ),
        Mistake("ignores the padding", {" - padding": ""}, BIASED),
        Mistake("adds the padding where it should take it away", {" - padding": " + padding"}, BIASED),
        Mistake(
            "flips the filter",
            {"w[k, c, r, s]": "w[k, c, w.shape[2] - 1 - r, w.shape[3] - 1 - s]"},
            "In a network the filter lies on the picture as it is.",
        ),
        Mistake(
            "reads the first channel only",
            {"range(x.shape[0])": "range(1)"},
            "An output adds up all channels; each has weights of its own.",
        ),
        Mistake("takes the first filter for all", {"w[k, c": "w[0, c"}, "Output channel k has filter k."),
        Mistake("keeps the last product only", {"total +=": "total ="}, "Every tap *adds*."),
        Mistake(
            "begins the sum anew with each channel",
            {
                "        total = float32(0)\n        for c in range(x.shape[0]):\n": "        for c in "
                "range(x.shape[0]):\n            total = float32(0)\n"
            },
            "An output is one sum over all channels: it begins once.",
        ),
        Mistake(
            "repeats the edge where zeros should be",
            {
                f"if {ON}:": "if True:",
                "x[c, row, col]": "x[c, min(max(row, 0), x.shape[1] - 1), min(max(col, 0), x.shape[2] - 1)]",
            },
            "Beside the picture are zeros: a tap there adds nothing.",
        ),
        Mistake(
            "leaves out the last column of taps",
            {"range(w.shape[3])": "range(max(w.shape[3] - 1, 1))"},
            "`range(S)` ends at S - 1 already.",
        ),
        Mistake(
            "takes the filter for a square one",
            {"range(w.shape[3])": "range(min(w.shape[2], w.shape[3]))"},
            "`w.shape` is (K, C, R, S), and R and S need not be the same.",
        ),
        Mistake(
            "adds up in y, which holds nothing yet",
            {"total = float32(0)": "pass", "total +=": "y[k, p, q] +=", "        y[k, p, q] = total\n": ""},
            "Nobody has put a zero there. A variable is a register: it costs nothing to add to.",
        ),
        Mistake(
            "has two threads for every output",
            {"i < K * P * Q": "i // 2 < K * P * Q", "k, p, q = i": "i = i // 2\n        k, p, q = i"},
            "Both write it, and who comes last wins: let each output have one thread.",
        ),
    ),
)
