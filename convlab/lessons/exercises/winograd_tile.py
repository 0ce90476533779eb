"""Notebook 06: one tile of outputs, with fewer products."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from convlab.algorithms.winograd.transforms import matrices
from convlab.lessons.cases import filled
from convlab.lessons.exercise import Exercise, Mistake
from convlab.lessons.winograd import missing
from convlab.oracle import reference
from convlab.problem import ConvProblem


def winograd_tile(d, g, AT, G, BT):
    """Return the outputs (m, m) of a filter g (3, 3) on pixels d (m + 2, m + 2)."""
    # your code here
    U = G @ g @ G.T
    V = BT @ d @ BT.T
    return AT @ (U * V) @ AT.T


def _cases() -> Iterator[tuple]:
    """(d, g, AT, G, BT): one tile of pixels, a filter, and the matrices."""
    rng = np.random.default_rng(6)
    for m, whole in ((2, True), (2, True), (4, True), (6, True), (4, False)):
        d, g = (filled(rng, side, side, whole=whole, dtype=np.float64) for side in (m + 2, 3))
        yield d, g, *matrices(m)


def outputs(x, g) -> np.ndarray:
    """Return the sums of nine products of a picture (H, W) and a filter (3, 3)."""
    pictures, filters = x[None, :, :, None], g[None, :, :, None]
    return reference(pictures, filters, ConvProblem.of(pictures, filters))[0, :, :, 0]


def _its_way(function: Callable) -> str:
    return missing(function, 2, 1, 1) or missing(function, 4, 1, 1)


EXERCISE = Exercise(
    notebook="06",
    statement="winograd_tile(d, g, AT, G, BT) returns the m x m outputs of a filter g (3, 3) on pixels d (n, "
    "n), n = m + 2, computed with Winograd's matrices.",
    solution=winograd_tile,
    why="In two dimensions each matrix is applied from both sides, once down the columns and once along the "
    "rows. Between the transforms there is one product for each of the n x n cells.",
    hints=(
        "In one dimension it was AT @ ((G @ g) * (BT @ d)). In two, G works down the columns of g. What is "
        "needed for its rows?",
        "G @ g @ G.T transforms the filter, BT @ d @ BT.T the pixels; both are n x n then. How do they meet, "
        "and how does the result come back to m x m?",
        "U = G @ g @ G.T; V = BT @ d @ BT.T; multiply them cell by cell, with *; and put AT on the left of "
        "that, AT.T on the right.",
    ),
    cases=_cases,
    answer=lambda d, g, AT, G, BT: outputs(d, g),
    shapes={"d": "HW", "g": "RS", "return": "PQ"},
    unprinted=("AT", "G", "BT"),
    method=_its_way,
    mistakes=(
        Mistake(
            "multiplies U and V as matrices",
            {"U * V": "U @ V"},
            "A pixel's transform meets the weight's at the same place: cell by cell, as values at points do.",
        ),
        Mistake(
            "adds U and V",
            {"U * V": "U + V"},
            "A sum of pixels meets a sum of weights in a *product*.",
        ),
        Mistake(
            "transposes G",
            {"G @ g @ G.T": "G.T @ g @ G"},
            "G has n rows and three columns: it makes n numbers of three weights.",
        ),
        Mistake(
            "transforms the filter from one side only",
            {"G @ g @ G.T": "G @ g"},
            "That is one dimension. The rows of the filter have to be transformed like its columns.",
        ),
        Mistake(
            "transforms the pixels from one side only",
            {"BT @ d @ BT.T": "BT @ d"},
            "That is one dimension. The rows of the tile have to be transformed like its columns.",
        ),
        Mistake(
            "comes back from one side only",
            {" @ AT.T": ""},
            "n rows have become m, and the columns are still n.",
        ),
        Mistake(
            "never comes back",
            {"AT @ (U * V) @ AT.T": "U * V"},
            "M has n x n products. AT makes m outputs of n products along an axis.",
        ),
        Mistake(
            "forgets to transpose the matrix on the right of d",
            {"BT @ d @ BT.T": "BT @ d @ BT"},
            "On the right a matrix works on the rows, and there it is needed lying the other way.",
        ),
        Mistake(
            "takes B for its transpose",
            {"BT @ d @ BT.T": "BT.T @ d @ BT"},
            "What you are handed is transposed already: BT stands on the left, and BT.T on the right.",
        ),
        Mistake(
            "does not transform the pixels",
            {"BT @ d @ BT.T": "d"},
            "Pixels need their transform as the weights do: sums and differences of d, made by BT.",
        ),
        Mistake(
            "fills up the filter with zeros",
            {"G @ g @ G.T": "np.pad(g, (0, len(BT) - 3))"},
            "The filter does grow to n x n, but by evaluating it at n points: that is what G does.",
        ),
        Mistake(
            "returns the tile turned around",
            {"return AT @ (U * V) @ AT.T": "return (AT @ (U * V) @ AT.T).T"},
            "Rows of outputs go with rows of pixels.",
        ),
        Mistake(
            "flips the filter",
            {"G @ g @ G.T": "G @ g[::-1, ::-1] @ G.T"},
            "The filter lies on the picture as it is.",
        ),
        Mistake(
            "transposes the filter",
            {"G @ g @ G.T": "G @ g.T @ G.T"},
            "Rows of the filter go with rows of the picture.",
        ),
        Mistake(
            "transposes the pixels",
            {"BT @ d @ BT.T": "BT @ d.T @ BT.T"},
            "Rows of the picture go with rows of the filter.",
        ),
    ),
)
