"""Notebook 14: which lane holds a sum."""

from __future__ import annotations

import numpy as np

from convlab.lessons.exercise import Exercise, Mistake


def holder(row, column):
    """Return the lane that holds C[row, column]."""
    # your code here
    return row % 8 * 4 + column // 2


def _answer(row, column) -> int:
    """Look through all lanes, as the PTX manual describes them: two rows, and in each two columns."""
    for lane, number in np.ndindex(32, 4):
        group, thread = divmod(lane, 4)
        if (group + 8 * (number // 2), 2 * thread + number % 2) == (row, column):
            return lane
    raise LookupError(f"no lane holds C[{row}, {column}]")


EXERCISE = Exercise(
    notebook="14",
    statement="holder(row, column) returns the lane that holds C[row, column].",
    solution=holder,
    why="Four lanes share a row of eight columns, two each: column // 2 says which of the four. Eight times "
    "four lanes are used up after eight rows, so rows 8 to 15 begin again at lane 0.",
    hints=(
        "Look at the picture of C at the top. Which lanes share row 0, and how many columns has each of "
        "them? Which lane has row 8?",
        "Four lanes to a row, two neighbouring columns to a lane; after eight rows the lanes begin again.",
        "Row r belongs to the lanes 4 * (r % 8) to 4 * (r % 8) + 3; which of them, column // 2 says.",
    ),
    cases=lambda: ((row, column) for row, column in np.ndindex(16, 8)),
    answer=_answer,
    mistakes=(
        Mistake(
            "forgets that the lower half begins again",
            {"row % 8 * 4": "row * 4"},
            "A warp has 32 lanes. Each has two rows of C: one in the upper half, one in the lower.",
        ),
        Mistake(
            "counts row by row",
            {"row % 8 * 4 + column // 2": "(row * 8 + column) % 32"},
            "A lane has two *neighbouring* columns of a row, so eight columns belong to four lanes.",
        ),
        Mistake(
            "gives a lane two neighbouring rows",
            {"row % 8 * 4": "row // 2 * 4"},
            "A lane's two rows lie eight apart: rows 0 and 8, not 0 and 1.",
        ),
        Mistake(
            "takes the columns of A",
            {"column // 2": "column % 4"},
            "In A a lane has the words t and t + 4. In C its two columns are neighbours.",
        ),
        Mistake(
            "takes B for C",
            {"row % 8 * 4 + column // 2": "column * 4 + row % 4"},
            "In B four lanes share a column. In C they share a row, as in A.",
        ),
        Mistake(
            "gives each column a lane",
            {"column // 2": "column"},
            "A row has eight columns, but only four lanes: two columns for each.",
        ),
        Mistake(
            "names the first lane of the row",
            {" + column // 2": ""},
            "Four lanes share the row: which of them has this column?",
        ),
        Mistake(
            "names the place in the row only",
            {"row % 8 * 4 + ": ""},
            "That is which of the row's four lanes. Four lanes come before them for every row above.",
        ),
        Mistake(
            "divides with a fraction",
            {"column // 2": "column / 2"},
            "Lanes have whole numbers: columns 0 and 1 are both lane 0's.",
        ),
        Mistake(
            "exchanges rows and columns",
            {"row % 8 * 4 + column // 2": "column * 4 + row // 2"},
            "Four lanes next to each other own a row of C, not a column.",
        ),
        Mistake(
            "deals all cells out four at a time",
            {"row % 8 * 4 + column // 2": "(row * 8 + column) // 4"},
            "Four cells are a lane's own, but two of them are in the upper half of C, two in the lower.",
        ),
        Mistake(
            "takes the half of C for the row in it",
            {"row % 8": "row // 8"},
            "The quotient says in which half the row is. Which row of that half, the remainder says.",
        ),
        Mistake(
            "begins again after four rows",
            {"row % 8": "row % 4"},
            "Four lanes to a row: after how many rows are all 32 used up?",
        ),
        Mistake(
            "counts down the columns",
            {"row % 8 * 4 + column // 2": "column // 2 * 8 + row % 8"},
            "Neighbouring lanes stand side by side in a row, not below each other.",
        ),
        Mistake(
            "takes the remainder of the column",
            {"column // 2": "column % 2"},
            "The remainder says which of a lane's two columns it is. Which lane, the quotient says.",
        ),
        Mistake(
            "numbers the cells of the upper half",
            {"row % 8 * 4 + column // 2": "row % 8 * 8 + column"},
            "That makes 64 numbers, and a warp has 32 lanes: two neighbouring columns share one.",
        ),
    ),
)
