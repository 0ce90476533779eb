"""Notebook 17: how tall a strip may be."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from convlab.distributed.span import Span, Windows
from convlab.lessons.exercise import Exercise, Mistake


def strip_height(budget, W, channels, R):
    """Return the rows of the tallest strip that takes at most `budget` bytes."""
    # your code here: channels is [C0, C1, ..., CL], the picture's and each layer's
    layers = len(channels) - 1
    row = border = 0  # bytes for every row of the result, and for what lies above and below
    for layer, C in enumerate(channels):
        row += 4 * W * C
        border += 4 * W * C * (layers - layer) * (R - 1)
    return max(0, (budget - border) // row)


def _cases() -> Iterator[tuple]:
    """(budget, W, channels, R)"""
    yield 1000, 5, [1, 1], 3  # to the byte
    yield 1000, 5, [1, 2], 3
    yield 1000, 4, [2, 1, 1], 3
    yield 1000, 7, [3, 5], 1  # no border
    yield 100, 5, [1, 1, 1], 3  # not even the borders
    yield 170, 5, [1, 1, 1], 3  # the borders, and not a row
    yield 10**5, 31, [3, 4, 2, 5], 4
    yield 2**30, 30_000, [3, 8, 8, 4], 5
    yield 4 * 2**30, 20_000, [3, 32, 64, 64, 16], 3
    yield 10**8, 4_000, [1, 16, 2], 7


def _answer(budget, W, channels, R) -> int:
    """One height after the other: the strip is followed from the last layer back to the picture."""
    layer = Windows(size=10**9, out=10**9, taps=R)

    def takes(height: int) -> int:
        rows, numbers = Span(0, height), 0
        for C in reversed(channels):
            numbers += rows.size * W * C
            rows = layer.look_at(rows)
        return 4 * numbers

    return bisect_right(range(1, budget), budget, key=takes)


def _two_at_a_time(budget, W, channels, R):
    height, layers = 0, len(channels) - 1
    while True:
        rows = [(height + 1 + (layers - layer) * (R - 1)) * C for layer, C in enumerate(channels)]
        if 4 * W * max(map(sum, pairwise(rows))) > budget:
            return height
        height += 1


_BORDER = "(layers - layer) * (R - 1)"

EXERCISE = Exercise(
    notebook="17",
    statement="strip_height(budget, W, channels, R) returns how many rows of the result the tallest strip "
    "has that takes at most `budget` bytes, or 0 if one row is too much. There are L layers of R x R filters "
    "at stride 1, and channels = [C0, C1, ..., CL]. In memory are, all at once and in float32, the strip's "
    "part of the picture and of what each layer makes, with all the rows that are needed of it, W wide. The "
    "edge of the picture is far.",
    solution=strip_height,
    why="Every row more of the result is a row more of every array, so memory grows in a straight line: what "
    "the borders take, and then `row` bytes for each row. The borders are thickest at the picture, where "
    "all layers have added theirs.",
    hints=(
        "Take one layer of 3 x 3 and a strip of one row. How many rows of the picture are needed? And how "
        "many for a strip of ten?",
        "For h rows of the result the array before the last layer has h + (R - 1) rows, the one before that "
        "h + 2 * (R - 1), and so on to the picture. Add up the bytes, and look which of them grow with h.",
        "For each row of the result 4 * W * sum(channels) bytes; for the borders 4 * W * C * (L - l) * "
        "(R - 1) bytes for each l from 0 to L. Subtract the borders from the budget, divide, and drop the "
        "rest; below zero it is 0.",
    ),
    cases=_cases,
    answer=_answer,
    mistakes=(
        Mistake(
            "forgets the borders",
            {"budget - border": "budget"},
            "For h rows of the result more than h rows of the picture are needed.",
        ),
        Mistake(
            "lets the border grow towards the result",
            {"(layers - layer)": "layer"},
            "The result has no border at all; the picture has that of all layers.",
        ),
        Mistake(
            "gives every array the border of one layer",
            {_BORDER: "(layer < layers) * (R - 1)"},
            "To compute the border of one array, a larger one of the array before it is needed.",
        ),
        Mistake(
            "gives the picture a border, and no other array",
            {"(R - 1)": "(R - 1) * (layer == 0)"},
            "What the first layer makes is read beyond the strip as well, by the second one.",
        ),
        Mistake(
            "gives every array the border of the picture",
            {"(layers - layer)": "layers"},
            "Behind each layer less of it is left, and the result has none.",
        ),
        Mistake(
            "gives the result a border, too",
            {"(layers - layer)": "(layers - layer + 1)"},
            "Nothing follows the last layer that would look beyond its rows.",
        ),
        Mistake(
            "has the border on one side only",
            {"(R - 1)": "(R // 2)"},
            "A strip in the middle of the picture looks beyond its rows above *and* below.",
        ),
        Mistake(
            "has R - 1 rows above, and as many below",
            {"(R - 1)": "2 * (R - 1)"},
            "A window on the first row and one on the last reach beyond the strip with R - 1 rows together.",
        ),
        Mistake(
            "adds R rows for a layer",
            {"(R - 1)": "R"},
            "A single row of the output looks at R rows: that is R - 1 more than one.",
        ),
        Mistake(
            "multiplies the borders of the layers",
            {_BORDER: "((R - 1) ** (layers - layer) if layer < layers else 0)"},
            "Each layer *adds* as many rows as the one behind it.",
        ),
        Mistake(
            "counts numbers, not bytes",
            {"4 * W": "W"},
            "The budget is in bytes, and a float32 takes more than one.",
        ),
        Mistake(
            "takes eight bytes for a number",
            {"4 * W": "8 * W"},
            "NumPy's default is float64; these are float32.",
        ),
        Mistake(
            "forgets the width",
            {"4 * W": "4"},
            "A strip is as wide as the picture: its rows have W pixels.",
        ),
        Mistake(
            "forgets the channels",
            {"W * C": "W"},
            "A pixel has as many numbers as its array has channels.",
        ),
        Mistake(
            "forgets the picture",
            {"enumerate(channels)": "list(enumerate(channels))[1:]"},
            "Its rows have to be read before anything is computed. They take memory as well.",
        ),
        Mistake(
            "forgets the result",
            {"enumerate(channels)": "list(enumerate(channels))[:-1]"},
            "The strip of the result needs a place, too, before it is written away.",
        ),
        Mistake(
            "keeps only the two arrays that a layer is at",
            _two_at_a_time,
            "That would be thriftier, and the library does it. Here all arrays are there at once.",
        ),
        Mistake(
            "adds a border of columns",
            {"W * C * (": "C * ((W + (layers - layer) * (R - 1)) * (", "(R - 1)\n": "(R - 1))\n"},
            "Strips are as wide as the picture: at the left and the right there is no neighbour.",
        ),
        Mistake(
            "tells the rows of the picture",
            {"// row)": "// row) and (budget - border) // row + layers * (R - 1)"},
            "Asked is how many rows of the *result* the strip has.",
        ),
        Mistake(
            "rounds up",
            {"(budget - border) // row": "-((border - budget) // row)"},
            "A strip that takes a little more than there is does not fit.",
        ),
        Mistake(
            "does not round",
            {"//": "/"},
            "There is no half of a row: only those count that fit as a whole.",
        ),
        Mistake(
            "has to stay below the budget",
            {"(budget - border)": "(budget - border - 1)"},
            "At most `budget` bytes: a strip that fills it to the byte still fits.",
        ),
        Mistake(
            "takes one row at least",
            {"max(0": "max(1"},
            "There may be no room for a single row: then the answer is 0.",
        ),
        Mistake(
            "tells heights below zero",
            {"max(0, (budget - border) // row)": "(budget - border) // row"},
            "Where not even the borders fit, no strip does: the answer is 0.",
        ),
    ),
)
