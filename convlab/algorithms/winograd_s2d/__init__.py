"""Winograd's tiles for stride 2: fold the picture (`space_to_depth`), then transform tiles of 4x4 outputs.

    7x7 taps at stride 2, 4x4 outputs        16 * 49 = 784 multiplications for each channel
    folded: 4x4 taps, four channels                  4 * 49 = 196

Tiles need windows that overlap: stride 1, and that is what folding makes of stride 2. The first layer of many
networks is like this. A photo has three channels, which leave most of a vector idle; folded it has twelve.

Each form is that of `winograd`, on the folded problem, after a copy. NVDLA's Winograd unit calls the same
channel extension (github.com/nvdla/doc, issue 9).
"""

from __future__ import annotations

from convlab.algorithms import winograd
from convlab.algorithms.binding import forms
from convlab.algorithms.spec import Algorithm, Mixing
from convlab.algorithms.winograd.error import amplification
from convlab.algorithms.winograd_s2d.costs import flops, form_costs
from convlab.algorithms.winograd_s2d.space_to_depth import TAPS, M, folded, folded_taps
from convlab.problem import ConvProblem


def refuses(problem: ConvProblem) -> str | None:
    """Say what cannot be folded, or would leave filters that Winograd's tiles are not made for."""
    needs = "winograd_s2d needs"
    if problem.stride != (2, 2):
        return f"the stride is {problem.stride}; {needs} 2, to fold blocks of 2x2 pixels"
    if folded_taps(problem) not in TAPS:
        least, most = 2 * TAPS[0] - 1, 2 * TAPS[-1]
        return f"the filter is {problem.R}x{problem.S}; {needs} {least} to {most} taps on its longer side"
    if problem.dilation != (1, 1):
        return f"the dilation is {problem.dilation}; {needs} 1, so that a tile's pixels are neighbours"
    if problem.groups != 1:
        return f"the channels are in groups; {needs} all of them in one"
    return None


def _mixing(problem: ConvProblem) -> Mixing:
    """Return what the folded tiles mix, in pixels that are not folded."""
    (rows, cols), outputs, growth = winograd.mixing(M, folded(problem))
    return Mixing((2 * rows, 2 * cols), outputs, growth)


ALGORITHM = Algorithm(
    name="winograd_s2d",
    summary="Stride 2: fold blocks of 2x2 pixels into channels, then transform tiles of 4x4 outputs.",
    source="NVDLA, Winograd with channel extension",
    refuses=refuses,
    flops=flops(),
    rounding=1 + max(amplification(M, r=r) / r for r in TAPS),  # as for the other tiles, see `winograd`
    mixing=_mixing,
    family="winograd",
    forms=forms(__name__, form_costs(), functions=("pack", "allocate")),
)
