"""fft: a convolution is one product for each frequency.

    X[f, c] = sum over pixels h, w of x[h, w, c] * exp(-2 pi i (f1 * h / rows + f2 * w / cols))
    Y[f, k] = sum over c of X[f, c] * conj(W[f, c, k])        y = the transform of Y, backwards

The sum over the taps is gone: what is left is, for each frequency f = (f1, f2), a product of matrices, images
by channels times channels by filters, of complex numbers. The work no longer depends on the size of the
filter. `conj`, the conjugate, turns the flipped filter of a true convolution back into a cross-correlation.

A discrete Fourier transform takes the picture for one that repeats itself for ever. A window that sticks out
on the right would wrap around and read pixels from the left. So a transform has at least P+R-1 rows and Q+S-1
columns, as many as the padded picture, and what lies behind the picture is zero. A picture of real numbers
needs half of the frequencies only: the others are their conjugates.

With a stride most of the outputs would be thrown away. It is refused; for a large filter a transform would
still have fewer operations than the definition (notebook 07).

Every pixel takes part in every frequency, and so does what is rounded there. An output y is off by

    8 * eps * (rounding * rms(x) * norm(w[k]) + |y|)         rms: the root of the mean square of the picture

at most, wherever it is (w[k]: its filter). A single pixel of 1e6 among ones takes the digits of all others,
where a plain sum feels no more than what lies under its window. So `auto` takes no transform for such a
picture, see `convlab.auto.magnitudes`.

Mathieu, Henaff & LeCun, "Fast Training of Convolutional Networks through FFTs" (2013), arXiv:1312.5851.
There and back goes `transforms.py`; the forms differ in the product in the middle.
"""

from __future__ import annotations

from convlab.algorithms.binding import forms
from convlab.algorithms.fft.costs import form_costs
from convlab.algorithms.fft.transforms import growth, pack_key, rounding, transform_size
from convlab.algorithms.spec import Algorithm, Mixing
from convlab.problem import ConvProblem


def refuses(problem: ConvProblem) -> str | None:
    """Return why a transform does not serve: it computes every output, of a filter without gaps."""
    for name in ("stride", "dilation"):
        if getattr(problem, name) != (1, 1):
            v, h = getattr(problem, name)
            return f"the {name} is {v}x{h}; a transform computes all outputs of a filter without gaps"
    return None


def _mixing(problem: ConvProblem) -> Mixing:
    size = transform_size(problem)
    return Mixing(size, (problem.P, problem.Q), growth(problem, size))


FLOPS, COSTS = form_costs("N", {"rows": "fast(P+R-1)", "half": "fast((Q+S-1)/2)"}, h="H", p="P")
COSTS["gpu"] |= {"bound": ("whole",)}  # its module serves fft_tiled too

ALGORITHM = Algorithm(
    name="fft",
    summary="Transform whole pictures; then a convolution is one product for each frequency.",
    source="Mathieu, Henaff & LeCun 2013, arXiv:1312.5851",
    refuses=refuses,
    flops=FLOPS,
    rounding=rounding(256, 256),
    mixing=_mixing,
    family="fourier",
    forms=forms(__name__, COSTS, functions=("pack", "allocate"), pack_key=pack_key),
)
