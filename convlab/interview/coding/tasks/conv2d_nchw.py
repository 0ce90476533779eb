"""A convolution in PyTorch's order, from an empty cell."""

from __future__ import annotations

from functools import partial

import numpy as np

from convlab.interview.coding.tasks.cases import convolutions, convolved, taps_of
from convlab.lessons.exercise import Exercise, Mistake


def conv2d(x, w, padding):
    """Return y (N, K, P, Q) for x (N, C, H, W) and w (K, C, R, S)."""
    # your code here
    N, C, H, W = x.shape
    K, _, R, S = w.shape
    P, Q = H + 2 * padding - R + 1, W + 2 * padding - S + 1
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    y = np.zeros((N, K, P, Q), x.dtype)
    for n, k, p, q in np.ndindex(N, K, P, Q):
        for c, r, s in np.ndindex(C, R, S):
            y[n, k, p, q] += padded[n, c, p + r, q + s] * w[k, c, r, s]
    return y


PAD = "((0, 0), (0, 0), (padding, padding), (padding, padding))"

FLIPPED = "That is the mathematician's convolution. In a network the filter lies on the picture as it is."
UNPADDED = "Rows and columns of zeros belong around the picture, and the output grows by them."
SIZE = "From the first place of a window of R rows to the last it is H + 2*padding - R steps. And places?"

SAME = (
    "conv2d(x, w, padding) returns y (N, K, P, Q) for x (N, C, H, W) and w (K, C, R, S): the "
    "cross-correlation that networks call a convolution, stride 1, with `padding` rows and columns of zeros "
    "on every side."
)

ONE_SIDED = Mistake(
    "puts the zeros below and on the right only",
    {"(padding, padding), (padding, padding)": "(0, 2 * padding), (0, 2 * padding)"},
    "Half of the border lies above and on the left: the first window begins outside of the picture.",
)
EVERY_AXIS = Mistake(
    "pads pictures and channels, too",
    {f", {PAD}": ", padding"},
    "`np.pad` with one number pads every axis. Only the two of the picture get zeros.",
)
EDGE = Mistake(
    "repeats the edge where zeros should be",
    {PAD: f'{PAD}, "edge"'},
    "Outside of the picture there are zeros, whatever stands at its edge.",
)

# The same convolution is asked for again and again, each time with something more.
asked = partial(
    Exercise,
    notebook="19",
    cases=convolutions,
    answer=convolved,
    shapes={"x": "NCHW", "w": "KCRS", "return": "NKPQ"},
    window=taps_of,
)

EXERCISE = asked(
    statement=f"{SAME} Any way that is right will do.",
    solution=conv2d,
    why="First the sizes, aloud; then four loops over the outputs and three over what each of them sums up. "
    "A padded copy saves a question at every tap.",
    hints=(
        "Say the sizes first: how large is y? Which loops go over its numbers, and what does each sum up?",
        "P = H + 2*padding - R + 1, Q likewise. Output (p, q) has the corner of its window at row p and "
        "column q of the padded picture.",
        "Over n, k, p, q and then c, r, s: y[n, k, p, q] += padded[n, c, p + r, q + s] * w[k, c, r, s].",
    ),
    mistakes=(
        Mistake("flips the filter", {"w[k, c, r, s]": "w[k, c, R - 1 - r, S - 1 - s]"}, FLIPPED),
        Mistake("ignores the padding", {"2 * padding": "0", PAD: "0"}, UNPADDED),
        ONE_SIDED,
        EVERY_AXIS,
        EDGE,
        Mistake(
            "has a row and a column too few",
            {"- R + 1": "- R", "- S + 1": "- S"},
            SIZE,
        ),
        Mistake(
            "keeps the size of the picture, whatever the padding",
            {
                "2 * padding - R + 1, W + 2 * padding - S + 1": "0, W",
                "(padding, padding), (padding, padding)": "(padding, R), (padding, S)",
            },
            "That is so where 2*padding = R - 1. Here the padding is given, and may be anything.",
        ),
        Mistake(
            "reads the first channel only",
            {"(C, R, S)": "(1, R, S)"},
            "An output adds up all channels; each has weights of its own.",
        ),
        Mistake("takes the first filter for all", {"w[k, c": "w[0, c"}, "Output channel k has filter k."),
        Mistake(
            "reads the first picture for all",
            {"padded[n,": "padded[0,"},
            "Every picture of the batch has an output of its own.",
        ),
        Mistake("keeps the last product only", {"y[n, k, p, q] +=": "y[n, k, p, q] ="}, "Every tap *adds*."),
        Mistake(
            "leaves out the last row and column of taps",
            {"(C, R, S)": "(C, max(R - 1, 1), max(S - 1, 1))"},
            "A range of R ends at R - 1 already.",
        ),
        Mistake(
            "has the channels last, as NHWC has",
            {"return y": "return y.transpose(0, 2, 3, 1)"},
            "Here the output is (N, K, P, Q): channels come second, as in x.",
        ),
        Mistake(
            "reads rows where columns are meant",
            {"p + r, q + s]": "min(q + r, H + 2 * padding - 1), min(p + s, W + 2 * padding - 1)]"},
            "p and r count rows, q and s columns; rows come first.",
        ),
        Mistake(
            "writes into whole numbers",
            {"x.dtype": "int"},
            "An array of integers drops the fraction of everything that is written into it.",
        ),
        Mistake(
            "takes the mean of the channels",
            {"return y": "return y / C"},
            "The channels are added up. Nothing divides by their number.",
        ),
    ),
)
