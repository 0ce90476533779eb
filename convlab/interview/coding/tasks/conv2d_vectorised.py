"""A convolution with no loop over pictures, channels or outputs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from convlab.interview.coding.tasks.cases import looped
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


def conv2d(x, w, padding):
    """Return y (N, K, P, Q) for x (N, C, H, W) and w (K, C, R, S)."""
    # your code here
    R, S = w.shape[2:]
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = sliding_window_view(padded, (R, S), axis=(2, 3))  # (N, C, P, Q, R, S)
    y = np.tensordot(windows, w, ((1, 4, 5), (1, 2, 3)))  # (N, P, Q, K)
    return y.transpose(0, 3, 1, 2)


_SMALL, _LARGE = (1, 2, 4, 5, 2, 2, 3, 2), (9, 10, 12, 15, 10, 10, 3, 2)  # the same taps


def _no_loops(function: Callable) -> str:
    """Count the lines of Python that run: for a larger layer no more than for a small one."""
    more = looped(function, _SMALL, _LARGE)
    rest = "there is a loop over more than taps. Let NumPy go over pictures, channels and outputs."
    return f"{more}: {rest}" * bool(more)


EXERCISE = asked(
    statement=f"{SAME} Vectorised: no loop of Python, open or hidden, over pictures, channels, filters or "
    "outputs. One over the R x S taps may stay.",
    solution=conv2d,
    why="All windows are a view of the padded picture: two more axes, and no copy yet. Channels, rows and "
    "columns of taps are summed over at once, which is one product of matrices.",
    hints=(
        "Which of your loops sum up, and which only repeat? What would an array look like that holds all "
        "windows at once?",
        "`sliding_window_view(padded, (R, S), axis=(2, 3))` is (N, C, P, Q, R, S). Which of these axes has "
        "w, too? Or keep a loop over (r, s): each tap is a shifted picture times a matrix (K, C).",
        'np.einsum("ncpqrs,kcrs->nkpq", windows, w), or np.tensordot over the axes (1, 4, 5) and (1, 2, 3) '
        "and then the channels to the second place.",
    ),
    method=_no_loops,
    mistakes=(
        Mistake("flips the filter", {"windows, w,": "windows, w[:, :, ::-1, ::-1],"}, FLIPPED),
        Mistake("ignores the padding", {PAD: "0"}, UNPADDED),
        ONE_SIDED,
        EVERY_AXIS,
        EDGE,
        Mistake(
            "leaves the filters last",
            {"y.transpose(0, 3, 1, 2)": "y"},
            "What is not summed over comes first of the one, then of the other: look at the shape.",
        ),
        Mistake(
            "puts the filters before the pictures",
            {"y.transpose(0, 3, 1, 2)": "y.transpose(3, 0, 1, 2)"},
            "The batch comes first, then the channels of the output.",
        ),
        Mistake(
            "gives the numbers another shape where their axes should change places",
            {"y.transpose(0, 3, 1, 2)": "y.reshape(len(x), len(w), *y.shape[1:3])"},
            "`reshape` leaves all numbers in their order; `transpose` moves axes.",
        ),
        Mistake(
            "has a row and a column too few",
            {"axis=(2, 3))": "axis=(2, 3))[:, :, :-1, :-1]"},
            SIZE,
        ),
        Mistake(
            "reads the first channel only",
            {"(windows, w, ((1, 4, 5), (1, 2, 3)))": "(windows[:, 0], w[:, 0], ((3, 4), (1, 2)))"},
            "An output adds up all channels; each has weights of its own.",
        ),
        Mistake(
            "adds the weights of all channels up first",
            {"windows, w,": "windows, np.broadcast_to(w.mean(axis=1, keepdims=True), w.shape),"},
            "Every channel has weights of its own.",
        ),
        Mistake(
            "takes rows of a window for its columns",
            {
                "sliding_window_view(padded, (R, S), axis=(2, 3))": "sliding_window_view(padded, (S, R), "
                "(2, 3)).swapaxes(4, 5)"
            },
            "R rows and S columns: the first goes along the axis of H.",
        ),
    ),
)
