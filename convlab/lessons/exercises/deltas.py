"""Notebook 05: three distances to walk from tap to tap."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.algorithms.precomputed_gemm.offsets import deltas
from convlab.lessons.exercise import Exercise, Mistake
from convlab.problem import ConvProblem


def my_deltas(W, C, R, S, dilation, block_c):
    """Return (next_s, next_r, next_c): distances in numbers of x, which is NHWC."""
    # your code here
    next_s = C * dilation
    next_row = W * C * dilation  # straight down
    back = (S - 1) * next_s  # from the last tap of a row to its first
    next_r = next_row - back
    next_c = block_c - (R - 1) * next_row - back
    return next_s, next_r, next_c


def _cases() -> Iterator[tuple]:
    """(W, C, R, S, dilation, block_c)"""
    yield 5, 1, 2, 2, 1, 1
    yield 5, 1, 2, 3, 1, 1
    yield 7, 4, 3, 2, 1, 2
    yield 6, 8, 1, 3, 1, 4
    yield 6, 8, 3, 1, 1, 8
    yield 9, 4, 3, 2, 2, 4
    yield 56, 64, 3, 3, 1, 32


def _answer(W, C, R, S, dilation, block_c) -> np.ndarray:
    return np.array(deltas(ConvProblem(1, 99, W, C, 1, R, S, dilation=dilation), block_c))


EXERCISE = Exercise(
    notebook="05",
    statement="my_deltas(W, C, R, S, dilation, block_c) returns (next_s, next_r, next_c), in numbers of x.",
    solution=my_deltas,
    why="Each distance is where the next step begins less where the last one ended. A new row of taps begins "
    "S - 1 taps back, and a new block of channels R - 1 rows back as well.",
    hints=(
        "In NHWC, how many numbers lie between a pixel and its neighbour on the right? And between a pixel "
        "and the one below it?",
        "next_r starts at the *last* tap of a row and ends at the first tap of the next: down one row and "
        "back S - 1 taps. Where does next_c start, and where does it end?",
        "next_s = C * dilation; a row down is W * C * dilation; back is (S - 1) * next_s. Then next_r is a "
        "row less back, and next_c is block_c less R - 1 rows less back.",
    ),
    cases=_cases,
    answer=_answer,
    parts=("next_s", "next_r", "next_c"),
    mistakes=(
        Mistake(
            "forgets to come back at the end of a row of taps",
            {"next_row - back\n": "next_row\n"},
            "The walk is at the last tap of a row, S - 1 taps to the right of where the next row begins.",
        ),
        Mistake(
            "forgets to come back after the last tap of all",
            {"block_c - (R - 1) * next_row - back": "block_c"},
            "The walk is at the last tap of the window, and the next block of channels begins at its first.",
        ),
        Mistake(
            "comes back along the row only, after the last tap of all",
            {"block_c - (R - 1) * next_row - back": "block_c - back"},
            "The last tap is R - 1 rows below the first one, too.",
        ),
        Mistake(
            "comes back up only, after the last tap of all",
            {"block_c - (R - 1) * next_row - back": "block_c - (R - 1) * next_row"},
            "The last tap is S - 1 taps to the right of the first one, too.",
        ),
        Mistake(
            "forgets all ways back",
            {"(S - 1) * next_s": "0", " - (R - 1) * next_row": ""},
            "The distances are counted from where the walk stands, not from the first tap.",
        ),
        Mistake(
            "goes back one tap too far",
            {"(S - 1)": "S"},
            "From the first of S taps to the last there are S - 1 steps.",
        ),
        Mistake(
            "goes back one row too far",
            {"(R - 1)": "R"},
            "From the first of R rows to the last there are R - 1 steps.",
        ),
        Mistake(
            "goes back as if all taps lay in one row",
            {"(R - 1) * next_row - back": "(R * S - 1) * next_s"},
            "Between the last tap of a row and the first of the next lies the rest of the picture's row.",
        ),
        Mistake(
            "goes forward where it should go back",
            {
                "next_row - back\n": "next_row + back\n",
                "block_c - (R - 1) * next_row - back": "block_c + (R - 1) * next_row + back",
            },
            "The walk has come too far to the right and down: it takes that off again.",
        ),
        Mistake(
            "forgets the dilation",
            {" * dilation": ""},
            "With dilation the taps stand apart: so many pixels to the next one, across and down.",
        ),
        Mistake(
            "dilates across, but not down",
            {"W * C * dilation": "W * C"},
            "Rows of taps stand apart as far as their columns.",
        ),
        Mistake(
            "counts pixels, not numbers",
            {"next_s = C * dilation": "next_s = dilation", "W * C * dilation": "W * dilation"},
            "A pixel has C numbers, one after the other; its neighbour begins C numbers on.",
        ),
        Mistake(
            "counts bytes, not numbers",
            {"return next_s, next_r, next_c": "return 4 * next_s, 4 * next_r, 4 * next_c"},
            "The distances are in numbers of x; an index into an array counts those.",
        ),
        Mistake(
            "steps over a block of channels for the next pixel",
            {"C * dilation": "block_c * dilation"},
            "The block is what is multiplied at a time. In memory a pixel still has all C channels.",
        ),
        Mistake(
            "swaps R and S",
            {"(S - 1)": "(R - 1)", "(R - 1)": "(S - 1)"},
            "S taps make a row, and there are R rows.",
        ),
        Mistake(
            "moves on by all channels",
            {"block_c - ": "C - "},
            "The next block begins `block_c` channels on; C is all of them.",
        ),
        Mistake(
            "moves on by one channel",
            {"block_c - ": "1 - "},
            "The walk multiplies a block of channels at a time, and moves on by a block.",
        ),
    ),
)
