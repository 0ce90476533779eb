"""The register tile: which registers a tile takes, what it loads at each step, what holds it up."""

from __future__ import annotations

import numpy as np
import traitlets

from convlab.cpu.tile_model import LATENCY, LOADS, TileBounds
from convlab.support.units import plural
from convlab.widgets.shared.live import Live, Step
from convlab.widgets.shared.traits import Choice, Whole, as_word

MOST_ROWS, MOST_VECTORS = 14, 4
UNITS = ("2", "1", "4")  # the first is how it opens
LENGTH, LANES = 6, 4  # what is drawn: sums of six products, vectors of four numbers

SENTENCES = {
    "spilled": "{rows} × {vectors} does not fit: {sums} too many for the registers",
    "reach": "{rows} × {vectors} can reach {percent} % of the peak: {why}",
    "units": "the multiply-adds themselves set the pace",
    "latency": "each sum waits for its last product",
    "loads": "the loads set the pace",
}
FIRST_STEPS = (
    Step("Press play: a column of a meets a row of b, and every sum takes one product. Point at a sum."),
    Step(
        "A tile of a single row and vector: its sum waits for itself. How much of the peak is left?",
        {"rows": 1, "vectors": 1},
    ),
    Step(
        "Seven rows of four vectors: look at the registers below. Which sums find no room?",
        {"rows": 7, "vectors": 4},
    ),
)


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
    units : 2, 1 or 4
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

    sentences = SENTENCES
    first_steps = FIRST_STEPS
    rows, vectors = Whole(1, MOST_ROWS, 7), Whole(1, MOST_VECTORS, 2)
    registers, units = Choice(("32", "16")), Choice(UNITS)
    step = Whole(0, LENGTH - 1, 2)
    a, b = traitlets.List().tag(sync=True), traitlets.List().tag(sync=True)
    latency, lanes = (traitlets.Int(n).tag(sync=True) for n in (LATENCY, LANES))
    loads = traitlets.Dict({str(units): loads for units, loads in LOADS.items()}).tag(sync=True)

    def __init__(self, rows=7, vectors=2, *, registers=32, units=2, step=2):
        chosen = {
            "registers": as_word("registers", registers, ("32", "16")),
            "units": as_word("units", units, UNITS),
        }
        rng = np.random.default_rng(3)
        a, b = (rng.integers(0, 4, shape) for shape in ((MOST_ROWS, LENGTH), (LENGTH, MOST_VECTORS * LANES)))
        super().__init__(rows=rows, vectors=vectors, step=step, a=a.tolist(), b=b.tolist(), **chosen)

    @property
    def bounds(self) -> TileBounds:
        """The counts for the tile that is shown now."""
        return TileBounds(self.rows, self.vectors, int(self.registers), int(self.units))

    def describe(self) -> str:
        """Return the present state in words."""
        bounds, size = self.bounds, {"rows": self.rows, "vectors": self.vectors}
        if bounds.spilled:
            finding = self._say("spilled", sums=plural(bounds.spilled, "sum"), **size)
        else:
            percent = f"{100 * bounds.share:.0f}"
            finding = self._say("reach", percent=percent, why=self.sentences[bounds.limit], **size)
        return (
            f"A register tile of {plural(self.rows, 'row')} and {plural(self.vectors, 'vector')}. "
            f"At step {self.step + 1} of {LENGTH} the outlined column of a meets the outlined row of b, "
            f"and every sum takes one product: {plural(bounds.multiply_adds, 'multiply-add')}, "
            f"{plural(bounds.fetched, 'load')}, {bounds.used} of {bounds.registers} registers. {finding}."
        )
