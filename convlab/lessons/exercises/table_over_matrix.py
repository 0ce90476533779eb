"""Notebook 13: numbers of a table, and of the matrix that it stands for."""

from __future__ import annotations

from convlab.algorithms.indirect import indirection_buffer
from convlab.lessons.exercise import Exercise, Mistake
from convlab.problem import ConvProblem


def smaller(N, P, Q, C, R, S):
    """Return numbers of im2row's matrix, over numbers of the table."""
    # your code here
    matrix = N * P * Q * R * S * C  # a row for each pixel of each image
    table = P * Q * R * S
    return matrix / table


def _answer(N, P, Q, C, R, S) -> float:
    """Build the table, and count."""
    problem = ConvProblem(N, P + R - 1, Q + S - 1, C, 1, R, S)
    rows, _, columns = problem.gemm
    return rows * columns / indirection_buffer(problem, 1).size


EXERCISE = Exercise(
    notebook="13",
    statement="smaller(N, P, Q, C, R, S) returns how many times fewer numbers a table of places has than the "
    "matrix of a whole batch; the table serves every image.",
    solution=smaller,
    why="The matrix has every number of every window. The table has one place for all C channels of a pixel, "
    "since they lie side by side, and serves all N images, since their windows look alike: N * C times "
    "fewer.",
    hints=(
        "What does one number of the table stand for, and how many numbers of the matrix does it lead to?",
        "The matrix has a row for each of N * P * Q outputs, with R * S * C numbers. The table has a place "
        "for each of P * Q outputs and R * S taps.",
        "Divide N * P * Q * R * S * C by P * Q * R * S. Most of it cancels.",
    ),
    cases=lambda: (
        *((1, 2, 3, 2, 2, 1), (1, 2, 3, 1, 1, 1), (3, 2, 3, 4, 2, 1)),
        *((1, 56, 56, 64, 3, 3), (32, 56, 55, 64, 3, 2), (8, 7, 7, 512, 3, 3), (2, 112, 112, 3, 7, 7)),
    ),
    answer=_answer,
    mistakes=(
        Mistake(
            "makes a table for each image",
            {"table = P": "table = N * P"},
            "All images have the same sizes, so the same places: one table serves the whole batch. And the "
            "matrix is that of the whole batch.",
        ),
        Mistake(
            "forgets the channels of the matrix",
            {" * C ": " "},
            "Each tap of a window has C numbers, and the matrix has them all.",
        ),
        Mistake(
            "forgets channels and images alike",
            {"matrix = N * P": "matrix = P", " * C ": " "},
            "Then both would be equally large. What does one place of the table lead to?",
        ),
        Mistake(
            "forgets the taps of the matrix",
            {" * R * S * C": " * C"},
            "A row of the matrix is a whole window: R * S taps with C channels.",
        ),
        Mistake(
            "forgets the taps of the table",
            {"table = P * Q * R * S": "table = P * Q"},
            "The table has a place for each output *and* each tap: on padding there is -1. With one place "
            "for each output you would be led by deltas.",
        ),
        Mistake(
            "makes one window do for all outputs",
            {"table = P * Q * R * S": "table = R * S"},
            "Every output has a window of its own, with its own places.",
        ),
        Mistake(
            "counts one line of outputs in the table",
            {"table = P * Q": "table = Q"},
            "There are P lines of Q outputs.",
        ),
        Mistake(
            "is upside down",
            {"matrix / table": "table / matrix"},
            "The matrix is the larger one. Asked is how many times fewer numbers the table has.",
        ),
        Mistake(
            "tells the share that is saved",
            {"matrix / table": "1 - table / matrix"},
            "That is what goes away, as a share. Asked is a ratio: how many times fewer.",
        ),
        Mistake(
            "subtracts",
            {"matrix / table": "matrix - table"},
            "That is how many fewer. Asked is how many times fewer.",
        ),
        Mistake(
            "counts bytes, eight for a place",
            {"matrix / table": "4 * matrix / (8 * table)"},
            "Asked are numbers, not bytes. On a GPU a place takes four bytes, as a float32 does.",
        ),
        Mistake(
            "counts the numbers of the picture",
            {"matrix = N * P * Q * R * S * C": "matrix = N * (P + R - 1) * (Q + S - 1) * C"},
            "In im2row's matrix a pixel stands once for each window that holds it.",
        ),
    ),
)
