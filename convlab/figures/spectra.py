"""A still of a convolution through frequencies: above what one sees, below the transforms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, ROLES, figure_style, headline, mix

KINDS = ("blur", "edges", "detail", "shift")


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


def strength(spectrum: np.ndarray) -> np.ndarray:
    """Return 1 for the strongest frequency, 0 for a thousandth of it or less, evenly by factors."""
    share = np.abs(spectrum) / (np.abs(spectrum).max() or 1)
    return np.clip(1 + np.log10(share + 1e-9) / 3, 0, 1)


def story(through: Through) -> str:
    """Return what the picture shows, in one sentence."""
    wrong, (R, _) = int(through.wrong.sum()), through.w.shape
    if not wrong:
        return f"All {through.y.size} outputs are right: {through.zeros} zeros are enough for {R} x {R} taps"
    if not through.conjugate:
        return f"{wrong} of {through.y.size} outputs are wrong: without the conjugate the filter is flipped"
    return (
        f"{wrong} of {through.y.size} outputs are wrong: {R} x {R} taps reach {R - 1} pixels further, "
        f"there are {through.zeros} zeros, the rest wraps around"
    )


def draw(through: Through) -> Picture:
    """Return the six panels: x, w and y above, their spectra below."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import LinearSegmentedColormap

    purple = LinearSegmentedColormap.from_list("spectrum", [LIGHT["paper"], ROLES["workspace"]])
    signs = LinearSegmentedColormap.from_list("taps", [LIGHT["ink"], LIGHT["paper"], ROLES["filter"]])
    size, count = through.size, len(through.x)
    with figure_style():
        fig, axes = plt.subplots(2, 3, figsize=(8, 5.8))
        picture = np.full((size, size), np.nan)
        picture[:count, :count] = through.x
        axes[0, 0].imshow(picture, cmap="gray")
        axes[0, 0].set_facecolor(mix(ROLES["padding"], 0.35))
        w = np.zeros((size, size))
        w[: len(through.w), : len(through.w)] = through.w
        axes[0, 1].imshow(w, cmap=signs, vmin=-np.abs(w).max(), vmax=np.abs(w).max())
        y = through.y
        low = -np.abs(y).max() if through.wanted.min() < 0 else 0
        axes[0, 2].imshow(y, cmap="gray", vmin=low, vmax=np.abs(y).max())
        if through.wrong.any():
            outline = np.kron(np.pad(through.wrong, 1), np.ones((8, 8)))  # fine, so that corners stay sharp
            at = (np.arange(len(outline)) + 0.5) / 8 - 1.5
            axes[0, 2].contour(at, at, outline, [0.5], colors=ROLES["active"], linewidths=2)
        for ax, spectrum in zip(axes[1], through.spectra, strict=True):
            ax.imshow(strength(np.fft.fftshift(spectrum)), cmap=purple, vmin=0, vmax=1)
        names = (f"x, {count} x {count}, and {through.zeros} zeros", "w", "y")
        conjugate = "conj(W)" if through.conjugate else "W"
        for ax, name in zip(axes.flat, (*names, "X", "W", f"Y = X · {conjugate}"), strict=True):
            ax.set_title(name, fontsize=10, fontweight="normal", color=LIGHT["muted"])
            ax.set_xticks([])
            ax.set_yticks([])
        title = story(through)
        headline(fig, title.partition(":")[0])
        alt = (
            f"Six panels. Above: a portrait of {count} by {count} pixels with {through.zeros} lines "
            f"of zeros, a filter of {len(through.w)} by {len(through.w)} taps, what comes out. Below: "
            f"how strong each frequency of their spectra is, the slow waves in the middle. {title}."
        )
        return show(fig, alt, photo=True)
