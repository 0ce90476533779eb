"""A convolution in little memory: no matrix of all windows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convlab.interview.coding.tasks.cases import convolved, looped, most_bytes, pictures
from convlab.interview.coding.tasks.conv2d_nchw import (
    EDGE,
    EVERY_AXIS,
    FLIPPED,
    ONE_SIDED,
    PAD,
    SAME,
    SIZE,
    UNPADDED,
    asked,
)
from convlab.lessons.exercise import Mistake
from convlab.support.units import bytes_text

TIMES = 6  # what x takes may be held so many times, y among it


def conv2d(x, w, padding):
    """Return y (N, K, P, Q) for x (N, C, H, W) and w (K, C, R, S)."""
    # your code here
    K, C, R, S = w.shape
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    P, Q = padded.shape[2] - R + 1, padded.shape[3] - S + 1
    y = np.zeros((len(x), K, P, Q), x.dtype)
    for r, s in np.ndindex(R, S):
        for image, out in zip(padded, y, strict=True):
            pixels = image[:, r : r + P, s : s + Q].reshape(C, P * Q)  # what tap (r, s) reads: a copy
            out += (w[:, :, r, s] @ pixels).reshape(K, P, Q)
    return y


_SMALL, _WIDE = (2, 2, 6, 6, 2, 2, 3, 2), (2, 12, 6, 30, 12, 12, 3, 2)  # pictures, rows and taps are the same
_LAYER = (2, 16, 24, 28, 16, 16, 5, 5)
*_, _R, _S = _LAYER


def _lean(function: Callable) -> str:
    """Count the bytes that it holds, and the lines of Python that run where lines and channels are longer."""
    if more := looped(function, _SMALL, _WIDE):
        return (
            f"{more}, though only its lines and channels are longer. Loops over pictures, rows and taps may "
            "stay; let NumPy go over columns, channels and filters."
        )
    ((x, w),) = pictures(_LAYER)
    held = most_bytes(function, x, w, 2)
    if held > TIMES * x.nbytes:
        (N, C, *_), (_, _, R, S) = x.shape, w.shape
        matrix = N * convolved(x[:1, :1], w[:1, :1], 2).size * C * R * S * x.itemsize
        return (
            f"For a picture of {bytes_text(x.nbytes)} and filters of {R} x {S} it holds {bytes_text(held)} "
            f"at once, and may hold {bytes_text(TIMES * x.nbytes)}. The matrix of all windows would take "
            f"{bytes_text(matrix)}: which part of it is needed at any moment?"
        )
    return ""


EXERCISE = asked(
    statement=f"{SAME} In little memory: with K = C and a filter of {_R} x {_S} the matrix of im2col takes "
    f"{_R * _S} times what x takes. Yours may hold {TIMES} times as much at once, y and all else together. "
    "Loops over pictures, rows and taps may stay; none over columns, channels or filters.",
    solution=conv2d,
    why="Tap by tap the picture, shifted, is multiplied by a matrix of weights (K, C) and added: one copy "
    "of the picture at a time, where im2col has R x S of them. It reads and writes y as often, which is the "
    "price.",
    hints=(
        "How many bytes has the matrix of all windows, and how often does each pixel stand in it? Need all "
        "of it be there at once?",
        "Either go tap by tap: each adds a product (K, C) by (C, P*Q) to y. Or go row by row: the windows of "
        "one row of outputs are a small matrix.",
        "For every picture and (r, s): y[n] += (w[:, :, r, s] @ image[:, r : r + P, s : s + Q].reshape(C, P "
        "* Q)).reshape(K, P, Q).",
    ),
    method=_lean,
    mistakes=(
        Mistake("flips the filter", {"w[:, :, r, s]": "w[:, :, R - 1 - r, S - 1 - s]"}, FLIPPED),
        Mistake("ignores the padding", {PAD: "0"}, UNPADDED),
        ONE_SIDED,
        EVERY_AXIS,
        EDGE,
        Mistake("has a row and a column too few", {"- R + 1": "- R", "- S + 1": "- S"}, SIZE),
        Mistake("keeps the last tap only", {"out += (": "out[:] = ("}, "Every tap *adds* to the output."),
        Mistake(
            "reads the same pixels for every tap",
            {"r : r + P, s : s + Q": ":P, :Q"},
            "Tap (r, s) reads the picture r rows further down and s columns further right.",
        ),
        Mistake(
            "leaves out the last row and column of taps",
            {"in np.ndindex(R, S)": "in np.ndindex(max(R - 1, 1), max(S - 1, 1))"},
            "A range of R ends at R - 1 already.",
        ),
        Mistake(
            "adds all pictures up in the first",
            {"zip(padded, y, strict=True)": "((image, y[0]) for image in padded)"},
            "Every picture of the batch has an output of its own.",
        ),
        Mistake(
            "writes into whole numbers",
            {
                "x.dtype": "int",
                "out += (w[:, :, r, s] @ pixels)": "out += (w[:, :, r, s] @ pixels).astype(int)",
            },
            "An array of integers drops the fraction of everything that is written into it.",
        ),
        Mistake(
            "swaps r and s in the filter",
            {"w[:, :, r, s]": "w[:, :, min(s, R - 1), min(r, S - 1)]"},
            "r counts rows and goes with p, s counts columns and goes with q.",
        ),
    ),
)
