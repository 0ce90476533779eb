"""Notebook 09: how wide it is there, and back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.lessons.exercise import Exercise, Mistake
from convlab.problem import ConvProblem


def transposed_size(W, S, stride, padding, dilation):
    """Return (Q, size, output_padding): there, back, and what brings it back to W."""
    # your code here
    reach = dilation * (S - 1)  # columns from the first tap to the last
    Q = (W + 2 * padding - reach - 1) // stride + 1
    size = (Q - 1) * stride + reach + 1 - 2 * padding
    return Q, size, W - size


def _cases() -> Iterator[tuple]:
    """(W, S, stride, padding, dilation)"""
    yield 5, 3, 1, 0, 1
    yield 7, 3, 2, 0, 1
    yield 8, 3, 2, 0, 1  # of 7 and 8 columns it makes as many
    yield 7, 3, 2, 1, 1
    yield 8, 3, 2, 1, 1
    yield 9, 1, 3, 0, 1
    yield 11, 3, 1, 2, 2
    yield 16, 4, 2, 1, 1
    yield 224, 7, 2, 3, 1
    yield 29, 4, 3, 2, 3
    yield 30, 4, 3, 2, 3
    yield 40, 5, 4, 0, 2
    yield 6, 2, 3, 0, 1


def _answer(W, S, stride, padding, dilation) -> np.ndarray:
    """Of all widths that have as many outputs, the transposed convolution makes the least."""

    def outputs(width: int) -> int:
        shape = 1, 1, width, 1, 1, 1, S
        return ConvProblem(*shape, stride=(1, stride), padding=(0, padding), dilation=(1, dilation)).Q

    size = W
    while size > 1 and size - 1 + 2 * padding > dilation * (S - 1) and outputs(size - 1) == outputs(W):
        size -= 1
    return np.array([outputs(W), size, W - size])


_SIZE = "(Q - 1) * stride + reach + 1 - 2 * padding"

EXERCISE = Exercise(
    notebook="09",
    statement="transposed_size(W, S, stride, padding, dilation) returns (Q, size, output_padding), along "
    "one axis: a convolution makes Q columns of W; the transposed one, of the same numbers, makes "
    "`size` columns of these Q; and with this output_padding it makes W of them.",
    solution=transposed_size,
    why="The way back writes where the way there read: the last of Q windows begins (Q - 1) * stride after "
    "the first, covers `reach` + 1 places, and what lies on padding is cut off. What the division dropped, "
    "fewer columns than the stride, is not to be seen in Q: it has to be said.",
    hints=(
        "Q you know from notebook 01. For the way back, lay Q windows down: where does the first begin, and "
        "where does the last one end?",
        "The last window begins (Q - 1) * stride places after the first, and covers dilation * (S - 1) + 1. "
        "`padding` of these places are cut off at each end. What is missing to W then?",
        "size = (Q - 1) * stride + dilation * (S - 1) + 1 - 2 * padding; output_padding = W - size, which "
        "is what the division in Q's formula left over.",
    ),
    cases=_cases,
    answer=_answer,
    parts=("Q", "size", "output_padding"),
    tools=(),
    mistakes=(
        Mistake(
            "takes Q * stride for the size",
            {_SIZE: "Q * stride"},
            "That is so only where filter and padding make up for each other. Lay the windows down, and see "
            "how far they reach.",
        ),
        Mistake(
            "takes Q steps from the first window to the last",
            {"(Q - 1) * stride": "Q * stride"},
            "From the first of Q windows to the last it is a step fewer.",
        ),
        Mistake(
            "runs the forward formula on the way back",
            {_SIZE: "(Q + 2 * padding - reach - 1) // stride + 1"},
            "Back, every step of one column of y is `stride` columns of the result: it grows.",
        ),
        Mistake(
            "adds the padding on the way back",
            {"+ 1 - 2 * padding": "+ 1 + 2 * padding"},
            "What was added before the way there is taken away after the way back.",
        ),
        Mistake(
            "forgets the padding on the way back",
            {" + 1 - 2 * padding": " + 1"},
            "The windows reach over the border of zeros, too. It is no part of what comes back.",
        ),
        Mistake(
            "takes the padding away on one side only",
            {"1 - 2 * padding": "1 - padding"},
            "There were columns of zeros on the left *and* on the right.",
        ),
        Mistake(
            "pads the numbers between which zeros were put as it padded the picture",
            {_SIZE: "(Q - 1) * stride + 1 + 2 * padding - reach"},
            "With the zeros in place it is a plain convolution, but its padding is another one: the more "
            "was padded on the way there, the less is on the way back.",
        ),
        Mistake(
            "forgets the filter on the way back",
            {"reach + 1 - 2": "1 - 2"},
            "The last window does not end where it begins: it covers all of its taps.",
        ),
        Mistake(
            "forgets the last tap on the way back",
            {"reach + 1 - 2": "reach - 2"},
            "From the first tap to the last it is `reach` columns, but the window covers one more.",
        ),
        Mistake(
            "forgets the dilation",
            {"dilation * (S - 1)": "(S - 1)"},
            "With dilation the taps stand apart, so a window covers more columns: there, and back.",
        ),
        Mistake(
            "forgets the dilation on the way back",
            {_SIZE: _SIZE.replace("reach", "(S - 1)")},
            "The windows that are written are as wide as those that were read, holes included.",
        ),
        Mistake(
            "takes dilation * S for the width of a window",
            {"reach - 1": "dilation * S", "reach + 1": "dilation * S"},
            "Between S taps there are S - 1 gaps; the last tap takes one column, not `dilation`.",
        ),
        Mistake(
            "puts `stride` zeros between two columns",
            {"(Q - 1) * stride": "(Q - 1) * (stride + 1)"},
            "From one window to the next it is `stride` columns: one less lies between them.",
        ),
        Mistake(
            "counts the steps there, not the places",
            {" // stride + 1": " // stride"},
            "From the first place of the window to the last there is one step fewer than there are places.",
        ),
        Mistake(
            "rounds up on the way there",
            {"(W + 2 * padding - reach - 1) // stride": "-((reach + 1 - W - 2 * padding) // stride)"},
            "A window that hangs over the last column does not count.",
        ),
        Mistake(
            "divides with a fraction",
            {"//": "/"},
            "There is no half of a window. It is because the division drops something that the way back must "
            "be told.",
        ),
        Mistake(
            "never needs an output_padding",
            {"W - size": "0"},
            "Try W = 7 and W = 8 with S = 3, stride 2: Q is the same. How should the way back know which it "
            "was?",
        ),
        Mistake(
            "needs an output_padding of stride - 1, always",
            {"W - size": "stride - 1"},
            "So much may be missing at most. How much it is depends on what the windows did not reach.",
        ),
        Mistake(
            "takes what W leaves over, whatever filter and padding are",
            {"W - size": "W % stride"},
            "What is divided on the way there is not W, but the steps the window can take.",
        ),
        Mistake(
            "turns the sign of output_padding around",
            {"W - size": "size - W"},
            "It says how many columns are *added* to what the transposed convolution makes by itself.",
        ),
        Mistake(
            "comes back to W, always",
            {"Q, size, W - size": "Q, W, 0"},
            "Inputs of `stride` different widths share one Q. By itself the way back makes the smallest of "
            "them.",
        ),
        Mistake(
            "divides by the stride, and multiplies by it on the way back",
            {
                "(W + 2 * padding - reach - 1) // stride + 1": "W // stride",
                _SIZE: "Q * stride",
            },
            "That is so only where filter and padding make up for each other. Lay the windows down, there "
            "and back.",
        ),
        Mistake(
            "has output_padding in the size already",
            {"Q, size, W": "Q, W, W"},
            "`size` is what the transposed convolution makes without it.",
        ),
    ),
)
