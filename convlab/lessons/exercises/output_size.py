"""Notebook 01: the height of the output."""

from __future__ import annotations

from collections.abc import Iterator

from convlab.lessons.exercise import Exercise, Mistake
from convlab.problem import ConvProblem


def output_size(H, R, stride, padding, dilation):
    """Return P for H rows, R taps, the same padding above and below."""
    # your code here
    reach = dilation * (R - 1)  # rows from the first tap to the last
    return (H + 2 * padding - reach - 1) // stride + 1


def _cases() -> Iterator[tuple]:
    """(H, R, stride, padding, dilation) along one axis."""
    yield 5, 3, 1, 0, 1
    yield 5, 3, 1, 1, 1
    yield 5, 3, 2, 0, 1
    yield 6, 3, 2, 0, 1  # the last row is not reached
    yield 9, 3, 1, 0, 2
    yield 224, 7, 2, 3, 1
    yield 7, 1, 3, 0, 5
    yield 12, 4, 3, 5, 3
    yield 6, 2, 3, 0, 1  # two windows, and two rows that are not reached
    yield 5, 2, 3, 0, 1


def _answer(H, R, stride, padding, dilation) -> int:
    return ConvProblem(1, H, 99, 1, 1, R, 1, stride=stride, padding=(padding, 0), dilation=(dilation, 1)).P


EXERCISE = Exercise(
    notebook="01",
    statement="output_size(H, R, stride, padding, dilation) returns P, the height of the output.",
    solution=output_size,
    why="The first tap of the window may stand on every row from which the last tap, `reach` rows further, "
    "is still on the padded picture. Of these places every `stride`-th counts, and the first counts always: "
    "that is the + 1.",
    hints=(
        "Count the places where the *first* tap of the window may stand. With stride 1, how many are there?",
        "The last tap lies dilation * (R - 1) rows below the first, and both must be on the padded picture, "
        "which has H + 2 * padding rows.",
        "With stride 1 there are H + 2 * padding - dilation * (R - 1) places. Take every stride-th of them, "
        "beginning with the first, and let nothing hang over: divide the steps that are left, rounding down.",
    ),
    cases=_cases,
    answer=_answer,
    tools=(),
    mistakes=(
        Mistake(
            "forgets the padding",
            {" + 2 * padding": ""},
            "Padding adds rows above and below the picture, and the window may stand on them.",
        ),
        Mistake(
            "pads one side only",
            {"2 * padding": "padding"},
            "The same number of rows is added above *and* below.",
        ),
        Mistake(
            "forgets the stride",
            {" // stride": ""},
            "The window moves on by `stride` rows, so only every stride-th place counts.",
        ),
        Mistake(
            "forgets the dilation",
            {"dilation * (R - 1)": "(R - 1)"},
            "With dilation the taps stand apart, so the window reaches further down.",
        ),
        Mistake(
            "takes dilation * R for the height of the window",
            {"reach - 1": "dilation * R"},
            "Between R taps there are R - 1 gaps; the last tap takes one row, not `dilation` rows.",
        ),
        Mistake(
            "takes dilation for the number of holes between two taps",
            {"dilation * (R - 1)": "(R - 1) * (dilation + 1)"},
            "Dilation is the distance from a tap to the next: with 1 there is no hole between them.",
        ),
        Mistake(
            "rounds up",
            {"(H + 2 * padding - reach - 1) // stride": "-(-(H + 2 * padding - reach - 1) // stride)"},
            "A window that hangs over the last row does not count.",
        ),
        Mistake(
            "counts the steps, not the places",
            {" // stride + 1": " // stride"},
            "From the first place to the last there is one step fewer than there are places.",
        ),
        Mistake(
            "divides with a fraction",
            {"//": "/"},
            "There is no half of a window: what is left over at the end is dropped.",
        ),
        Mistake(
            "multiplies the stride into the taps",
            {"dilation * (R - 1)": "stride * (R - 1)"},
            "Stride moves the window, dilation moves the taps.",
        ),
        Mistake(
            "keeps the size, whatever the padding",
            {"(H + 2 * padding - reach - 1) // stride + 1": "-(-H // stride)"},
            'That is so with the padding called "same". Here the padding is given, and may be anything.',
        ),
        Mistake(
            "stretches the padding, too",
            {"2 * padding": "2 * padding * dilation"},
            "Dilation pulls the taps apart. The border of zeros stays as it is.",
        ),
        Mistake(
            "forgets the row that the last tap stands on",
            {"reach - 1": "reach"},
            "From the first tap to the last it is `reach` rows, but the window covers one more.",
        ),
        Mistake(
            "adds the first place before it divides",
            {"reach - 1) // stride + 1": "reach - 1 + 1) // stride"},
            "The first place counts always. What is divided by the stride are the steps from there.",
        ),
    ),
)
