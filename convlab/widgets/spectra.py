"""A convolution through frequencies: change the filter, take zeros away, and see the picture wrap around."""

from __future__ import annotations

import numpy as np
import traitlets

from convlab.figures import spectra
from convlab.figures.picture import Picture, photograph
from convlab.widgets.base import Choice, Live, Switch, Whole

SIDE = 32  # rows and columns of the picture


class Spectra(Live):
    """A picture, a filter, their spectra, the product, and the way back.

    Parameters
    ----------
    kind : "blur", "edges", "detail" or "shift"
        The filter.
    taps : int
        Its rows and columns, 1 to 15.
    zeros : int
        Rows and columns of zeros behind the picture, 0 to 14.
    forget : bool
        True to leave the conjugate away: then a true convolution comes out, with the filter flipped.

    Raises
    ------
    ConvError
        If the numbers are outside these ranges.

    Examples
    --------
    >>> figure = Spectra("blur", taps=7, zeros=6)
    >>> int(figure.through.wrong.sum())
    0
    """

    source = ("spectra.js",)
    kind = Choice(spectra.KINDS)
    taps = Whole(1, 15, 7)
    zeros = Whole(0, 14, 2)
    forget = Switch()
    pixels = traitlets.List().tag(sync=True)

    def __init__(self, kind="blur", taps=7, zeros=2, *, forget=False):
        grey = photograph(SIDE)[0].mean(axis=2)
        pixels = np.round(255 * grey).astype(int).tolist()
        super().__init__(kind=kind, taps=taps, zeros=zeros, forget=forget, pixels=pixels)

    @property
    def through(self) -> spectra.Through:
        """What is shown now, as NumPy computes it."""
        x = np.array(self.pixels, float)
        return spectra.Through(x, spectra.taps(self.kind, self.taps), self.zeros, not self.forget)

    def draw(self) -> Picture:
        """Return a picture of the present state."""
        return spectra.draw(self.through)
