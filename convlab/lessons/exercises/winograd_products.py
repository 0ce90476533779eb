"""Notebook 06: how many products a layer takes in tiles."""

from __future__ import annotations

from collections.abc import Iterator

from convlab.lessons.exercise import Exercise, Mistake


def winograd_products(P, Q, C, K, m):
    """Return the multiplications of a layer in tiles of m x m outputs, 3x3 filters."""
    # your code here
    down, across = -(-P // m), -(-Q // m)  # rounded up: the last tiles hang over
    return down * across * (m + 2) ** 2 * C * K


def _cases() -> Iterator[tuple]:
    """(P, Q, C, K, m) of a layer and the outputs of a tile along an axis."""
    yield 4, 4, 1, 1, 2
    yield 6, 4, 2, 3, 2
    yield 5, 4, 1, 1, 2  # a row of tiles hangs over
    yield 7, 11, 2, 1, 4  # and so much that it is nearly a tile
    yield 56, 56, 64, 64, 4
    yield 13, 13, 64, 256, 4
    yield 7, 13, 8, 5, 6


def _answer(P, Q, C, K, m) -> int:
    """Lay the tiles one by one, and count what each of them multiplies."""
    tiles = [(p, q) for p in range(0, P, m) for q in range(0, Q, m)]
    pixels = [(p + h, q + w) for p, q in tiles for h in range(m + 2) for w in range(m + 2)]
    return len(pixels) * C * K


EXERCISE = Exercise(
    notebook="06",
    statement="winograd_products(P, Q, C, K, m) returns the multiplications of pixels and weights, both "
    "transformed, in a layer of P x Q outputs cut into tiles of m x m, with 3x3 filters.",
    solution=winograd_products,
    why="In a tile each of the (m + 2)² places is multiplied once for every pair of a channel and a filter. "
    "Tiles come whole, so both directions round up by themselves.",
    hints=(
        "Begin with one tile, one channel and one filter. How many cells has M in the figure, for m = 2?",
        "A tile takes (m + 2)² products for each pair of a channel and a filter. How many tiles cover P rows "
        "of outputs if the last one may hang over?",
        "Multiply the tiles down, P / m rounded up, by the tiles across, Q / m rounded up, by (m + 2)², C "
        "and K. -(-P // m) rounds up.",
    ),
    cases=_cases,
    answer=_answer,
    mistakes=(
        Mistake(
            "drops the tiles that hang over",
            {"-(-P // m)": "P // m", "-(-Q // m)": "Q // m"},
            "The outputs at the edge are wanted, too: it takes a whole tile to compute them.",
        ),
        Mistake(
            "rounds up across, but not down",
            {"-(-P // m)": "P // m"},
            "A row of tiles may hang over below as a column of them may on the right.",
        ),
        Mistake(
            "takes a tile more than there are, always",
            {"-(-P // m)": "P // m + 1", "-(-Q // m)": "Q // m + 1"},
            "Where m divides P, nothing hangs over and nothing is left to cover.",
        ),
        Mistake(
            "counts parts of tiles",
            {"-(-P // m)": "P / m", "-(-Q // m)": "Q / m"},
            "What hangs over is computed all the same: tiles come whole.",
        ),
        Mistake(
            "rounds to the nearest tile",
            {"-(-P // m)": "round(P / m)", "-(-Q // m)": "round(Q / m)"},
            "However little hangs over, it takes a whole tile.",
        ),
        Mistake(
            "rounds up once, for both directions together",
            {"down * across": "-(-P * Q // m**2)"},
            "A row of tiles hangs over below and a column of them on the right, each by itself.",
        ),
        Mistake(
            "divides the outputs by those of a tile, and drops what is left",
            {"down * across": "(P * Q // m**2)"},
            "How many tiles cover P rows? Each direction for itself, and the last tile may hang over.",
        ),
        Mistake(
            "lays the pixels of the tiles side by side",
            {"// m": "// (m + 2)"},
            "A tile reads m + 2 pixels each way, but writes m outputs: the tiles overlap by two pixels.",
        ),
        Mistake(
            "covers the input with tiles",
            {"-P": "-(P + 2)", "-Q": "-(Q + 2)"},
            "Tiles are laid over the outputs, m x m of them each.",
        ),
        Mistake(
            "counts a row of the tile only",
            {"(m + 2) ** 2": "(m + 2)"},
            "A tile has two dimensions, and M has as many rows as columns.",
        ),
        Mistake(
            "counts the outputs of a tile",
            {"(m + 2) ** 2": "m**2"},
            "To give m outputs along an axis it takes m + 2 products, one for each point.",
        ),
        Mistake(
            "takes m + 3 points",
            {"m + 2": "m + 3"},
            "m outputs and three taps: n = m + 3 - 1.",
        ),
        Mistake(
            "counts what the definition multiplies",
            {"down * across * (m + 2) ** 2": "9 * P * Q"},
            "Nine products for each output are what Winograd does without.",
        ),
        Mistake(
            "counts nine products for each output of a tile",
            {"(m + 2) ** 2": "9 * m**2"},
            "That is what a direct sum takes, in tiles. Here each of the (m + 2)² cells takes one product.",
        ),
        Mistake(
            "takes the saving of 2 x 2 tiles for that of all",
            {"down * across * (m + 2) ** 2": "4 * P * Q"},
            "2.25 times fewer is what tiles of 2 x 2 save. Larger ones save more, and hang over further.",
        ),
        Mistake(
            "forgets the filters",
            {" * K": ""},
            "Every filter has weights of its own, and multiplies all tiles by them.",
        ),
        Mistake(
            "forgets the channels",
            {" * C": ""},
            "Every channel has a tile of its own; their products are added up.",
        ),
        Mistake(
            "counts the transforms",
            {"C * K": "(C + K)"},
            "Each channel and each filter is transformed once; but every channel meets every filter.",
        ),
        Mistake(
            "counts additions, too",
            {"return down": "return 2 * down"},
            "Asked are multiplications. A multiply-add has one of them.",
        ),
    ),
)
