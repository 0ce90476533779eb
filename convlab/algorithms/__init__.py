"""`ALGORITHMS`: the one ordered table of algorithms. Nothing else lists them."""

from convlab.algorithms import direct, im2col, im2row
from convlab.algorithms.base import Algorithm, Cost, Form, Formula

ALGORITHMS: dict[str, Algorithm] = {
    module.ALGORITHM.name: module.ALGORITHM
    for module in (
        direct,
        im2row,
        im2col,
    )
}

__all__ = ["ALGORITHMS", "Algorithm", "Cost", "Form", "Formula"]
