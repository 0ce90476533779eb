"""Winograd's convolution: fewer multiplications for 3x3 filters, paid for with additions.

    V[e, t, c] = (BT @ d @ B)[e]      d: the n x n pixels under tile t, n = m + 2, of channel c
    U[e, c, k] = (G @ g @ GT)[e]      g: the 3x3 weights of filter k, channel c; once, when they are packed
    M[e, t, k] = sum over c of V[e, t, c] * U[e, c, k]
    y of tile t, filter k = AT @ M[:, t, k] @ A

The picture is cut into tiles of m x m output pixels. Each reads n x n input pixels, so neighbours overlap by
two. A tile costs n*n multiplications for each channel and filter, where the definition asks for 9*m*m: 16
instead of 36 for m = 2, 36 instead of 144 for m = 4, 64 instead of 324 for m = 6. What is multiplied falls
into n*n matrix products, one for each place e in the tile, that know nothing of one another.

The price: the transforms, whose work does not shrink with the number of filters; tiles that hang over the
edge; and rounding, since large numbers cancel on the way back (`amplification`).

Lavin & Gray, "Fast Algorithms for Convolutional Neural Networks", arXiv:1509.09308, Algorithm 1. The matrices
are made in `transforms.py`, U in `tiles.py`; `error.py` is a laboratory for the rounding.
"""

from __future__ import annotations

from functools import partial

from convlab.algorithms.binding import forms
from convlab.algorithms.spec import Algorithm, Mixing
from convlab.algorithms.winograd.costs import flops, form_costs
from convlab.algorithms.winograd.error import amplification, growth
from convlab.algorithms.winograd.tiles import tile_texts
from convlab.problem import ConvProblem


def refuses(m: int, problem: ConvProblem) -> str | None:
    """Say what is not a 3x3 filter that moves pixel by pixel."""
    needs = f"winograd_{m}x{m} needs"
    if (problem.R, problem.S) != (3, 3):
        return f"the filter is {problem.R}x{problem.S}; {needs} 3x3"
    if problem.stride != (1, 1):
        return f"the stride is {problem.stride}; {needs} 1, so that the windows of a tile overlap"
    if problem.dilation != (1, 1):
        return f"the dilation is {problem.dilation}; {needs} 1, so that a tile's pixels are neighbours"
    return None


def mixing(m: int, problem: ConvProblem) -> Mixing:
    """Return what is mixed: the pixels of a tile."""
    size, channels = m + problem.R - 1, problem.C // problem.groups
    return Mixing((size, size), (m, m), growth(m, problem.R) * channels)


def _algorithm(m: int) -> Algorithm:
    """Return the algorithm for tiles of m x m outputs."""
    per_tile = tile_texts(m)
    return Algorithm(
        name=f"winograd_{m}x{m}",
        summary=f"Transform tiles of {m}x{m} outputs: {(m + 2) ** 2} multiplications instead of {9 * m * m}.",
        source="Lavin & Gray 2015, arXiv:1509.09308",
        refuses=partial(refuses, m),
        flops=flops(per_tile),
        # Sums of C products instead of 9*C gather a third of the roundings, of numbers that much larger; the
        # transforms of pixels and weights add their own.
        rounding=1 + amplification(m) / 3,
        mixing=partial(mixing, m),
        family="winograd",
        forms=forms(__name__, form_costs(m, per_tile), functions=("pack", "allocate"), bound=(m,)),
    )


ALGORITHMS = tuple(_algorithm(m) for m in (2, 4, 6))
