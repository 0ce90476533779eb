"""Notebook 07: how many tiles a picture is cut into."""

from __future__ import annotations

from convlab.lessons.exercise import Exercise, Mistake


def tiles(P, R, tile):
    """Return how many tiles of `tile` rows compute P rows of output, with R taps."""
    # your code here
    rows = tile - R + 1  # of the output, that a tile computes
    return -(-P // rows)


def _answer(P, R, tile) -> int:
    """Lay tile after tile, and count the windows that lie in it whole."""
    count = done = 0
    while done < P:
        done += sum(p + R <= tile for p in range(tile))
        count += 1
    return count


EXERCISE = Exercise(
    notebook="07",
    statement="tiles(P, R, tile) returns how many tiles of `tile` rows it takes to compute P rows of output.",
    solution=tiles,
    why="A window of R rows has tile - R + 1 places in a tile of `tile` rows, so that many outputs are "
    "right. The next tile begins with the first output that is missing; a part of a tile is a tile.",
    hints=(
        "In a tile of 8 rows, at how many places can a window of 3 rows stand without sticking out?",
        "A tile gives tile - R + 1 rows of output. How many such pieces cover P rows, if the last may be "
        "shorter?",
        "Divide P by tile - R + 1 and round up: -(-a // b) is a / b, rounded up.",
    ),
    cases=lambda: (
        *((6, 3, 8), (7, 3, 8), (5, 3, 8), (12, 3, 8), (26, 3, 8), (56, 3, 32)),
        *((56, 7, 32), (100, 32, 33), (9, 1, 3), (10, 2, 4), (61, 3, 32)),
    ),
    answer=_answer,
    mistakes=(
        Mistake(
            "forgets that tiles overlap",
            {"tile - R + 1": "tile"},
            "Windows at a tile's last rows stick out of it and wrap around: these outputs are thrown away.",
        ),
        Mistake(
            "cuts the input without overlap",
            {"tile - R + 1": "tile", "P // rows": "(P + R - 1) // rows"},
            "P rows of output do need P + R - 1 rows of input. But neighbouring tiles both need the rows "
            "between them.",
        ),
        Mistake(
            "takes P for the rows of the input",
            {"P // rows": "(P - R + 1) // rows"},
            "P counts rows of *output* already: it is all of them that have to be computed.",
        ),
        Mistake(
            "divides the rows of the input by those of the output",
            {"P // rows": "(P + R - 1) // rows"},
            "A tile's share is counted in rows of output, so it is the P rows of output that are shared out.",
        ),
        Mistake(
            "lets tiles overlap by R rows",
            {"tile - R + 1": "tile - R"},
            "A window of R rows has one place more than tile - R: a window as large as the tile fits once.",
        ),
        Mistake(
            "lets tiles overlap by R - 2 rows",
            {"tile - R + 1": "tile - R + 2"},
            "Count the places of a window of 3 rows in a tile of 3: there is one.",
        ),
        Mistake(
            "throws rows away on both sides of a tile",
            {"tile - R + 1": "tile - 2 * (R - 1)"},
            "A window sticks out at the end alone. The first window of a tile begins in its first row.",
        ),
        Mistake(
            "lets tiles overlap by half a filter",
            {"tile - R + 1": "tile - R // 2"},
            "The last window that fits begins R - 1 rows before the tile's last row.",
        ),
        Mistake(
            "takes half of the filter off on both sides",
            {"tile - R + 1": "tile - 2 * (R // 2)"},
            "For an odd R that comes to the same. For an even one it takes one row too many.",
        ),
        Mistake(
            "adds the overlap to the tile",
            {"tile - R + 1": "tile + R - 1"},
            "That is the input of `tile` rows of output. Here the tile is what is transformed, and yields "
            "less.",
        ),
        Mistake(
            "rounds down",
            {"-(-P // rows)": "P // rows"},
            "The rows that are left over at the end need a tile as well.",
        ),
        Mistake(
            "adds one tile always",
            {"-(-P // rows)": "P // rows + 1"},
            "If the rows come out even, nothing is left over for one more tile.",
        ),
        Mistake(
            "divides with a fraction",
            {"-(-P // rows)": "P / rows"},
            "A part of a tile is transformed as a whole one.",
        ),
        Mistake(
            "rounds to the nearest number",
            {"-(-P // rows)": "round(P / rows)"},
            "However few rows are left over, they need a tile.",
        ),
        Mistake(
            "counts the tiles in both directions",
            {"-(-P // rows)": "(-(-P // rows)) ** 2"},
            "Asked are the tiles below each other; those beside them come in later, with Q and S.",
        ),
    ),
)
