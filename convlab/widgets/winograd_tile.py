"""One tile of Winograd's convolution, step by step, in exact numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import traitlets

from convlab.algorithms.winograd.transforms import POINTS, transforms
from convlab.support.checks import check_whole
from convlab.widgets.shared.live import Live, Step
from convlab.widgets.shared.traits import Choice, Whole, as_word

SIZES = tuple(map(str, POINTS))
STEPS = ("d and g", "V", "U", "M", "y")  # what has appeared after each
SENTENCES = {"finding": "{few} multiplications instead of {many}"}
_LAST = len(STEPS) - 1
_PIXELS = tuple(map(int, "31415926535897932384626433832795"))
_WEIGHTS = (1, 2, -1), (2, 0, 1), (-1, 1, 2)


class Tile(NamedTuple):
    """The numbers of one tile; in one dimension each part has one row.

    Attributes
    ----------
    d, g, V, U, M, y : ndarray of exact numbers
        Pixels, filter, both transformed, their products cell by cell, and the outputs.
    """

    d: np.ndarray
    g: np.ndarray
    V: np.ndarray
    U: np.ndarray
    M: np.ndarray
    y: np.ndarray


def tile_of(m: int, dimensions: int) -> Tile:
    """Return one tile of F(m, 3), of 1 dimension, or of F(m x m, 3x3), of 2; all its numbers are exact."""
    AT, G, BT = map(np.array, transforms(m))  # of `Fraction`
    n, high = m + 2, (m + 2) ** (dimensions - 1)
    places = 5 * np.arange(high)[:, None] + np.arange(n)
    d = np.take(_PIXELS, places, mode="wrap").astype(object)
    g = np.array(_WEIGHTS if dimensions == 2 else _WEIGHTS[:1], object)
    V, U = _both_sides(BT, d), _both_sides(G, g)
    return Tile(d, g, V, U, V * U, _both_sides(AT, V * U))


def _both_sides(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return A x A^T, or x A^T if x has one row."""
    return x @ A.T if len(x) == 1 else A @ x @ A.T


def text(number: Fraction) -> str:
    """Return a number as it fits into a cell: whole, or with three digits; "0.00" is a little off 0."""
    if number.denominator == 1:
        words = str(abs(number.numerator))
    else:
        words = f"{float(abs(number)):.{2 if abs(number) < 10 else 1 if abs(number) < 100 else 0}f}"
    return f"−{words}" if number < 0 else words


FIRST_STEPS = (
    Step("Press play: V, U, M and y appear in turn. In which of them does a pixel meet a weight?"),
    Step("Tiles of four outputs: how many multiplications are left, and what stands in V?", {"m": "4"}),
    Step("Tiles of six: still fewer multiplications. Now look at the size of the numbers in M.", {"m": "6"}),
)


class WinogradTile(Live):
    """Pixels and filter are transformed, multiplied cell by cell, and transformed back.

    Point at a cell to see which cells it is made of, and with which coefficients.

    Parameters
    ----------
    m : int
        Outputs of the tile along an axis: 2, 4 or 6.
    dimensions : int
        1 for F(m, 3), 2 for F(m x m, 3x3).
    step : int
        What is shown at first: 0 pixels and filter, 1 also V, 2 also U, 3 also M, 4 everything.

    Raises
    ------
    ConvError
        If an argument is none of these.

    Examples
    --------
    >>> WinogradTile(m=4).words()[:70]
    'A tile of 6 by 6 pixels d and a filter g are transformed to V and U, 3'
    """

    sentences = SENTENCES
    first_steps = FIRST_STEPS
    m = Choice(SIZES)
    dimensions = Choice(("1", "2"), "2")
    step = Whole(0, _LAST, _LAST)
    tiles = traitlets.Dict().tag(sync=True)  # dimensions -> m -> part -> rows of numbers as text
    matrices = traitlets.Dict().tag(sync=True)  # m -> AT, G, BT -> rows of [numerator, denominator]

    def __init__(self, m=2, dimensions=2, *, step=_LAST):
        check_whole("dimensions", dimensions, 1, 2)
        tiles = {
            d: {
                size: {
                    name: [[text(number) for number in row] for row in rows]
                    for name, rows in tile_of(int(size), int(d))._asdict().items()
                }
                for size in SIZES
            }
            for d in ("1", "2")
        }
        matrices = {
            size: {
                name: [[[number.numerator, number.denominator] for number in row] for row in rows]
                for name, rows in transforms(int(size))._asdict().items()
            }
            for size in SIZES
        }
        shown = {"m": as_word("m", m, SIZES), "dimensions": str(dimensions), "step": step}
        super().__init__(**shown, tiles=tiles, matrices=matrices)

    def describe(self) -> str:
        """Return the present state in words."""
        m, n, dimensions = int(self.m), int(self.m) + 2, int(self.dimensions)
        pixels, outputs = (f"{n} by {n}", f"{m} by {m}") if dimensions == 2 else (n, m)
        few, many = n**dimensions, (3 * m) ** dimensions
        first = " ".join(self.tiles[self.dimensions][self.m]["y"][0])
        done = f"The first row of outputs is {first}."
        shown = done if self.step == _LAST else f"Shown up to {STEPS[self.step]}."
        return (
            f"A tile of {pixels} pixels d and a filter g are transformed to V and U, {few} cells each, "
            f"multiplied cell by cell, and transformed back to {outputs} outputs: "
            f"{self._say('finding', few=few, many=many)}. {shown}"
        )
