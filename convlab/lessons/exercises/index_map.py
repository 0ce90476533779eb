"""Notebook 05: where a cell lives of a matrix that is never stored."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.index_map import IndexMap
from convlab.lessons.exercise import Exercise, Mistake
from convlab.problem import ConvProblem


def index_map(m, k, P, Q, R, S, C, stride, padding):
    """Return (n, h, w, c): the number of x that cell (m, k) of the matrix reads."""
    # your code here
    n, rest = divmod(m, P * Q)
    p, q = divmod(rest, Q)
    tap, c = divmod(k, C)
    r, s = divmod(tap, S)
    h = p * stride - padding + r
    w = q * stride - padding + s
    return n, h, w, c


def _cases() -> Iterator[tuple]:
    """(m, k, P, Q, R, S, C, stride, padding) of a cell of the matrix."""
    yield 0, 0, 2, 4, 2, 2, 1, 1, 0
    yield 3, 0, 2, 4, 2, 2, 1, 1, 0  # the last pixel of the first row
    yield 5, 0, 2, 4, 2, 2, 1, 1, 0  # the second of the next: Q pixels a row
    yield 0, 2, 2, 4, 2, 2, 1, 1, 0
    yield 0, 1, 3, 4, 3, 1, 1, 1, 0  # a filter one column wide
    yield 0, 4, 3, 4, 1, 3, 2, 1, 0
    yield 10, 7, 3, 4, 2, 2, 3, 1, 0
    yield 11, 5, 3, 4, 2, 3, 1, 2, 0
    yield 6, 4, 3, 4, 3, 3, 1, 1, 1
    yield 0, 0, 3, 4, 3, 3, 1, 2, 1  # outside of the picture, above and to the left
    yield 29, 11, 3, 4, 2, 3, 2, 1, 1  # the third picture
    yield 95, 33, 5, 7, 4, 3, 3, 3, 2


def _answer(m, k, P, Q, R, S, C, stride, padding) -> np.ndarray:
    H, W = (P - 1) * stride + R - 2 * padding, (Q - 1) * stride + S - 2 * padding
    problem = ConvProblem(99, H, W, C, 1, R, S, stride=stride, padding=padding)
    return np.array(IndexMap(problem).source(m, k))


EXERCISE = Exercise(
    notebook="05",
    statement="index_map(m, k, P, Q, R, S, C, stride, padding) returns (n, h, w, c): which number of x cell "
    "(m, k) of the im2row matrix reads; h and w count from the picture's corner and may lie outside of it.",
    solution=index_map,
    why="Each `divmod` peels off one level of a nested count: what is divided by is the size of what runs "
    "faster. Then the window's corner and the tap within it are put together.",
    hints=(
        "m = (n P + p) Q + q is a count in nested loops, as minutes and seconds are. Given 3725 seconds, how "
        "do you find hours, minutes and seconds?",
        "m % Q is q; m // Q counts rows of pixels, through all pictures, and P of them are a picture. k "
        "works alike, with C and S. P and R tell where the slowest ends.",
        "n, rest = divmod(m, P * Q); p, q = divmod(rest, Q); tap, c = divmod(k, C); r, s = divmod(tap, S). "
        "Then h = p * stride - padding + r, and w from q and s.",
    ),
    cases=_cases,
    answer=_answer,
    parts=("n", "h", "w", "c"),
    mistakes=(
        Mistake(
            "takes m apart with P where it should be Q",
            {"divmod(rest, Q)": "divmod(rest, P)"},
            "A row of output pixels is as long as the output is *wide*.",
        ),
        Mistake(
            "takes k apart with R where it should be S",
            {"divmod(tap, S)": "divmod(tap, R)"},
            "A row of taps is as long as the filter is *wide*.",
        ),
        Mistake(
            "lets p run faster than q",
            {"p, q = divmod(rest, Q)": "q, p = divmod(rest, P)"},
            "The pixel after (p, q) is the one on its right: the matrix counts as one reads.",
        ),
        Mistake(
            "lets r run faster than s",
            {"r, s = divmod(tap, S)": "s, r = divmod(tap, R)"},
            "The tap after (r, s) is the one on its right: a window is read as a text is.",
        ),
        Mistake(
            "takes h for w and w for h",
            {
                "p, q = divmod(rest, Q)": "q, p = divmod(rest, Q)",
                "r, s = divmod(tap, S)": "s, r = divmod(tap, S)",
            },
            "The faster of each pair, q and s, belong to the width w; and h is named before w. On squares "
            "nobody would notice.",
        ),
        Mistake(
            "goes on counting rows from one picture to the next",
            {"p, q = divmod(rest, Q)": "p, q = divmod(m, Q)"},
            "A picture has P rows of pixels; with the next one p begins at 0 again.",
        ),
        Mistake(
            "knows one picture only",
            {"return n,": "return 0,"},
            "After P * Q rows of the matrix comes the next picture of the batch.",
        ),
        Mistake(
            "divides k by R * S to find r",
            {"r, s = divmod(tap, S)": "r, s = k // (R * S), tap % S"},
            "What runs faster than r is s and c: S * C columns of the matrix belong to one row of taps.",
        ),
        Mistake(
            "goes on counting taps from one row of them to the next",
            {"r, s = divmod(tap, S)": "r, s = tap // S, tap"},
            "A row has S taps; in the next one s begins at 0 again.",
        ),
        Mistake(
            "has the channel slowest",
            {"tap, c = divmod(k, C)": "c, tap = divmod(k, R * S)"},
            "That is im2col's order, c, r, s. Here k = (r S + s) C + c: all channels of a tap lie together.",
        ),
        Mistake(
            "forgets the stride",
            {" * stride": ""},
            "From one output to the next the window moves by `stride` pixels.",
        ),
        Mistake(
            "steps the taps by the stride",
            {
                "p * stride - padding + r": "(p + r) * stride - padding",
                "q * stride - padding + s": "(q + s) * stride - padding",
            },
            "Stride moves the window; its taps stay neighbours.",
        ),
        Mistake(
            "forgets the padding",
            {" - padding": ""},
            "The first window begins above the picture and to its left, at a row and a column below 0.",
        ),
        Mistake(
            "adds the padding",
            {" - padding": " + padding"},
            "h and w count from the picture's corner. The border lies before it: there they are below 0.",
        ),
        Mistake(
            "returns c before h and w",
            {"return n, h, w, c": "return n, c, h, w"},
            "The pictures are NHWC: channels last.",
        ),
        Mistake(
            "exchanges p and q",
            {"p, q = divmod(rest, Q)": "q, p = divmod(rest, Q)"},
            "What is left over is the place in the row, and that is q: it runs fastest.",
        ),
        Mistake(
            "exchanges r and s",
            {"r, s = divmod(tap, S)": "s, r = divmod(tap, S)"},
            "What is left over is the place in the row of taps, and that is s: it runs faster than r.",
        ),
        Mistake(
            "moves places outside of the picture to its edge",
            {"return n, h, w, c": "return n, max(h, 0), max(w, 0), c"},
            "h and w may well be below 0: that is how one tells that a tap is on padding.",
        ),
        Mistake(
            "subtracts the tap",
            {"padding + r": "padding - r", "padding + s": "padding - s"},
            "Tap (r, s) lies r rows *below* the window's corner and s columns to its right.",
        ),
        Mistake(
            "divides with a fraction",
            {
                "n, rest = divmod(m, P * Q)": "n, rest = m / (P * Q), m",
                "p, q = divmod(rest, Q)": "p, q = rest / Q % P, rest % Q",
                "r, s = divmod(tap, S)": "tap = k / C\n    r, s = tap / S, tap % S",
            },
            "How often something goes into a number as a whole is `//`; `/` gives a place between two "
            "pixels.",
        ),
        Mistake(
            "multiplies the padding by the stride",
            {
                "p * stride - padding": "(p - padding) * stride",
                "q * stride - padding": "(q - padding) * stride",
            },
            "The border is `padding` pixels wide, whatever steps the window takes.",
        ),
    ),
)
