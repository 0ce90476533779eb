"""Notebook 04: the indirection buffer."""

from __future__ import annotations

import numpy as np

from convlab.algorithms.indirect import indirection_buffer
from convlab.lessons.exercise import Exercise, Mistake
from convlab.lessons.tables import LAYERS, layer


def my_buffer(H, W, C, R, S, stride, padding, rows):
    """Return the offsets, (ceil(P*Q / rows), R*S, rows), -1 on padding."""
    # your code here
    P = (H + 2 * padding - R) // stride + 1
    Q = (W + 2 * padding - S) // stride + 1
    tiles = -(-P * Q // rows)  # rounded up
    offsets = np.full((tiles, R * S, rows), -1)
    for m in range(tiles * rows):
        p, q = divmod(min(m, P * Q - 1), Q)  # past the last pixel: the last once more
        for r in range(R):
            for s in range(S):
                h, w = p * stride + r - padding, q * stride + s - padding
                if 0 <= h < H and 0 <= w < W:
                    offsets[m // rows, r * S + s, m % rows] = (h * W + w) * C
    return offsets


def _answer(*arguments) -> np.ndarray:
    return indirection_buffer(*layer(*arguments))


EXERCISE = Exercise(
    notebook="04",
    statement="my_buffer(H, W, C, R, S, stride, padding, rows) returns the offsets of all windows, "
    "(ceil(P*Q / rows), R*S, rows), -1 on padding; pixels past the last one repeat it.",
    solution=my_buffer,
    why="Pixel m of the output is row m % rows of tile m // rows, and tap (r, s) is the plane r * S + s "
    "of the tile. An array full of -1 needs no second branch: only what hits the picture is written.",
    hints=(
        "Take one output pixel m and one tap (r, s). Which pixel (h, w) of the picture is it, and how many "
        "numbers lie before it?",
        "p, q = divmod(m, Q), then h = p*stride + r - padding and w = q*stride + s - padding. The "
        "distance is (h * W + w) * C. It goes to tile m // rows, tap r*S + s, row m % rows.",
        "Begin with np.full(shape, -1). Go over all m of all tiles, with min(m, P*Q - 1) for those past the "
        "last pixel, over r and s, and write (h*W + w)*C where 0 <= h < H and 0 <= w < W.",
    ),
    cases=lambda: (
        *(*LAYERS, (3, 4, 1, 2, 2, 1, 0, 4), (4, 4, 1, 2, 2, 1, 1, 2), (4, 9, 2, 2, 2, 3, 2, 5)),
        (3, 3, 4096, 2, 2, 1, 0, 4),  # a place that 16 bits are too few for
    ),
    answer=_answer,
    shapes={"return": ("tile", "tap", "row")},
    mistakes=(
        Mistake(
            "walks down the columns of the output",
            {"divmod(min(m, P * Q - 1), Q)": "divmod(min(m, P * Q - 1), P)[::-1]"},
            "Output pixels are numbered along their rows: pixel m is p = m // Q, q = m % Q.",
        ),
        Mistake(
            "divides by P where Q is meant",
            {"divmod(min(m, P * Q - 1), Q)": "divmod(min(m, P * Q - 1), P)"},
            "A row of the output has Q pixels: that is what m is divided by.",
        ),
        Mistake(
            "numbers the taps down the columns",
            {"r * S + s, m % rows": "s * R + r, m % rows"},
            "Taps are numbered along the rows of the window: t = r * S + s.",
        ),
        Mistake(
            "takes the taps on padding for pixels",
            {"if 0 <= h < H and 0 <= w < W:": "if True:"},
            "Outside of the picture there is no pixel: -1 says that the row of zeros is meant.",
        ),
        Mistake(
            "looks for the edges above and on the left only",
            {"0 <= h < H and 0 <= w < W": "0 <= h and 0 <= w"},
            "There is padding below and on the right as well: h < H, w < W.",
        ),
        Mistake(
            "asks whether there is such a place, not whether row and column are in the picture",
            {"0 <= h < H and 0 <= w < W": "0 <= (h * W + w) * C < H * W * C"},
            "One column past the end of a row is the next row's first: a place, and yet padding.",
        ),
        Mistake(
            "forgets the padding",
            {"2 * padding": "0", "+ r - padding": "+ r", "+ s - padding": "+ s"},
            "The first window begins `padding` rows above the picture and as many columns left of it.",
        ),
        Mistake(
            "lets the first window begin at the first pixel",
            {"+ r - padding": "+ r", "+ s - padding": "+ s"},
            "With padding the first window begins outside of the picture: subtract it from h and w.",
        ),
        Mistake(
            "ignores the stride",
            {"// stride": "// 1", "p * stride": "p", "q * stride": "q"},
            "The window moves on by `stride` pixels, and there are fewer outputs.",
        ),
        Mistake(
            "counts pixels, not numbers",
            {"(h * W + w) * C": "h * W + w"},
            "A pixel has C numbers, so the next one lies C numbers further.",
        ),
        Mistake(
            "multiplies the rows by C, and not the columns",
            {"(h * W + w) * C": "h * W * C + w"},
            "A step to the right passes C numbers, too: count the pixels before it first, then multiply.",
        ),
        Mistake(
            "multiplies the columns by C, and not the rows",
            {"(h * W + w) * C": "h * W + w * C"},
            "A step down passes W pixels of C numbers: count the pixels before it first, then multiply.",
        ),
        Mistake(
            "takes H for the length of a row",
            {"h * W + w": "h * H + w"},
            "A row of the picture has W pixels.",
        ),
        Mistake(
            "lies pixel by pixel in a tile, not tap by tap",
            {"return offsets": "return offsets.swapaxes(1, 2).reshape(offsets.shape)"},
            "In a tile all pixels of the first tap come first, then all of the second.",
        ),
        Mistake(
            "fills the last tile with -1",
            {"p, q = divmod(min(m, P * Q - 1), Q)": "p, q = divmod(m, Q) if m < P * Q else (-99, 0)"},
            "Pixels past the last one repeat it, so that the kernel need not ask whether a tile is whole.",
        ),
        Mistake(
            "leaves out the last tile if it is not whole",
            {"-(-P * Q // rows)": "P * Q // rows"},
            "The number of tiles is rounded up; the last one is filled with its last pixel.",
        ),
        Mistake(
            "fills the last tile with its first pixels",
            {"min(m, P * Q - 1)": "m % (P * Q)"},
            "Past the last pixel nothing begins anew: the last one is repeated.",
        ),
        Mistake(
            "fills the last tile with 0",
            {
                "    return offsets": "    pixel = np.arange(tiles * rows).reshape(tiles, 1, rows)\n"
                "    return np.where(pixel < P * Q, offsets, 0)"
            },
            "0 is the first pixel of the picture. Pixels past the last one repeat that one.",
        ),
        Mistake(
            "marks padding with 0",
            {"rows), -1)": "rows), 0)"},
            "0 is the first pixel of the picture. What is no pixel needs a number that no pixel has: -1.",
        ),
        Mistake(
            "looks for the edges below and on the right only",
            {"0 <= h < H and 0 <= w < W": "h < H and w < W"},
            "There is padding above and on the left as well: there h and w are below 0.",
        ),
        Mistake(
            "counts in the picture with its border",
            {
                "if 0 <= h < H and 0 <= w < W:": "if True:",
                "(h * W + w)": "((h + padding) * (W + 2 * padding) + w + padding)",
            },
            "There is no such picture: the table takes the place of the copy with a border. Count in the one "
            "that is there.",
        ),
        Mistake(
            "moves the window by one pixel, whatever the stride",
            {"p * stride": "p", "q * stride": "q"},
            "Output (p, q) looks at the window whose corner is at (p * stride, q * stride).",
        ),
        Mistake(
            "turns the window by 180 degrees",
            {"r * S + s, m % rows": "R * S - 1 - (r * S + s), m % rows"},
            "Tap 0 is the upper left corner of the window. Nothing is turned around here.",
        ),
        Mistake(
            "counts bytes, not numbers",
            {"(h * W + w) * C": "4 * (h * W + w) * C"},
            "An offset counts numbers, as an index does; how many bytes each has is the kernel's business.",
        ),
        Mistake(
            "takes the output for a square",
            {"Q = (W + 2 * padding - S) // stride + 1": "Q = P"},
            "Q comes from W and S, as P does from H and R.",
        ),
    ),
)
