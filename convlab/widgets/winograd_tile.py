"""One tile of Winograd's convolution, step by step, in exact numbers."""

from __future__ import annotations

import traitlets

from convlab.algorithms.winograd.transforms import POINTS, transforms
from convlab.figures import winograd
from convlab.figures.picture import Picture
from convlab.support.checks import check_whole
from convlab.widgets.base import Choice, Live, Whole, as_word

SIZES = tuple(map(str, POINTS))
_LAST = len(winograd.STEPS) - 1


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
    >>> WinogradTile(m=4).still().alt[:70]
    'A tile of 6 by 6 pixels d and a filter g are transformed to V and U, 3'
    """

    source = ("winograd_tile.js",)
    m = Choice(SIZES)
    dimensions = Choice(("1", "2"), "2")
    step = Whole(0, _LAST, _LAST)
    tiles = traitlets.Dict().tag(sync=True)  # dimensions -> m -> part -> rows of numbers as text
    matrices = traitlets.Dict().tag(sync=True)  # m -> AT, G, BT -> rows of [numerator, denominator]

    def __init__(self, m=2, dimensions=2, *, step=_LAST):
        check_whole("dimensions", dimensions, 1, 2)
        super().__init__(m=as_word("m", m, SIZES), dimensions=str(dimensions), step=step)
        self.tiles = {
            d: {
                size: {
                    name: [[winograd.text(number) for number in row] for row in rows]
                    for name, rows in winograd.tile_of(int(size), int(d))._asdict().items()
                }
                for size in SIZES
            }
            for d in ("1", "2")
        }
        self.matrices = {
            size: {
                name: [[[number.numerator, number.denominator] for number in row] for row in rows]
                for name, rows in transforms(int(size))._asdict().items()
            }
            for size in SIZES
        }

    def draw(self) -> Picture:
        """Return a picture of the present state."""
        return winograd.draw(int(self.m), int(self.dimensions), self.step)
