"""Notebook 17: what two strips of a picture share."""

from __future__ import annotations

from collections.abc import Iterator

from convlab.distributed.span import Span, Windows
from convlab.lessons.exercise import Exercise, Mistake


def halo(layers):
    """Return how many rows of the picture two strips, one above the other, both need."""
    # your code here: layers has (R, stride, dilation) of each, the first layer first
    reach = 0  # rows from the first that a row of the result looks at to the last
    step = 1  # rows of the picture from one row to the next
    for R, stride, dilation in layers:
        reach += dilation * (R - 1) * step
        step *= stride
    return max(0, reach + 1 - step)


def _cases() -> Iterator[tuple]:
    """(layers,)"""
    yield ([(3, 1, 1)],)
    yield ([(5, 1, 1)],)
    yield ([(3, 1, 1), (3, 1, 1)],)
    yield ([(3, 2, 1)],)
    yield ([(3, 1, 2)],)
    yield ([(2, 2, 1), (2, 2, 1)],)  # side by side
    yield ([(1, 2, 1)],)  # with a gap
    yield ([(3, 2, 1), (3, 1, 1)],)
    yield ([(3, 1, 1), (3, 2, 1)],)
    yield ([(5, 1, 1), (1, 3, 1)],)  # the second leaves gaps, and the first closes them
    yield ([(4, 3, 3), (2, 4, 2), (3, 1, 1)],)
    yield ([(7, 2, 1), (3, 2, 1), (3, 1, 1), (3, 1, 1), (1, 2, 1), (3, 1, 4)],)


def _answer(layers) -> int:
    """Two strips are laid down, and followed from layer to layer back to the picture."""
    above, below = Span(0, 40), Span(40, 43)
    for R, stride, dilation in reversed(layers):
        layer = Windows(size=10**9, out=10**9, stride=stride, taps=R, dilation=dilation)
        above, below = layer.look_at(above), layer.look_at(below)
    return max(0, above.stop - below.start)


EXERCISE = Exercise(
    notebook="17",
    statement="halo(layers) returns how many rows of the picture two strips, one above the other, both "
    "need; `layers` has (R, stride, dilation) of each layer, from the first to the last. A strip needs all "
    "rows from the first that it looks at to the last, holes among them; the edge of the picture is far.",
    solution=halo,
    why="One row of the result looks at `reach` + 1 rows of the picture, and the next row at as many, `step` "
    "rows further down. So what two neighbours share does not depend on how tall the strips are. A layer "
    "adds to the reach in its own rows, each of which is as thick as all strides before it.",
    hints=(
        "Take one layer. The last row of the upper strip looks at some rows, the first row of the lower one "
        "at as many. How far apart do the two windows begin?",
        "A window of one layer covers dilation * (R - 1) + 1 rows, and the next begins `stride` further "
        "down. For several layers you need both numbers in rows of the picture: a row between two layers "
        "is as many of these as the product of the strides before it.",
        "reach += dilation * (R - 1) * step, then step *= stride, layer after layer, from 0 and 1. Both "
        "strips need reach + 1 - step rows, or none, if that is below zero.",
    ),
    cases=_cases,
    answer=_answer,
    mistakes=(
        Mistake(
            "tells all that a row of the result looks at",
            {"reach + 1 - step": "reach + 1"},
            "That is the receptive field. The lower strip begins a little further down than the last row of "
            "the upper one: not all of it is shared.",
        ),
        Mistake(
            "begins the next window one row further down, whatever the stride",
            {"reach + 1 - step": "reach"},
            "With a stride the windows of two neighbours lie further apart, and share less.",
        ),
        Mistake(
            "subtracts the step, and forgets a row",
            {"reach + 1 - step": "reach - step"},
            "From the first row to the last it is `reach` rows, but what is looked at is one more.",
        ),
        Mistake(
            "adds R - 1 rows for a layer, whatever its stride and its dilation",
            {"dilation * (R - 1) * step": "R - 1", "reach + 1 - step": "reach"},
            "So it is if all windows are next to each other and have no holes. Draw a layer of stride 2.",
        ),
        Mistake(
            "adds the reaches as if there were no strides",
            {" * step": ""},
            "A row between two layers stands for several of the picture, if there was a stride before it.",
        ),
        Mistake(
            "counts a layer's own stride into its reach",
            {" * step": " * step * stride"},
            "The taps of a layer stand on rows of its *input*: only the strides before it make those thick.",
        ),
        Mistake(
            "moves on by the stride of the last layer alone",
            {"reach + 1 - step": "reach + 1 - stride"},
            "One row of the result is a step of the last layer; how many rows of the picture is that?",
        ),
        Mistake(
            "adds the strides",
            {"step *= stride": "step += stride - 1"},
            "Every second of every second row is every fourth: strides are multiplied.",
        ),
        Mistake(
            "forgets the dilation",
            {"dilation * (R - 1)": "(R - 1)"},
            "With dilation the taps stand apart, so a window reaches further.",
        ),
        Mistake(
            "takes dilation * R for the height of a window",
            {"dilation * (R - 1)": "(dilation * R - 1)"},
            "Between R taps there are R - 1 gaps; the last tap takes one row, not `dilation` rows.",
        ),
        Mistake(
            "takes dilation for the number of holes between two taps",
            {"dilation * (R - 1)": "(dilation + 1) * (R - 1)"},
            "Dilation is the distance from a tap to the next: with 1 there is no hole between them.",
        ),
        Mistake(
            "adds R rows for a layer",
            {"dilation * (R - 1)": "dilation * R"},
            "A window of R rows reaches R - 1 rows further than its first one.",
        ),
        Mistake(
            "tells the border on one side",
            {"reach + 1 - step": "(reach + 1 - step) // 2"},
            "So many rows lie on either side of the cut. Both strips need those above it *and* those below.",
        ),
        Mistake(
            "shares less than nothing",
            {"max(0, reach + 1 - step)": "reach + 1 - step"},
            "Where windows leave a gap between them, nothing is shared. There is no less than that.",
        ),
        Mistake(
            "goes from the last layer to the first",
            {"in layers": "in reversed(layers)"},
            "A stride makes the rows *behind* it thick. Which layers does the first one's stride concern?",
        ),
        Mistake(
            "looks at the first layer only",
            {"in layers": "in layers[:1]"},
            "Each layer looks a little further than the one behind it: the border grows from layer to layer.",
        ),
        Mistake(
            "looks at the last layer only",
            {"in layers": "in layers[-1:]"},
            "That is what it needs of the array before it. To compute this, more of the picture is needed.",
        ),
        Mistake(
            "adds up what each layer by itself shares",
            {"reach + 1 - step": "sum(max(0, d * (R - 1) + 1 - stride) for R, stride, d in layers)"},
            "Those are rows of different arrays. Count all of them in rows of the picture.",
        ),
        Mistake(
            "begins anew where a layer leaves gaps",
            {
                "reach = 0": "shared = 0",
                "in layers": "in reversed(layers)",
                "reach += dilation * (R - 1) * step": "shared = shared * stride + dilation * (R - 1) + 1",
                "step *= stride": "shared = max(0, shared - stride)",
                "max(0, reach + 1 - step)": "shared",
            },
            "A gap between two layers has a width as well, and the layers before it have to close that "
            "first. What is below zero counts until the picture is reached.",
        ),
    ),
)
