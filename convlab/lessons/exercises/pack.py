"""Notebook 03: the panels that a fast product reads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.lessons.cases import filled
from convlab.lessons.exercise import Exercise, Mistake


def my_pack(b, cols):
    """Return b (K, N) in panels, (ceil(N/cols), K, cols)."""
    # your code here
    K, N = b.shape
    count = -(-N // cols)  # rounded up
    panels = np.zeros((count, K, cols), b.dtype)
    for panel in range(count):
        strip = b[:, panel * cols : (panel + 1) * cols]
        panels[panel, :, : strip.shape[1]] = strip
    return panels


def _cases() -> Iterator[tuple]:
    """(b, cols)"""
    for K, N, cols in ((2, 4, 2), (3, 4, 4), (2, 5, 2), (4, 3, 8), (3, 12, 4)):
        yield np.arange(1, K * N + 1, dtype=np.float32).reshape(K, N), cols
    yield filled(np.random.default_rng(5), 5, 7, whole=False), 3


def _answer(b, cols) -> np.ndarray:
    """Number by number."""
    K, N = b.shape
    panels = np.zeros(((N + cols - 1) // cols, K, cols))
    for k, n in np.ndindex(K, N):
        panels[n // cols, k, n % cols] = b[k, n]
    return panels


EXERCISE = Exercise(
    notebook="03",
    statement="my_pack(b, cols) returns b (K, N) in panels of `cols` columns, (ceil(N/cols), K, cols), "
    "the last one filled up with zeros.",
    solution=my_pack,
    why="A panel is a strip of columns, kept row by row: the kernel walks through it from the first "
    "number to the last. Where the last strip is narrower, the zeros are there already.",
    hints=(
        "Draw b with 5 columns and cut it into strips of 2. How many strips are there, and how wide is "
        "the last?",
        "Begin with an array of zeros of the shape that is asked for. Panel number i holds the columns from "
        "i * cols to (i + 1) * cols of b; a slice that runs over the edge is cut off.",
        "strip = b[:, i*cols : (i+1)*cols]; panels[i, :, :strip.shape[1]] = strip, for i in "
        "range(ceil(N / cols)).",
    ),
    cases=_cases,
    answer=_answer,
    shapes={"b": "KN", "return": ("panel", "row", "column")},
    mistakes=(
        Mistake(
            "leaves out the columns that fill no panel",
            {"-(-N // cols)": "N // cols"},
            "The last strip may be narrower. It becomes a panel, too, filled up with zeros.",
        ),
        Mistake(
            "makes a panel too many",
            {"-(-N // cols)": "N // cols + 1"},
            "Where the width divides, nothing is left over.",
        ),
        Mistake(
            "fills up with the last column instead of zeros",
            {
                "    return panels": "    panels[-1, :, strip.shape[1] :] = b[:, -1:]\n    return panels",
            },
            "What is added to fill a panel is multiplied as well. Zeros do no harm; copies would.",
        ),
        Mistake(
            "cuts each row into strips, and keeps the strips by rows",
            {"return panels": "return panels.swapaxes(0, 1)"},
            "That is (K, panels, cols). The panel comes first: all rows of one strip lie together.",
        ),
        Mistake(
            "reshapes, which needs a width that divides",
            lambda b, cols: b.reshape(len(b), -1, cols).transpose(1, 0, 2),
            "Where `cols` does not divide N, the last strip has to be filled up with zeros before.",
        ),
        Mistake(
            "reshapes, and leaves the rows in front",
            lambda b, cols: b.reshape(len(b), -1, cols),
            "That is (K, panels, cols), and only where the width divides. The panel comes first.",
        ),
        Mistake(
            "stores each panel column by column",
            {"return panels": "return panels.swapaxes(1, 2).copy()"},
            "The kernel takes a row of a panel at a time, so rows lie together: (panels, K, cols).",
        ),
        Mistake(
            "keeps that order in the shape of rows",
            {"return panels": "return panels.swapaxes(1, 2).reshape(panels.shape)"},
            "The shape is right, the numbers lie column by column. In a panel one row follows the other.",
        ),
        Mistake(
            "cuts a plain copy of b without regard to columns",
            {"    return": "    panels[:] = 0\n    panels.reshape(-1)[: b.size] = b.reshape(-1)\n    return"},
            "`reshape` alone moves nothing: a panel has numbers of every row of b.",
        ),
        Mistake(
            "fills b up and then cuts it without regard to columns",
            {
                "return panels": "wide = np.pad(b, ((0, 0), (0, count * cols - N)))\n"
                "    return wide.reshape(count, K, cols)"
            },
            "`reshape` alone moves nothing: it cuts rows into pieces, and these do not lie below each other "
            "yet.",
        ),
        Mistake(
            "deals the columns out one by one",
            {
                "strip = b[:, panel * cols : (panel + 1) * cols]": "strip = b[:, panel::count]",
            },
            "The columns of a panel are neighbours in b.",
        ),
        Mistake(
            "takes the first strip for every panel",
            {"panel * cols : (panel + 1) * cols": "0:cols"},
            "Panel number i begins at column i * cols.",
        ),
        Mistake(
            "moves on by one column instead of a strip",
            {"panel * cols : (panel + 1) * cols": "panel : panel + cols"},
            "Strips do not overlap: the next begins where the last one ended.",
        ),
        Mistake(
            "puts the zeros in front",
            {": strip.shape[1]] = strip": "cols - strip.shape[1] :] = strip"},
            "A narrower strip stands at the left of its panel, the zeros behind it.",
        ),
        Mistake(
            "puts the zeros in front of all columns",
            {
                "    panels = ": "    b = np.pad(b, ((0, 0), (count * cols - N, 0)))\n    panels = ",
            },
            "The first panel begins with the first column of b. The zeros fill up the last one.",
        ),
        Mistake(
            "leaves in the last panel what memory held before",
            {"np.zeros": "np.empty"},
            "`np.empty` writes nothing: where no column of b comes, there are numbers of long ago. They may "
            "be zeros today.",
        ),
        Mistake(
            "leaves the last strip out of its panel",
            {"range(count)": "range(count - 1)"},
            "The last strip is copied as well, however narrow it is.",
        ),
        Mistake(
            "moves the last strip back until it is full",
            {
                "b[:, panel * cols : (panel + 1) * cols]": "b[:, max(min(panel * cols, N - cols), 0) :]"
                "[:, :cols]"
            },
            "The last strip is as narrow as what is left, so that no column is there twice.",
        ),
    ),
)
