"""Notebook 01: two faults in loops that were printed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.lessons.cases import pictures
from convlab.lessons.exercise import Exercise, Mistake
from convlab.oracle import reference
from convlab.problem import ConvProblem


def mend(x, w, stride, top, left):
    """Return y: `top` rows of zeros above and below x, `left` columns on either side."""
    # your code here: two faults are in the lines below
    N, H, W, C = x.shape
    K, R, S, _ = w.shape
    P, Q = (H + 2 * top - R) // stride + 1, (W + 2 * left - S) // stride + 1
    y = np.zeros((N, P, Q, K), x.dtype)
    for n, p, q, k in np.ndindex(N, P, Q, K):
        for r, s, c in np.ndindex(R, S, C):
            row = p * stride + r - top
            col = q * stride + s - left
            if 0 <= row < H and 0 <= col < W:
                y[n, p, q, k] += x[n, row, col, c] * w[k, r, s, c]
    return y


def _cases() -> Iterator[tuple]:
    """(x, w, stride, top, left)"""
    shapes = (
        ((1, 3, 4, 1, 1, 2, 2), 1, (0, 0)),
        ((1, 3, 3, 1, 1, 2, 2), 1, (1, 1)),
        ((1, 3, 4, 1, 1, 2, 3), 1, (0, 1)),
        ((1, 4, 3, 1, 1, 3, 2), 1, (2, 0)),
        ((1, 5, 4, 2, 3, 2, 3), 2, (1, 2)),
        ((2, 6, 5, 2, 2, 3, 1), 1, (2, 1)),
        ((1, 5, 6, 1, 1, 2, 2), 3, (0, 0)),
        ((2, 7, 6, 3, 4, 3, 2), 2, (0, 2)),
    )
    for x, w, stride, (top, left) in pictures(*shapes):
        yield x, w, stride, top, left


def _answer(x, w, stride, top, left) -> np.ndarray:
    return reference(x, w, ConvProblem.of(x, w, stride=stride, padding=(top, left)))


def _window(index: tuple[int, ...], x, w, stride, top, left) -> tuple[str, list[tuple[int, ...]]]:
    n, p, q, *_ = index
    _, R, S = w.shape[:3]
    return "x", [(n, p * stride - top + r, q * stride - left + s, 0) for r in range(R) for s in range(S)]


_ROW, _COL = "row = p * stride + r - top", "col = q * stride + s - left"
_INSIDE = "0 <= row < H and 0 <= col < W"
_HALF = {_INSIDE: "row < H and col < W"}
_CROSSED = {_ROW: "row = p * stride + r - left", _COL: "col = q * stride + s - top"}

EXERCISE = Exercise(
    notebook="01",
    statement="mend(x, w, stride, top, left) returns y (N, P, Q, K): `top` rows of zeros above and below x, "
    "`left` columns on either side. Two faults are in it.",
    solution=mend,
    why="Rows go with `top`, columns with `left`; and a tap is on the picture if it is beyond neither edge. "
    "XNNPACK asks one question an axis (src/indirection.c), and is right: its row is an unsigned number, "
    "which is huge where it should be negative.",
    hints=(
        "Case 1 has no padding, and is right: both faults have to do with the border. What must be true of "
        "`row` and `col` so that x is read only where it is?",
        "In Python x[n, -1] is no error: it is the last row. And in a case with padding on one axis only, "
        "which rows and columns does the first output read?",
        "The question must reject numbers below 0, too: 0 <= row < H and 0 <= col < W. And `top` and `left` "
        "have changed places.",
    ),
    cases=_cases,
    answer=_answer,
    shapes={"x": "NHWC", "w": "KRSC", "return": "NPQK"},
    window=_window,
    faults=_HALF | _CROSSED,
    mistakes=(
        Mistake(
            "has both faults still",
            _HALF | _CROSSED,
            "Take the first output that is wrong, and work out by hand which pixels its taps read.",
        ),
        Mistake(
            "has one fault still, in the question",
            _HALF,
            "The paddings are right now. Which row is x[n, -1] in Python?",
        ),
        Mistake(
            "has one fault still, in the geometry",
            _CROSSED,
            "The question is right now. Look at a case whose two paddings are not alike.",
        ),
        Mistake(
            "has its rows right, and moves the columns by the padding of the rows",
            {_COL: _CROSSED[_COL]},
            "`left` is the padding of the columns.",
        ),
        Mistake(
            "has its columns right, and moves the rows by the padding of the columns",
            {_ROW: _CROSSED[_ROW]},
            "`top` is the padding of the rows.",
        ),
        Mistake(
            "lets taps through that are beyond the last row or column",
            {_INSIDE: "0 <= row < H or 0 <= col < W"},
            "The last row is H - 1, the last column W - 1; and a tap must be on the picture both ways.",
        ),
        Mistake(
            "leaves out row 0 and column 0",
            {_INSIDE: "0 < row < H and 0 < col < W"},
            "They belong to the picture.",
        ),
        Mistake(
            "ends the picture where the output ends",
            {_INSIDE: "0 <= row < min(P, H) and 0 <= col < min(Q, W)"},
            "A tap reads the *input*. XNNPACK's im2col asked about the output's size, too, as long as it had "
            "one (src/im2col.c): with stride 1 and the size kept, no test can tell.",
        ),
        Mistake(
            "adds zeros above and on the left only",
            {"H + 2 * top": "H + top", "W + 2 * left": "W + left"},
            "There are as many below the picture, and on its right.",
        ),
        Mistake(
            "adds the padding where it should take it away",
            {"r - top": "r + top", "s - left": "s + left"},
            "The first window begins *above* the picture: its first row has a negative number.",
        ),
        Mistake(
            "exchanges the paddings in the size of the output, too",
            {"H + 2 * top": "H + 2 * left", "W + 2 * left": "W + 2 * top"} | _CROSSED,
            "`top` rows are added above and below, so P grows with `top`.",
        ),
    ),
)
