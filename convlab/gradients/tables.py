"""`DGRAD` and `WGRAD`: the algorithms for each gradient, in the order in which "auto" tries them."""

from __future__ import annotations

from convlab.gradients import dgrad_col2im, wgrad_depthwise
from convlab.gradients.dgrad_subfilters import FLIPPED, SUBFILTERS
from convlab.gradients.spec import Gradient
from convlab.gradients.wgrad_product import IM2ROW, PARTS


def _by_name(*algorithms: Gradient) -> dict[str, Gradient]:
    return {one.name: one for one in algorithms}


# A convolution with every fast form there is; the matrix where that does not fit.
DGRAD = _by_name(FLIPPED, SUBFILTERS, dgrad_col2im.ALGORITHM)
# No product where it would have one row for each matrix; else the one that makes no matrix.
WGRAD = _by_name(wgrad_depthwise.ALGORITHM, PARTS, IM2ROW)
