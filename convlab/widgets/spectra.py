"""A convolution through frequencies: change the filter, take zeros away, and see the picture wrap around."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import traitlets

from convlab.figures.picture import photograph
from convlab.support.units import plural
from convlab.widgets.shared.live import Live, Step
from convlab.widgets.shared.traits import Choice, Switch, Whole

SIDE = 32  # rows and columns of the picture
KINDS = ("blur", "edges", "detail", "shift")
SENTENCES = {
    "right": "All {all} outputs are right: {zeros} are enough for {taps} × {taps} taps",
    "flipped": "{wrong} of {all} outputs are wrong: without the conjugate the filter is flipped",
    "around": (
        "{wrong} of {all} outputs are wrong: their windows reach {further} further, there {zeros}, "
        "and the rest wraps around to the other side"
    ),
}


def taps(kind: str, size: int) -> np.ndarray:
    """Return a filter of size x size taps: one of `KINDS`."""
    middle = (size - 1) / 2
    w = np.full((size, size), 1 / size**2)
    if kind == "edges":  # what lies on the right less what lies on the left
        w *= np.sign(np.arange(size) - middle)
    elif kind == "detail":  # the pixel less its neighbourhood
        w *= -1
        w[size // 2, size // 2] += 1
    elif kind == "shift":  # a pixel further down and to the right
        w[...] = 0
        w[-1, -1] = 1
    return w


@dataclass(frozen=True)
class Through:
    """A picture (H, H) and a filter (R, R), multiplied as spectra of H + zeros rows and columns.

    Window p, q begins at pixel p, q and reaches R-1 further: so R-1 zeros are needed below and on the right.
    """

    x: np.ndarray
    w: np.ndarray
    zeros: int
    conjugate: bool = True

    @property
    def size(self) -> int:
        """Rows and columns of the transforms."""
        return len(self.x) + self.zeros

    @property
    def spectra(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The transforms of x and of w, and their product."""
        size = (self.size, self.size)
        X, W = np.fft.fft2(self.x, size), np.fft.fft2(self.w, size)
        return X, W, X * (W.conj() if self.conjugate else W)

    @property
    def y(self) -> np.ndarray:
        """What comes back, where the picture was."""
        return np.fft.ifft2(self.spectra[2]).real[: len(self.x), : len(self.x)]

    @property
    def wanted(self) -> np.ndarray:
        """The cross-correlation, window by window, with zeros behind the picture."""
        padded = np.pad(self.x, ((0, len(self.w) - 1),) * 2)
        windows = np.lib.stride_tricks.sliding_window_view(padded, self.w.shape)
        return np.einsum("pqrs,rs->pq", windows, self.w)

    @property
    def wrong(self) -> np.ndarray:
        """Which outputs are not what was wanted: a thousandth of the brightest pixel, or more."""
        return np.abs(self.y - self.wanted) > 1e-3 * np.abs(self.x).max()


FIRST_STEPS = (
    Step("The outlined outputs are wrong. Add zeros until none is left: how many does this filter need?"),
    Step(
        "No zeros, and a filter that shifts: where do the top rows of the portrait go?",
        {"kind": "shift", "zeros": 0},
    ),
    Step(
        "Enough zeros, but the conjugate is forgotten: which way does the portrait move now?",
        {"kind": "shift", "zeros": 6, "forget": True},
    ),
)


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

    sentences = SENTENCES
    first_steps = FIRST_STEPS
    shows_photo = True
    kind = Choice(KINDS)
    taps = Whole(1, 15, 7)
    zeros = Whole(0, 14, 2)
    forget = Switch()
    pixels = traitlets.List().tag(sync=True)

    def __init__(self, kind="blur", taps=7, zeros=2, *, forget=False):
        grey = photograph(SIDE)[0].mean(axis=2)
        pixels = np.round(255 * grey).astype(int).tolist()
        super().__init__(kind=kind, taps=taps, zeros=zeros, forget=forget, pixels=pixels)

    @property
    def through(self) -> Through:
        """What is shown now, as NumPy computes it."""
        x = np.array(self.pixels, float)
        return Through(x, taps(self.kind, self.taps), self.zeros, not self.forget)

    def describe(self) -> str:
        """Return the present state in words."""
        wrong, count = int(self.through.wrong.sum()), {"all": SIDE**2, "taps": self.taps}
        zeros = plural(self.zeros, "zero")
        if not wrong:
            finding = self._say("right", zeros=zeros, **count)
        elif self.forget:
            finding = self._say("flipped", wrong=wrong, **count)
        else:
            there = f"{'is' if self.zeros == 1 else 'are'} {zeros}"
            further = plural(self.taps - 1, "pixel")
            finding = self._say("around", wrong=wrong, zeros=there, further=further, **count)
        return (
            f"Six panels. Above: a portrait of {SIDE} by {SIDE} pixels with {plural(self.zeros, 'line')} of "
            f"zeros, a filter of {self.taps} by {self.taps} taps, what comes out. Below: how strong each "
            f"frequency of their spectra is, the slow waves in the middle. {finding}."
        )
