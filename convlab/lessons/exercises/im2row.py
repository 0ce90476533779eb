"""Notebook 02: every window becomes a row."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from convlab.algorithms.im2row import im2row
from convlab.lessons.cases import windows
from convlab.lessons.exercise import Exercise, Mistake
from convlab.problem import ConvProblem


def my_im2row(x, R, S, stride, padding):
    """Return the matrix of windows (N*P*Q, R*S*C) of x (N, H, W, C)."""
    # your code here: sliding_window_view helps, mind the order of the axes
    padded = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    every = sliding_window_view(padded, (R, S), axis=(1, 2))  # a view, (N, places, places, C, R, S)
    view = every[:, ::stride, ::stride]
    N, P, Q, C, _, _ = view.shape
    return view.transpose(0, 1, 2, 4, 5, 3).reshape(N * P * Q, R * S * C)


def _answer(x, R, S, stride, padding) -> np.ndarray:
    N, H, W, C = x.shape
    return im2row(x, ConvProblem(N, H, W, C, 1, R, S, stride=stride, padding=padding))


def _pixel(index, x, R, S, stride, padding) -> tuple[str, list[tuple[int, ...]]]:
    """Return the number of x that cell (m, k) of the matrix is."""
    (m, k), (N, H, W, C) = index, x.shape
    P, Q = (H + 2 * padding - R) // stride + 1, (W + 2 * padding - S) // stride + 1
    n, p, q = (int(i) for i in np.unravel_index(m, (N, P, Q)))
    r, s, c = (int(i) for i in np.unravel_index(k, (R, S, C)))
    return "x", [(n, p * stride - padding + r, q * stride - padding + s, c)]


_PAD = "((0, 0), (padding, padding), (padding, padding), (0, 0))"

EXERCISE = Exercise(
    notebook="02",
    statement="my_im2row(x, R, S, stride, padding) returns the matrix of windows, (N*P*Q, R*S*C).",
    solution=my_im2row,
    why="`sliding_window_view` moves no number: it only describes all windows, with the axes of the window "
    "last. Put the channels behind them, and `reshape` writes the matrix, which is the one copy that im2row "
    "makes.",
    hints=(
        "Take one window out of the picture and flatten it. Which of its axes runs fastest in a row of the "
        "matrix: r, s or c? And which window comes in the next row: the one on the right, or the one below?",
        "`sliding_window_view(padded, (R, S), axis=(1, 2))` has the axes (N, places down, places across, C, "
        "R, S), for stride 1. Take every `stride`-th place, and bring the axes into the order N, P, Q, R, S, "
        "C before you reshape.",
        "Pad rows and columns with zeros; view = sliding_window_view(...)[:, ::stride, ::stride]; then "
        "view.transpose(0, 1, 2, 4, 5, 3).reshape(N * P * Q, R * S * C), with N, P and Q from view.shape.",
    ),
    cases=windows,
    answer=_answer,
    shapes={"x": "NHWC", "return": ("NPQ", "RSC")},
    window=_pixel,
    mistakes=(
        Mistake(
            "leaves the columns in the order c, r, s",
            {".transpose(0, 1, 2, 4, 5, 3)": ""},
            "`sliding_window_view` puts the axes of the window last, behind the channels. In a row of im2row "
            "the channels of one pixel lie side by side.",
        ),
        Mistake(
            "has the columns in the order s, r, c",
            {"4, 5, 3": "5, 4, 3"},
            "A window is read as a text is: along its first row of taps, then along the next.",
        ),
        Mistake(
            "goes through the windows column by column",
            {"(0, 1, 2, 4, 5, 3)": "(0, 2, 1, 4, 5, 3)"},
            "The window in the next row of the matrix is the one on the right; q runs faster than p.",
        ),
        Mistake(
            "takes the same place in all pictures before it moves on",
            {"(0, 1, 2, 4, 5, 3)": "(1, 2, 0, 4, 5, 3)"},
            "All windows of the first picture come before any of the second: n is the slowest.",
        ),
        Mistake(
            "has a column for each window",
            {"reshape(N * P * Q, R * S * C)": "reshape(N * P * Q, R * S * C).T"},
            "That is the matrix the other way round. Here a window is a row.",
        ),
        Mistake(
            "cuts the flat numbers into rows of another length",
            {"reshape(N * P * Q, R * S * C)": "reshape(R * S * C, N * P * Q)"},
            "`reshape` moves nothing, it cuts the same run of numbers into rows. A row has to be as long as "
            "a window has numbers.",
        ),
        Mistake(
            "ignores the stride",
            {"[:, ::stride, ::stride]": ""},
            "`sliding_window_view` moves the window by one pixel; only every `stride`-th place counts.",
        ),
        Mistake(
            "moves the window by one pixel, whatever the stride",
            {"::stride, ::stride": ": -(-every.shape[1] // stride), : -(-every.shape[2] // stride)"},
            "Output (p, q) looks at the window whose corner is at (p * stride, q * stride).",
        ),
        Mistake(
            "lays the windows side by side",
            {"::stride, ::stride": "::R, ::S"},
            "From one window to the next it is `stride` pixels, not a whole window: they overlap.",
        ),
        Mistake(
            "steps the taps by the stride",
            {
                "(R, S), axis": "(stride * (R - 1) + 1, stride * (S - 1) + 1), axis",
                "[:, ::stride, ::stride]": "[..., ::stride, ::stride]",
            },
            "Stride moves the window; its pixels stay neighbours. Pulling the taps apart is dilation.",
        ),
        Mistake(
            "ignores the padding",
            {_PAD: "0"},
            "A border of zeros belongs around the picture, and there are windows that reach into it.",
        ),
        Mistake(
            "puts the zeros below and on the right only",
            {"(padding, padding), (padding, padding)": "(0, 2 * padding), (0, 2 * padding)"},
            "Half of the border lies above and on the left: the first window begins outside of the picture.",
        ),
        Mistake(
            "pads the batch and the channels, too",
            {_PAD: "padding"},
            "One number for `np.pad` means all axes. Pictures and channels get no border.",
        ),
        Mistake(
            "unrolls the first picture only",
            {"N, P, Q, C, _, _ =": "view = view[:1]\n    N, P, Q, C, _, _ ="},
            "Every picture of the batch has windows of its own, and rows in the matrix.",
        ),
        Mistake(
            "swaps R and S",
            {"(R, S), axis": "(S, R), axis"},
            "R counts the rows of a window and S its columns.",
        ),
        Mistake(
            "counts the steps of the window, not its places",
            {"[:, ::stride, ::stride]": "[:, ::stride, ::stride][:, :-1, :-1]"},
            "From the first place to the last there is one step fewer than there are places.",
        ),
        Mistake(
            "stops one place too early",
            {"::stride, ::stride": ":-1:stride, :-1:stride"},
            "The last place of a window of R rows is H - R, on the padded picture, and it counts.",
        ),
    ),
)
