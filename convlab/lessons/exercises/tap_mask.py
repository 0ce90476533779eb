"""Notebook 05: which taps hit the picture, and which fall on padding."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.lessons.exercise import Exercise, Mistake


def tap_mask(p, q, H, W, R, S, stride, padding):
    """Return an array (R, S): 1 where the tap of output pixel (p, q) hits the picture."""
    # your code here
    mask = np.zeros((R, S), int)
    for r in range(R):
        for s in range(S):
            h = p * stride - padding + r
            w = q * stride - padding + s
            if 0 <= h < H and 0 <= w < W:
                mask[r, s] = 1
    return mask


def _cases() -> Iterator[tuple]:
    """(p, q, H, W, R, S, stride, padding) of a row of the matrix."""
    yield 1, 1, 4, 5, 2, 2, 1, 0  # all in the picture
    yield 0, 2, 4, 5, 3, 3, 1, 1  # the first row of taps is above it
    yield 2, 0, 4, 5, 3, 3, 1, 1
    yield 3, 2, 4, 5, 3, 3, 1, 1  # the last row of taps is below it
    yield 1, 4, 4, 5, 3, 3, 1, 1
    yield 2, 3, 7, 9, 3, 2, 2, 0  # further right than the output is wide
    yield 2, 5, 5, 11, 3, 3, 2, 1
    yield 0, 3, 4, 8, 1, 5, 1, 2
    yield 1, 2, 5, 6, 4, 2, 3, 2
    yield 5, 6, 4, 5, 3, 3, 1, 2  # two rows and columns beyond
    yield 0, 0, 2, 2, 2, 2, 1, 3  # all on padding


def _answer(p, q, H, W, R, S, stride, padding) -> np.ndarray:
    # A picture of ones with its border of zeros has the mask where the window stands.
    ones = np.pad(np.ones((H, W), int), padding)
    return ones[p * stride :, q * stride :][:R, :S]


def _outermost(p, q, H, W, R, S, stride, padding) -> np.ndarray:
    mask = np.ones((R, S), int)
    last = [(size + 2 * padding - taps) // stride for size, taps in ((H, R), (W, S))]
    for lines, at, end in ((mask, p, last[0]), (mask.T, q, last[1])):
        lines[: padding if at == 0 else 0] = 0
        lines[len(lines) - (padding if at == end else 0) :] = 0
    return mask


EXERCISE = Exercise(
    notebook="05",
    statement="tap_mask(p, q, H, W, R, S, stride, padding) returns an array (R, S): 1 where the tap of "
    "output pixel (p, q) hits the picture, 0 where it falls on padding.",
    solution=tap_mask,
    why="Each tap asks where it lies, counted from the picture's corner. The picture has four edges, so h "
    "and w each have a smallest and a largest value.",
    hints=(
        "Where does tap (r, s) of this window lie, counted from the corner of the picture? You have written "
        "that: it is h and w of the index map.",
        "Above the picture h is below 0. What is it beneath the picture, and what must hold of w on the left "
        "and on the right? A tap that hits passes four questions.",
        "Fill an array of zeros (R, S) in two loops over r and s. With h = p * stride - padding + r, and w "
        "likewise, it is 1 where h is one of the rows 0 to H - 1 and w one of the columns 0 to W - 1.",
    ),
    cases=_cases,
    answer=_answer,
    shapes={"return": "RS"},
    mistakes=(
        Mistake(
            "forgets the edges above and on the left",
            {"0 <= h < H and 0 <= w < W": "h < H and w < W"},
            "On the border above the picture h is below 0, and on the left w is.",
        ),
        Mistake(
            "forgets the edges below and on the right",
            {"0 <= h < H and 0 <= w < W": "0 <= h and 0 <= w"},
            "The picture ends, too: beneath its last row there is padding as well.",
        ),
        Mistake(
            "looks at rows only",
            {" and 0 <= w < W": ""},
            "A tap can miss the picture on the left and on the right, too.",
        ),
        Mistake(
            "is content if one of h and w is inside",
            {"H and 0": "H or 0"},
            "Beside the picture a tap may still be in the right row. It has to be inside both ways.",
        ),
        Mistake(
            "counts one row and column too many",
            {"< H": "<= H", "< W": "<= W"},
            "H rows are numbered from 0 to H - 1.",
        ),
        Mistake(
            "leaves out the first row and column of the picture",
            {"0 <= h": "0 < h", "0 <= w": "0 < w"},
            "Row 0 and column 0 belong to the picture.",
        ),
        Mistake(
            "asks whether the output has such a pixel",
            {"< H": "< (H + 2 * padding - R) // stride + 1", "< W": "< (W + 2 * padding - S) // stride + 1"},
            "A tap reads the input, so the input's H and W are its bounds.",
        ),
        Mistake(
            "takes the border for a part of the picture",
            {" - padding": "", "< H": "< H + 2 * padding", "< W": "< W + 2 * padding"},
            "On the padded picture every tap lands somewhere. Which of them land on the picture itself?",
        ),
        Mistake(
            "counts from the border, but lets the picture end at H and W",
            {" - padding": "", "0 <= h": "padding <= h", "0 <= w": "padding <= w"},
            "On the padded picture all of it is moved by `padding`: where it begins, and where it ends.",
        ),
        Mistake(
            "puts the middle of the window on the pixel",
            {"p * stride - padding": "p * stride - R // 2", "q * stride - padding": "q * stride - S // 2"},
            "How far the first window reaches out is said by `padding`. It need not be half a window.",
        ),
        Mistake(
            "swaps H and W",
            {"< H": "< W", "< W": "< H"},
            "h counts rows, and there are H of them.",
        ),
        Mistake(
            "moves down with s and across with r",
            {"padding + r": "padding + s", "padding + s": "padding + r"},
            "r counts the rows of taps and goes with h; s counts their columns and goes with w.",
        ),
        Mistake(
            "forgets the stride",
            {" * stride": ""},
            "From one output to the next the window moves by `stride` pixels.",
        ),
        Mistake(
            "forgets the padding",
            {" - padding": ""},
            "The first window begins above the picture and to its left.",
        ),
        Mistake(
            "adds the padding",
            {" - padding": " + padding"},
            "The border lies before the picture's corner: there h and w are below 0.",
        ),
        Mistake(
            "asks the first tap for all",
            {"padding + r": "padding", "padding + s": "padding"},
            "Each tap lies elsewhere: some of a window hit the picture and some do not.",
        ),
        Mistake(
            "marks the padding",
            {"mask[r, s] = 1": "mask[r, s] = 1\n    mask = 1 - mask"},
            "1 means that the tap hits the picture; the zeros are what is skipped.",
        ),
        Mistake(
            "exchanges p and q",
            {"p * stride": "q * stride", "q * stride": "p * stride"},
            "p counts the rows of the output and goes with h; q counts its columns and goes with w.",
        ),
        Mistake(
            "takes the picture for a square",
            {"< H": "< W"},
            "The picture has H rows and W columns.",
        ),
        Mistake(
            "takes H for the width of the picture",
            {"< W": "< H"},
            "The picture has H rows and W columns.",
        ),
        Mistake(
            "forgets the edge above",
            {"0 <= h < H": "h < H"},
            "Above the picture h is below 0, and there is padding, too.",
        ),
        Mistake(
            "forgets the edge on the left",
            {"0 <= w < W": "w < W"},
            "On the left of the picture w is below 0, and there is padding, too.",
        ),
        Mistake(
            "forgets the edge below",
            {"0 <= h < H": "0 <= h"},
            "The picture ends, too: beneath its last row there is padding as well.",
        ),
        Mistake(
            "forgets the edge on the right",
            {"0 <= w < W": "0 <= w"},
            "The picture ends, too: beside its last column there is padding as well.",
        ),
        Mistake(
            "forgets the stride across",
            {"q * stride": "q"},
            "The window moves by `stride` pixels in both directions.",
        ),
        Mistake(
            "forgets the stride down",
            {"p * stride": "p"},
            "The window moves by `stride` pixels in both directions.",
        ),
        Mistake(
            "looks for padding in the first and the last window only",
            _outermost,
            "With a wide border a second window may reach into it; and with a stride the last one may end "
            "before.",
        ),
    ),
)
