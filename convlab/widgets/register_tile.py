"""The register tile: which registers a tile takes, what it loads at each step, what holds it up."""

from __future__ import annotations

import traitlets

from convlab.cpu.tile_model import LATENCY, LOADS, TileBounds
from convlab.figures import tile as picture
from convlab.figures.picture import Picture
from convlab.figures.tile import LANES, LENGTH, MOST_ROWS, MOST_VECTORS
from convlab.widgets.base import Choice, Live, Whole, as_word


class RegisterTile(Live):
    """A register tile while it fills: numbers of a, times a vector of weights, into sums that stay.

    Parameters
    ----------
    rows : int
        Rows of the tile, 1 to 14.
    vectors : int
        Vectors in a row of it, 1 to 4; a vector is drawn with four numbers.
    registers : 32 or 16
        Vector registers that the processor has.
    units : 2 or 1
        Multiply-adds on vectors that it begins in a cycle.
    step : int
        How far the sum over k has come, 0 to 5.

    Raises
    ------
    ConvError
        If a number is outside these ranges.

    Examples
    --------
    >>> RegisterTile(rows=4, vectors=1).bounds.limit
    'latency'
    """

    source = ("tile_bounds.js", "register_tile.js")
    rows, vectors = Whole(1, MOST_ROWS, 7), Whole(1, MOST_VECTORS, 2)
    registers, units = Choice(("32", "16")), Choice(("2", "1"))
    step = Whole(0, LENGTH - 1, 2)
    a, b = traitlets.List().tag(sync=True), traitlets.List().tag(sync=True)
    latency, loads, lanes = (traitlets.Int(n).tag(sync=True) for n in (LATENCY, LOADS, LANES))

    def __init__(self, rows=7, vectors=2, *, registers=32, units=2, step=2):
        chosen = {
            "registers": as_word("registers", registers, ("32", "16")),
            "units": as_word("units", units, ("2", "1")),
        }
        a, b = picture.numbers()
        super().__init__(rows=rows, vectors=vectors, step=step, a=a.tolist(), b=b.tolist(), **chosen)

    @property
    def bounds(self) -> TileBounds:
        """The counts for the tile that is shown now."""
        return TileBounds(self.rows, self.vectors, int(self.registers), int(self.units))

    def draw(self) -> Picture:
        """Return a picture of the present state."""
        return picture.draw(self.bounds, self.step)
