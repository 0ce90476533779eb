"""Notebook 15: from which batch on a dense layer is worth its weights."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from convlab.benchmark.roofline_points import compulsory_bytes
from convlab.lessons.exercise import Exercise, Mistake
from convlab.problem import ConvProblem


def smallest_batch(C, K, ridge):
    """Return the smallest N with at least `ridge` FLOPs for each byte."""
    # your code here
    # 2*N*C*K >= ridge * 4 * (N*C + C*K + N*K), solved for N
    return ceil(4 * ridge * C * K / (2 * C * K - 4 * ridge * (C + K)))


def _cases() -> Iterator[tuple]:
    """(C, K, ridge): the ridge is below what any batch can reach."""
    yield from ((4, 4, 0.5), (64, 64, 4.0), (512, 512, 3.8), (512, 64, 10.0))
    yield from ((4096, 4096, 20.0), (25088, 4096, 14.0))


def _answer(C, K, ridge) -> int:
    """One batch after the other."""
    N = 1
    while (problem := ConvProblem(N, 1, 1, C, K, 1, 1)).flops < ridge * compulsory_bytes(problem):
        N += 1
    return N


EXERCISE = Exercise(
    notebook="15",
    statement="smallest_batch(C, K, ridge) returns the smallest N for which a float32 layer with a 1x1 "
    "filter on a 1x1 picture does at least `ridge` FLOPs for each byte, every number moved once.",
    solution=smallest_batch,
    why="The intensity is a fraction with N above and below; bring all N to one side and divide. If the "
    "divisor is not above zero, no batch reaches the ridge.",
    hints=(
        "Write down the intensity of this layer with H = W = R = S = 1. Where does N occur?",
        "2*N*C*K operations for 4*(N*C + C*K + N*K) bytes: at least `ridge` for each byte. Solve for N, "
        "or try one N after the other.",
        "N >= 4*ridge*C*K / (2*C*K - 4*ridge*(C + K)), rounded up.",
    ),
    cases=_cases,
    answer=_answer,
    mistakes=(
        Mistake("rounds down", {"ceil": "int"}, "One picture fewer stays below the ridge: round up."),
        Mistake(
            "does not round",
            {"ceil": "float"},
            "There is no part of a picture: the smallest whole number is asked for.",
        ),
        Mistake(
            "counts numbers instead of bytes",
            {"4 * ridge": "ridge"},
            "A float32 takes four bytes.",
        ),
        Mistake(
            "counts a multiply-add as one operation",
            {"2 * C * K": "C * K"},
            "A multiply-add is a multiplication and an addition: two FLOPs.",
        ),
        Mistake(
            "forgets that the pixels move, too",
            {" - 4 * ridge * (C + K)": ""},
            "With the batch the input and the output grow as well, and they are traffic.",
        ),
        Mistake(
            "forgets the output",
            {"(C + K)": "C"},
            "N*K numbers are written.",
        ),
        Mistake(
            "forgets the input",
            {"(C + K)": "K"},
            "N*C numbers are read.",
        ),
        Mistake(
            "wants more than `ridge`",
            {"ceil(": "1 + int("},
            "A batch that just comes to `ridge` does: at least so much is asked for.",
        ),
        Mistake(
            "rounds to the nearest number",
            {"ceil(": "round("},
            "Rounded down, the batch stays below the ridge.",
        ),
        Mistake(
            "takes one more than is needed",
            {"ceil(": "1 + ceil("},
            "At least `ridge` is asked for: where it comes out even, that is enough.",
        ),
    ),
)
