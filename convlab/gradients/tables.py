"""`DGRAD` and `WGRAD`: the algorithms for each gradient, and an order for where nothing is predicted."""

from __future__ import annotations

from convlab.gradients import dgrad_col2im, dgrad_depthwise, dgrad_implicit, dgrad_indirect, wgrad_depthwise
from convlab.gradients.dgrad_subfilters import FLIPPED, SUBFILTERS
from convlab.gradients.spec import Gradient
from convlab.gradients.wgrad_product import IM2ROW, PARTS
from convlab.problem import ConvProblem

FEW = 8  # channels


def _by_name(*algorithms: Gradient) -> dict[str, Gradient]:
    return {one.name: one for one in algorithms}


DGRAD = _by_name(
    dgrad_depthwise.ALGORITHM,  # on a GPU alone
    FLIPPED,
    SUBFILTERS,
    dgrad_implicit.ALGORITHM,
    dgrad_indirect.ALGORITHM,
    dgrad_col2im.ALGORITHM,
)
WGRAD = _by_name(wgrad_depthwise.ALGORITHM, PARTS, IM2ROW)


TABLES = {"dgrad": DGRAD, "wgrad": WGRAD}


def rule(problem: ConvProblem, which: str) -> list[str]:
    """Return the names of a table, best first, by a rule of thumb.

    The gradient of the input by convolutions of dy, but for a first layer: the channels of x are their
    filters, and so columns of the register tile, and three of them leave it all but empty. The columns of
    col2im's product are taps times channels. The gradient of the weights by no product where it would have
    one row for each matrix, else by the one that makes no matrix.
    """
    first = ["col2im"] if which == "dgrad" and problem.groups == 1 and problem.C < FEW else []
    return list(dict.fromkeys([*first, *TABLES[which]]))
