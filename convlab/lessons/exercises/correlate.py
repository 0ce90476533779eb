"""Notebook 07: a convolution by way of its spectrum."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from convlab.lessons.cases import filled
from convlab.lessons.exercise import Exercise, Mistake
from convlab.oracle import reference
from convlab.problem import ConvProblem


def my_correlate(x, w):
    """Return y (H, W): w (R, S) slides over x (H, W), zeros below and on the right."""
    H, W = x.shape
    R, S = w.shape
    # your code here: np.fft.fft2 and ifft2, or rfft2 and irfft2, take the size as well
    size = H + R - 1, W + S - 1
    X = np.fft.fft2(x, size)
    F = np.fft.fft2(w, size)
    y = np.fft.ifft2(X * F.conj(), size).real
    return y[:H, :W]


_SHAPES = (  # of x and w
    *(((3, 4), (2, 1)), ((4, 3), (1, 2)), ((5, 6), (3, 2)), ((2, 3), (3, 4))),
    *(((4, 6), (2, 5)), ((7, 9), (4, 5))),
)


def _cases() -> Iterator[tuple]:
    """(x, w) with one channel, none of them square; the last of fractions."""
    rng = np.random.default_rng(8)
    for number, shapes in enumerate(_SHAPES, 1):
        yield tuple(filled(rng, *s, whole=number < len(_SHAPES), dtype=np.float64) for s in shapes)


def _answer(x, w) -> np.ndarray:
    (H, W), (R, S) = x.shape, w.shape
    problem = ConvProblem(1, H, W, 1, 1, R, S, padding=((0, R - 1), (0, S - 1)))
    return reference(x[None, :, :, None], w[None, :, :, None], problem)[0, :, :, 0]


def _reads(index, x, w) -> tuple[str, list[tuple[int, ...]]]:
    return "x", [(index[0] + r, index[1] + s) for r, s in np.ndindex(w.shape)]


def _through_the_spectrum(function: Callable) -> str:
    """Make one pixel huge: a sum of taps is exact wherever no window holds it, a spectrum nowhere.

    That is so whoever computes the spectrum: a library's transform, or a matrix of waves.
    """
    rng = np.random.default_rng(9)
    x, w = (filled(rng, *shape, whole=False, dtype=np.float64) for shape in ((9, 11), (3, 4)))
    x[-1, -1] = 0
    apart = _answer(x, w)
    far = np.ones(x.shape, bool)
    far[-3:, -4:] = False
    x[-1, -1] = 2.0**100
    if np.allclose(np.asarray(function(x, w))[far], apart[far]):
        return (
            "We made one pixel of the picture huge, and outputs far from it stayed exact. So yours sums up "
            "taps, window by window. In a spectrum every wave has a share of every pixel: transform x and w, "
            "multiply frequency by frequency, and transform back."
        )
    return ""


EXERCISE = Exercise(
    notebook="07",
    statement="my_correlate(x, w) returns y (H, W): w (R, S) slides over x (H, W), with R-1 rows of zeros "
    "below and S-1 columns on the right. It goes through the spectra of both.",
    solution=my_correlate,
    why="Where windows slide in the picture, the spectra are multiplied, each frequency for itself; the "
    "conjugate makes it a cross-correlation. H + R - 1 rows and W + S - 1 columns keep the repeated pictures "
    "apart, and of what comes back the first H x W numbers are the outputs.",
    hints=(
        "Three steps: transform both, multiply, transform back. Which size must both transforms have, so "
        "that the window of the last output finds zeros, and not the first rows again?",
        "The last window reads R - 1 rows and S - 1 columns beyond the picture: so many zeros both need, and "
        "`np.fft.fft2(x, size)` adds them itself. Multiplied as they are, two spectra give a convolution "
        "with the filter turned around. What turns it back?",
        "With size = (H + R - 1, W + S - 1): np.fft.ifft2(np.fft.fft2(x, size) * np.fft.fft2(w, "
        "size).conj()). Keep the real part, and of that the first H rows and W columns.",
    ),
    cases=_cases,
    answer=_answer,
    shapes={"x": "HW", "w": "RS", "return": "HW"},
    window=_reads,
    method=_through_the_spectrum,
    mistakes=(
        Mistake(
            "forgets the conjugate",
            {".conj()": ""},
            "Without it this is the convolution of mathematics: the filter is flipped, and the picture moves "
            "the other way.",
        ),
        Mistake(
            "begins each window R - 1 rows above its pixel and S - 1 columns left of it",
            {"np.fft.fft2(w": "np.fft.fft2(w[::-1, ::-1]", ".conj()": ""},
            "Do your zeros lie above and on the left? They belong below and on the right. Or did you flip "
            "the filter in place of the conjugate? A good way, too; then the first output lies R - 1 rows "
            "and S - 1 columns further.",
        ),
        Mistake(
            "conjugates the picture in place of the filter",
            {"X * F.conj()": "X.conj() * F"},
            "That exchanges their roles: what comes out runs backwards, beginning at the corner.",
        ),
        Mistake(
            "adds no zeros, so that windows wrap around",
            {"H + R - 1, W + S - 1": "H, W"},
            "A transform takes the picture for one that repeats for ever. A window that sticks out reads the "
            "other edge, unless zeros lie between.",
        ),
        Mistake(
            "transforms the filter at its own size",
            {"np.fft.fft2(w, size)": "np.fft.fft2(w)"},
            "Frequencies can be multiplied one by one only if both have the same: the filter, too, is filled "
            "up with zeros.",
        ),
        Mistake(
            "adds one row and one column of zeros too few",
            {"H + R - 1, W + S - 1": "H + R - 2, W + S - 2"},
            "Output row p reads the input rows p to p + R - 1. Up to which row does the last one reach?",
        ),
        Mistake(
            "returns the zeros as well",
            {"y[:H, :W]": "y"},
            "What comes back is as large as the transform. The outputs are a part of it.",
        ),
        Mistake(
            "crops the wrong corner",
            {"y[:H, :W]": "y[-H:, -W:]"},
            "With the conjugate the first output is the window that begins at pixel (0, 0): it comes first.",
        ),
        Mistake(
            "lays the middle of the filter on each pixel",
            {"y[:H, :W]": "np.roll(y, (R // 2, S // 2), (0, 1))[:H, :W]"},
            "Here all zeros lie below and on the right: the window of an output begins at its own pixel.",
        ),
        Mistake(
            "keeps the sizes but loses the signs",
            {".real": "", "return y": "return np.abs(y)"},
            "The absolute value of a complex number is never below zero. What comes back is real but for "
            "rounding: take the real part.",
        ),
        Mistake(
            "does not say the size on the way back from half a spectrum",
            {
                "np.fft.fft2": "np.fft.rfft2",
                "np.fft.ifft2(X * F.conj(), size).real": "np.fft.irfft2(X * F.conj())",
            },
            "Half a spectrum does not tell whether the lines had an odd or an even length, and `irfft2` "
            "takes it for even.",
        ),
        Mistake(
            "exchanges the halves of what comes back",
            {"np.fft.ifft2(": "np.fft.fftshift(np.fft.ifft2(", ".real": ".real)"},
            "`fftshift` puts the slow waves of a *spectrum* into the middle, to look at. A picture needs no "
            "such thing.",
        ),
        Mistake(
            "does not divide by the size on the way back",
            {").real": ").real * (H + R - 1) * (W + S - 1)"},
            "There and back makes every number as many times larger as there are waves: one of the two "
            "directions has to divide by that.",
        ),
        Mistake(
            "lays the filter on the picture turned by 180 degrees",
            {"np.fft.fft2(w": "np.fft.fft2(w[::-1, ::-1]"},
            "A product of spectra turns the filter around. The conjugate turns it back, and so does "
            "`w[::-1, ::-1]`: one of them, not none, and not both.",
        ),
        Mistake(
            "exchanges R and S in the size",
            {"H + R - 1, W + S - 1": "H + S - 1, W + R - 1"},
            "R rows of taps ask for zeros below, S columns of them for zeros on the right.",
        ),
        Mistake(
            "adds zeros below, and none on the right",
            {"W + S - 1": "W"},
            "A window sticks out on the right as well, and there it reads the left edge, unless zeros lie "
            "between.",
        ),
        Mistake(
            "adds zeros on the right, and none below",
            {"H + R - 1": "H"},
            "A window sticks out below as well, and there it reads the upper edge, unless zeros lie between.",
        ),
        Mistake(
            "centres the filter on each pixel, as the mode `same` does",
            {"y[:H, :W]": "np.roll(y, ((R - 1) // 2, (S - 1) // 2), (0, 1))[:H, :W]"},
            "Here all zeros lie below and on the right: the window of an output begins at its own pixel.",
        ),
        Mistake(
            "keeps the windows that lie in the picture whole",
            {"y[:H, :W]": "y[: max(H - R + 1, 0), : max(W - S + 1, 0)]"},
            "That is the mode `valid`. Here windows may stick out below and on the right, so that y is as "
            "large as x.",
        ),
        Mistake(
            "transforms forth once more where it should transform back",
            {"np.fft.ifft2(X": "np.fft.fft2(X"},
            "`fft2` and `ifft2` are not the same: twice forth turns the picture around and makes it larger.",
        ),
    ),
)
