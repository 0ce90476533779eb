"""Notebook 02: every window becomes a column."""

from __future__ import annotations

import numpy as np

from convlab.algorithms.im2col import im2col
from convlab.lessons.cases import windows
from convlab.lessons.exercise import Exercise, Mistake
from convlab.lessons.exercises.im2row import EXERCISE as IM2ROW
from convlab.problem import ConvProblem


def my_im2col(x, R, S, stride, padding):
    """Return the matrix of windows lying the other way, (C*R*S, N*P*Q)."""
    # your code here
    N, H, W, C = x.shape
    P = (H + 2 * padding - R) // stride + 1
    Q = (W + 2 * padding - S) // stride + 1
    padded = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    cols = np.empty((C, R, S, N, P, Q), x.dtype)
    for r in range(R):
        for s in range(S):
            # What tap (r, s) reads for all outputs: the picture, shifted.
            shifted = padded[:, r : r + P * stride : stride, s : s + Q * stride : stride]
            cols[:, r, s] = shifted.transpose(3, 0, 1, 2)
    return cols.reshape(C * R * S, N * P * Q)


def _answer(x, R, S, stride, padding) -> np.ndarray:
    N, H, W, C = x.shape
    return im2col(x, ConvProblem(N, H, W, C, 1, R, S, stride=stride, padding=padding))


def _pixel(index, x, R, S, stride, padding) -> tuple[str, list[tuple[int, ...]]]:
    """Return the number of x that a cell of the matrix is: im2row's, in another row."""
    c, tap = divmod(index[0], R * S)
    assert IM2ROW.window is not None
    return IM2ROW.window((index[1], tap * x.shape[3] + c), x, R, S, stride, padding)


_SHAPE = "C * R * S, N * P * Q"

EXERCISE = Exercise(
    notebook="02",
    statement="my_im2col(x, R, S, stride, padding) returns the matrix lying the other way, (C*R*S, N*P*Q).",
    solution=my_im2col,
    why="A row of this matrix is one channel of the whole batch as one tap sees it, shifted. So two loops "
    "over the taps fill it, and each copies whole pictures.",
    hints=(
        "What is *one row* of this matrix, laid out as a picture again? The nine portraits above show it.",
        "Tap (r, s) reads, for all outputs at once, the rows r, r + stride, ... and the columns s, s + "
        "stride, ... of the padded picture: P of the ones and Q of the others.",
        "Fill an array (C, R, S, N, P, Q): cols[:, r, s] is padded[:, r : r + P * stride : stride, s : s + Q "
        "* stride : stride] with its channels first. At the end reshape it to (C * R * S, N * P * Q).",
    ),
    cases=windows,
    answer=_answer,
    shapes={"x": "NHWC", "return": ("CRS", "NPQ")},
    window=_pixel,
    mistakes=(
        Mistake(
            "leaves the rows in the order r, s, c",
            {"return cols": "return cols.transpose(1, 2, 0, 3, 4, 5)"},
            "That is im2row's order, transposed. Where pictures lie channel by channel, c is the slowest.",
        ),
        Mistake(
            "has a row for each window",
            {
                "return cols": "return cols.transpose(3, 4, 5, 0, 1, 2)",
                _SHAPE: "N * P * Q, C * R * S",
            },
            "That is im2row's way to lie. Here a window is a column.",
        ),
        Mistake(
            "does what im2row does",
            {
                "return cols": "return cols.transpose(3, 4, 5, 1, 2, 0)",
                _SHAPE: "N * P * Q, C * R * S",
            },
            "Here a window is a column, and its channels are the slowest of the rows.",
        ),
        Mistake(
            "changes the shape where it should change the order",
            {"return cols": "return cols.transpose(3, 4, 5, 0, 1, 2)"},
            "`reshape` moves nothing, it cuts the same run of numbers into rows. To turn a matrix takes a "
            "transpose.",
        ),
        Mistake(
            "has the matrices of all pictures one below the other, cut anew",
            {"return cols": "return cols.transpose(3, 0, 1, 2, 4, 5)"},
            "Each picture's matrix has its columns beside those of the one before: N counts columns here.",
        ),
        Mistake(
            "reshapes the shifted pictures where it should turn them",
            {"shifted.transpose(3, 0, 1, 2)": "shifted.reshape(C, N, P, Q)"},
            "`reshape` does not bring the channels to the front: it cuts the same run of numbers otherwise.",
        ),
        Mistake(
            "runs down the columns of a window first",
            {"return cols": "return cols.swapaxes(1, 2)"},
            "A window is read as a text is: along its first row of taps, then along the next.",
        ),
        Mistake(
            "goes through the windows column by column",
            {"return cols": "return cols.swapaxes(4, 5)"},
            "The window in the next column of the matrix is the one on the right; q runs faster than p.",
        ),
        Mistake(
            "takes the same place in all pictures before it moves on",
            {"return cols": "return cols.transpose(0, 1, 2, 4, 5, 3)"},
            "All windows of the first picture come before any of the second: n is slower than p and q.",
        ),
        Mistake(
            "ignores the stride",
            {"// stride": "// 1", "P * stride : stride": "P", "Q * stride : stride": "Q"},
            "The window moves on by `stride` pixels, and the matrix is smaller by that.",
        ),
        Mistake(
            "takes neighbours, whatever the stride",
            {"r : r + P * stride : stride, s : s + Q * stride : stride": "r : r + P, s : s + Q"},
            "From one output to the next the window moves by `stride`, and so does each of its taps.",
        ),
        Mistake(
            "ignores the padding",
            {"2 * padding": "0", "(padding, padding), (padding, padding)": "(0, 0), (0, 0)"},
            "A border of zeros belongs around the picture, and there are windows that reach into it.",
        ),
        Mistake(
            "puts the zeros below and on the right only",
            {"(padding, padding), (padding, padding)": "(0, 2 * padding), (0, 2 * padding)"},
            "Half of the border lies above and on the left: the first window begins outside of the picture.",
        ),
        Mistake(
            "unrolls the first picture only",
            {"N, H, W, C = x.shape": "x = x[:1]\n    N, H, W, C = x.shape"},
            "Every picture of the batch has windows of its own, and columns in the matrix.",
        ),
        Mistake(
            "swaps R and S",
            {"# your code here": "R, S = S, R"},
            "R counts the rows of a window and S its columns.",
        ),
        Mistake(
            "shifts the other way",
            {"cols[:, r, s]": "cols[:, R - 1 - r, S - 1 - s]"},
            "Tap (0, 0) is the upper left corner of the window. Windows are not turned around here.",
        ),
    ),
)
