"""`DGRAD` and `WGRAD`: the algorithms for each gradient, and in which order "auto" tries them."""

from __future__ import annotations

from convlab.gradients import dgrad_col2im, dgrad_implicit, dgrad_indirect, wgrad_depthwise
from convlab.gradients.dgrad_subfilters import FLIPPED, SUBFILTERS
from convlab.gradients.spec import Gradient
from convlab.gradients.wgrad_product import IM2ROW, PARTS
from convlab.problem import ConvProblem

FEW = 8  # channels


def _by_name(*algorithms: Gradient) -> dict[str, Gradient]:
    return {one.name: one for one in algorithms}


DGRAD = _by_name(
    FLIPPED, SUBFILTERS, dgrad_implicit.ALGORITHM, dgrad_indirect.ALGORITHM, dgrad_col2im.ALGORITHM
)
# No product where it would have one row for each matrix; else the one that makes no matrix.
WGRAD = _by_name(wgrad_depthwise.ALGORITHM, PARTS, IM2ROW)


def dgrad_order(problem: ConvProblem) -> dict[str, Gradient]:
    """Return `DGRAD`, best first: convolutions of dy, but for a first layer.

    The channels of x are their filters, and so columns of the register tile: three of them leave it all but
    empty. The columns of col2im's product are taps times channels.
    """
    return {"col2im": DGRAD["col2im"]} | DGRAD if problem.groups == 1 and problem.C < FEW else DGRAD
