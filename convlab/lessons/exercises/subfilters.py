"""Notebook 09: a filter in parts, one for each phase of the stride."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.lessons.cases import filled
from convlab.lessons.exercise import Exercise, Mistake


def subfilter(w, stride, padding, row, col):
    """Return the taps of w (R, S) that dx meets at (row + i*stride, col + j*stride)."""
    # your code here: turned, so that it slides over dy as any filter does
    r, s = (row + padding) % stride, (col + padding) % stride  # the first taps of that phase
    dense = w[r::stride, s::stride]
    return dense[::-1, ::-1]


def _cases() -> Iterator[tuple]:
    """(w, stride, padding, row, col)"""
    nine = np.arange(1, 10, dtype=np.float32).reshape(3, 3)
    yield from ((nine, 2, 0, row, col) for row, col in np.ndindex(2, 2))
    rng = np.random.default_rng(10)
    for R, S, *others in (
        (3, 4, 2, 1, 0, 0),
        (4, 3, 2, 1, 1, 0),
        (2, 3, 1, 1, 0, 0),  # stride 1: the whole filter
        (5, 4, 3, 1, 0, 1),
        (5, 7, 3, 2, 2, 0),
        (2, 3, 3, 0, 1, 2),  # a filter smaller than the stride
    ):
        yield filled(rng, R, S), *others
    yield filled(rng, 7, 9, whole=False), 4, 3, 2, 3


def _met(taps: int, stride: int, padding: int, phase: int) -> list[int]:
    """Return which tap each line of dy meets at a pixel of this phase far from the border, line by line."""
    pixel = phase + stride * (taps + padding)
    lines = range(pixel + padding + 1)
    return [r for p in lines for r in range(taps) if p * stride + r - padding == pixel]


def _answer(w, stride, padding, row, col) -> np.ndarray:
    R, S = w.shape
    return w[np.ix_(_met(R, stride, padding, row), _met(S, stride, padding, col))]


_PHASE = "(row + padding) % stride, (col + padding) % stride"
_DENSE, _TURNED = "w[r::stride, s::stride]", "dense[::-1, ::-1]"

EXERCISE = Exercise(
    notebook="09",
    statement="subfilter(w, stride, padding, row, col) returns the part of the filter w (R, S) that makes "
    "the pixels of dx in the rows row, row + stride, ... and the columns col, col + stride, ...: the "
    "taps that meet numbers of dy there, not inserted zeros; turned, so that it slides over dy as any "
    "filter does.",
    solution=subfilter,
    why="Tap r meets a number of dy where row + padding - r is a multiple of the stride: every `stride`-th "
    "tap does, beginning with the rest of that division. All other taps meet zeros, in every pixel of "
    "this phase, and need not be multiplied at all.",
    hints=(
        "Pixel h of dx got p * stride + r - padding = h from line p of dy through tap r. For one h, and "
        "stride 2, which taps r leave a whole p?",
        "All r for which row + padding - r can be divided by the stride: these are `stride` apart. Which is "
        "the first? And as p goes up by 1, where does r go?",
        "r = (row + padding) % stride, s likewise from col; w[r::stride, s::stride] are the taps; back to "
        "front along both axes, as lines of dy count up while taps count down.",
    ),
    cases=_cases,
    answer=_answer,
    shapes={"w": "RS", "return": "RS"},
    mistakes=(
        Mistake(
            "does not turn the filter",
            {_TURNED: "dense"},
            "Line p of dy meets tap h + padding - p * stride: as lines go up, taps go down.",
        ),
        Mistake(
            "turns the rows only",
            {_TURNED: "dense[::-1]"},
            "A turn by 180 degrees exchanges left and right as well.",
        ),
        Mistake(
            "turns the columns only",
            {_TURNED: "dense[:, ::-1]"},
            "A turn by 180 degrees exchanges above and below as well.",
        ),
        Mistake(
            "turns the whole filter first, and counts its taps from the other end then",
            {_DENSE: "w[::-1, ::-1][r::stride, s::stride]", _TURNED: "dense"},
            "Which taps belong to a phase is counted from tap 0. In a filter that is turned already, that "
            "is the last one.",
        ),
        Mistake(
            "turns the whole filter first, and looks for tap r one place too far",
            {
                _DENSE: "w[::-1, ::-1][(len(w) - r) % stride :: stride, (w.shape[1] - s) % stride :: stride]",
                _TURNED: "dense",
            },
            "Turned, the filter begins with tap R - 1, the last: tap r is R - 1 - r places further.",
        ),
        Mistake(
            "counts rows and columns from the same end, as if the filter were a square",
            {
                "r, s = ": "last = len(w) - 1\n    r, s = ",
                _DENSE: "w[::-1, ::-1][(last - r) % stride :: stride, (last - s) % stride :: stride]",
                _TURNED: "dense",
            },
            "From its end a column is S - 1 - s places away: the filter has R rows and S columns.",
        ),
        Mistake(
            "goes back from the last tap to the first of the phase",
            {_DENSE: "w[-1:r:-stride, -1:s:-stride]", _TURNED: "dense"},
            "The last tap of the filter may belong to another phase; and a slice ends before its end, so "
            "that the first one of this phase is left out.",
        ),
        Mistake(
            "turns the filter from the first tap on, and takes every `stride`-th then",
            {_DENSE: "w[r:, s:][::-1, ::-1][::stride, ::stride]", _TURNED: "dense"},
            "Turned, it begins with the last tap, and that may belong to another phase. Take the taps first, "
            "then turn them.",
        ),
        Mistake(
            "forgets the padding",
            {_PHASE: "row, col"},
            "Pixel 0 of the picture is place `padding` of what the windows walk over: that shifts all "
            "phases.",
        ),
        Mistake(
            "shifts the phases by the padding the other way",
            {"row + padding": "row - padding", "col + padding": "col - padding"},
            "p * stride + r = h + padding: the padding is on the side of the pixel. With stride 2 nobody "
            "would notice.",
        ),
        Mistake(
            "forgets that phases begin anew after each stride",
            {" % stride": ""},
            "The first tap of a phase is one of the first `stride` taps of the filter.",
        ),
        Mistake(
            "begins with the first tap in every phase",
            {_PHASE: "0, 0"},
            "Which taps meet a number depends on the pixel: each phase has taps of its own.",
        ),
        Mistake(
            "begins with the taps that meet zeros",
            {_PHASE: "(row + padding + 1) % stride, (col + padding + 1) % stride"},
            "Try row 0 without padding: the first window of dy begins there, with its first tap.",
        ),
        Mistake(
            "turns the phases around",
            {_PHASE: "-(row + padding) % stride, -(col + padding) % stride"},
            "Tap r reaches pixel p * stride + r - padding: the further the tap, the further the pixel.",
        ),
        Mistake(
            "cuts the filter into contiguous pieces",
            {_DENSE: "np.array_split(np.array_split(w, stride)[r], stride, axis=1)[s]"},
            "Neighbouring taps reach neighbouring pixels. Those that reach the same pixel, from "
            "neighbouring lines of dy, are `stride` apart.",
        ),
        Mistake(
            "takes every second tap, whatever the stride",
            {"::stride": "::2", " % stride": " % 2"},
            "Two taps that reach the same pixel are `stride` apart.",
        ),
        Mistake(
            "thins out the rows, but not the columns",
            {"s::stride": ":"},
            "Zeros stand between the columns of dy as well as between its lines.",
        ),
        Mistake(
            "thins out the columns, but not the rows",
            {"r::stride": ":"},
            "Zeros stand between the lines of dy as well as between its columns.",
        ),
        Mistake(
            "takes the row for the column",
            {_DENSE: "w[s::stride, r::stride]"},
            "r counts rows of the filter and goes with `row`; s goes with `col`.",
        ),
        Mistake(
            "lays the part on its side",
            {_TURNED: f"{_TURNED}.T"},
            "Rows stay rows: a turn by 180 degrees is no transpose.",
        ),
        Mistake(
            "keeps zeros where taps of other phases stood",
            {
                _DENSE: "np.zeros_like(w)",
                "    return": "    dense[r::stride, s::stride] = w[r::stride, s::stride]\n    return",
            },
            "A zero in the filter is multiplied as any number is. What is left is to stand side by side.",
        ),
        Mistake(
            "fills parts that are smaller up with zeros",
            {
                _DENSE: "np.pad(w, ((0, -w.shape[0] % stride), (0, -w.shape[1] % stride)))[r::stride, "
                "s::stride]",
            },
            "Where the stride does not divide the filter, some phases have a tap more than others. A zero "
            "would be multiplied for nothing.",
        ),
        Mistake(
            "keeps the first tap only",
            {_DENSE: "w[r : r + 1, s : s + 1]"},
            "A pixel of dx may meet several lines of dy: from the first tap on, every `stride`-th counts.",
        ),
        Mistake(
            "leaves out the last tap of a phase",
            {_DENSE: "w[r : len(w) - 1 : stride, s : w.shape[1] - 1 : stride]"},
            "A slice ends before its end already.",
        ),
        Mistake(
            "turns the whole filter, and leaves it whole",
            {_DENSE: "w"},
            "That is the filter that slides over dy with zeros between its numbers. Which of its taps meet "
            "a number at this pixel?",
        ),
    ),
)
