"""Notebook 03: what a tile wants of the registers."""

from __future__ import annotations

from collections.abc import Iterator

from convlab.cpu.tile_model import TileBounds
from convlab.lessons.exercise import Exercise, Mistake


def registers(rows, vectors):
    """Return how many vector registers the tile takes."""
    # your code here
    sums = rows * vectors
    weights = vectors  # a row of b, as wide as the tile
    broadcast = 1  # one number of a at a time, in all lanes
    return sums + weights + broadcast


def _cases() -> Iterator[tuple]:
    """(rows, vectors)"""
    yield from ((1, 1), (4, 1), (7, 2), (6, 2), (2, 4), (14, 2), (9, 3), (7, 4))


EXERCISE = Exercise(
    notebook="03",
    statement="registers(rows, vectors) returns how many vector registers a tile of rows x vectors wants, "
    "with a row of weights and one number of a.",
    solution=registers,
    why="The sums stay for the whole product, so each has a register of its own. The row of weights and the "
    "number of a are replaced at every step, so one set of them is enough.",
    hints=(
        "Three things are in registers while the tile adds up. Which of them are many?",
        "There is a vector of sums for each row and each vector across. The weights of one step are as "
        "wide as the tile. Of a, one number at a time is spread over the lanes of a register.",
        "rows * vectors for the sums, vectors for the weights, 1 for the number of a.",
    ),
    cases=_cases,
    answer=lambda rows, vectors: TileBounds(rows, vectors).used,
    mistakes=(
        Mistake(
            "counts the sums only",
            {"sums + weights + broadcast": "sums"},
            "What is multiplied has to be in registers as well.",
        ),
        Mistake(
            "forgets the number of a",
            {" + broadcast": ""},
            "One number of a is spread over the lanes of a register before it is multiplied.",
        ),
        Mistake(
            "forgets the weights",
            {" + weights": ""},
            "A row of weights, as wide as the tile, is multiplied with every number of a.",
        ),
        Mistake(
            "keeps a number of a for every row",
            {"broadcast = 1": "broadcast = rows"},
            "Row after row uses the same register: a number of a is needed for one row only.",
        ),
        Mistake(
            "keeps weights for every row",
            {"weights = vectors": "weights = rows * vectors"},
            "All rows of the tile are multiplied with the same row of weights.",
        ),
        Mistake(
            "keeps one vector of weights, however wide the tile",
            {"weights = vectors": "weights = 1"},
            "A step multiplies a number of a with the whole width of the tile, and each vector of it is "
            "loaded.",
        ),
        Mistake(
            "adds rows and vectors",
            {"rows * vectors": "rows + vectors"},
            "Every row has a sum for every vector across: that is a product.",
        ),
    ),
)
