"""Notebook 13: the indirection buffer, built where it is needed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.gpu.numba_cuda import cuda
from convlab.lessons.exercise import Mistake
from convlab.lessons.kernel_exercise import KernelExercise, Launch
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div

_WARP, _THREADS = 32, 128  # pixels of a tile, and threads of a block


@cuda.jit
def my_table(y, H, W, C, P, Q, R, S, stride, padding):
    # your code here: y[i], i = cuda.grid(1), is the place of this pixel and tap, or -1
    i = cuda.grid(1)  # neighbours write neighbours: the pixels of a tile are innermost
    if i < y.size:
        rest, row = divmod(i, 32)
        rest, s = divmod(rest, S)
        tile, r = divmod(rest, R)
        p, q = divmod(min(tile * 32 + row, P * Q - 1), Q)
        h, w = p * stride + r - padding, q * stride + s - padding
        inside = 0 <= h < H and 0 <= w < W
        y[i] = (h * W + w) * C if inside else -1


def _expected(problem: ConvProblem) -> np.ndarray:
    """Return the table, gathered from a picture of places with its border of -1."""
    places = np.arange(problem.H * problem.W).reshape(problem.H, problem.W) * problem.C
    edge = problem.padding[0][0]
    around = np.pad(places, edge, constant_values=-1)
    step = problem.stride[0]
    windows = np.lib.stride_tricks.sliding_window_view(around, (problem.R, problem.S))[::step, ::step]
    rows = windows.reshape(problem.P * problem.Q, -1)
    full = np.pad(rows, ((0, -len(rows) % _WARP), (0, 0)), "edge")
    return full.reshape(-1, _WARP, rows.shape[1]).swapaxes(1, 2).ravel().astype(np.int32)


def _cases() -> Iterator[Launch]:
    for H, W, C, R, S, stride, padding in (
        (4, 8, 1, 1, 1, 1, 0),
        (8, 8, 3, 2, 1, 1, 0),
        (5, 7, 2, 2, 3, 1, 1),  # a tile and a part of one
        (9, 12, 4, 3, 3, 2, 1),
        (4, 4, 1, 2, 2, 1, 2),  # two rows and columns of padding
        (6, 5, 3, 3, 2, 1, 0),  # places below zero are not the only ones outside
    ):
        problem = ConvProblem(1, H, W, C, 1, R, S, stride=stride, padding=padding)
        table = _expected(problem)
        sizes = {"H": H, "W": W, "C": C, "P": problem.P, "Q": problem.Q, "R": R, "S": S}
        arguments = {"y": None, **sizes, "stride": stride, "padding": padding}
        yield Launch((ceil_div(table.size, _THREADS),), (_THREADS,), arguments, table)


_TAP = "rest, s = divmod(rest, S)\n        tile, r = divmod(rest, R)"

EXERCISE = KernelExercise(
    notebook="13",
    statement="my_table(y, H, W, C, P, Q, R, S, stride, padding) is a kernel with a thread for each number "
    f"of the indirection buffer y: tiles of {_WARP} pixels, in a tile tap by tap, in a tap pixel by pixel; "
    "-1 on padding, and pixels past the last one repeat it. There may be more threads than numbers.",
    solution=my_table,
    why="A thread takes its number i apart, innermost first: the pixel in its tile, the column and row of "
    "the tap, the tile. From there on it is the index map of notebook 05.",
    hints=(
        "Number i of y belongs to some tile, row of taps, column of taps and pixel of the tile. Which of "
        "these changes quickest as i goes up?",
        "Take i apart by `divmod`: by 32 (the pixel in its tile), by S, by R; what is left is the tile. Then "
        "pixel m = tile * 32 + row, but not past P * Q - 1, and p, q = divmod(m, Q).",
        "h = p * stride + r - padding, and w likewise. If both are in the picture, y[i] = (h * W + w) * C, "
        "else -1; and all of it under `if i < y.size`.",
    ),
    cases=_cases,
    generous=2.0,  # -1 first, and the place after it, is one way to write it
    mistakes=(
        Mistake(
            "lets threads past the end write, too",
            {"if i < y.size:": "if True:"},
            "The last block has more threads than there are numbers. They must be told to do nothing.",
        ),
        Mistake(
            "goes on behind the last pixel",
            {"min(tile * 32 + row, P * Q - 1)": "tile * 32 + row"},
            "The last tile is filled up with the last pixel again and again: there is no line below it.",
        ),
        Mistake(
            "fills the last tile up with a pixel behind the last one",
            {"P * Q - 1": "P * Q"},
            "Pixels are counted from 0: the last one is P * Q - 1.",
        ),
        Mistake(
            "leaves out what fills up the last tile",
            {"if i < y.size:": "if i < P * Q * R * S:"},
            "y has whole tiles only: `y.size` counts what fills up the last one, too.",
        ),
        Mistake(
            "begins anew behind the last pixel",
            {"min(tile * 32 + row, P * Q - 1)": "(tile * 32 + row) % (P * Q)"},
            "The last tile is filled up with the *last* pixel, not with the first ones.",
        ),
        Mistake(
            "writes -1 behind the last pixel",
            {"0 <= w < W\n": "0 <= w < W and tile * 32 + row < P * Q\n"},
            "-1 is for padding. The last tile is filled up with the last pixel, which is simpler to read.",
        ),
        Mistake(
            "does not mark padding",
            {" if inside else -1": ""},
            "Outside of the picture there is no place: the number there would be one of another line.",
        ),
        Mistake(
            "looks for padding above and on the left only",
            {"0 <= h < H and 0 <= w < W": "h >= 0 and w >= 0"},
            "The picture ends below and on the right as well.",
        ),
        Mistake(
            "asks whether there is such a place in x, not whether row and column are in the picture",
            {"0 <= h < H and 0 <= w < W": "0 <= (h * W + w) * C < H * W * C"},
            "One column past the end of a line is the next line's first: a place of x, and yet padding.",
        ),
        Mistake(
            "swaps r and s",
            {_TAP: "rest, r = divmod(rest, R)\n        tile, s = divmod(rest, S)"},
            "Taps are counted along their rows: s is the inner one, so it comes off first.",
        ),
        Mistake(
            "counts taps in rows of R",
            {_TAP: "rest, s = divmod(rest, R)\n        tile, r = divmod(rest, S)"},
            "A filter has R rows, and each has S taps: S is what s comes off by.",
        ),
        Mistake(
            "lays the taps of a pixel side by side",
            {
                "rest, row = divmod(i, 32)\n        rest, s = divmod(rest, S)": "rest, s = divmod(i, S)",
                "tile, r = divmod(rest, R)": "rest, r = divmod(rest, R); tile, row = divmod(rest, 32)",
            },
            "In a tile it goes tap by tap, in a tap pixel by pixel: 32 lanes find their places side by side.",
        ),
        Mistake(
            "counts output pixels in lines of the picture",
            {", Q)\n": ", W)\n"},
            "Pixel m of the *output* is in line m // Q: its lines have Q pixels, not W.",
        ),
        Mistake(
            "counts output pixels in lines of P",
            {", Q)\n": ", P)\n"},
            "There are P lines, and each has Q pixels: pixel m is in line m // Q.",
        ),
        Mistake(
            "counts the picture's pixels in lines of the output",
            {"h * W + w": "h * Q + w"},
            "x has lines of W pixels, however long those of the output are.",
        ),
        Mistake(
            "counts the picture's pixels in lines of H",
            {"h * W + w": "h * H + w"},
            "There are H lines, and each has W pixels: line h begins at pixel h * W.",
        ),
        Mistake(
            "counts pixels, not numbers",
            {"(h * W + w) * C": "h * W + w"},
            "A pixel has C numbers: the next one begins C further.",
        ),
        Mistake(
            "forgets the stride",
            {"p * stride": "p", "q * stride": "q"},
            "Output (p, q) looks at the window whose corner is at (p * stride, q * stride).",
        ),
        Mistake(
            "forgets the padding",
            {"r - padding": "r", "s - padding": "s"},
            "The first window begins `padding` rows above the picture, and as far on its left.",
        ),
        Mistake(
            "adds the padding",
            {"r - padding": "r + padding", "s - padding": "s + padding"},
            "The first window begins *above* the picture: it is at row -padding.",
        ),
    ),
)
