"""What an algorithm keeps beside x, w and y, as an interview speaks of it.

That is what the algorithm needs, and not what its fast form takes on one processor, where tiles come whole.
"""

from __future__ import annotations

from collections.abc import Callable

from convlab.algorithms import ALGORITHMS
from convlab.problem import ConvProblem

# The form whose formula says most: of the transforms the one that keeps all of it, of others the plain one.
_FORM = {"winograd": "gpu", "fourier": "gpu"}


def kept_by(name: str) -> Callable[[ConvProblem, int], int]:
    """Return the formula of the bytes that an algorithm keeps, for a layer and a number of threads."""
    algorithm = ALGORITHMS[name]
    return algorithm.forms[_FORM.get(algorithm.family, "numpy")].workspace_bytes


def kept_bytes(name: str, problem: ConvProblem) -> int:
    """Return the bytes that an algorithm keeps for a layer, with one thread."""
    return kept_by(name)(problem, 1)


def matrix_bytes(problem: ConvProblem) -> int:
    """Return the bytes of im2col's matrix for the whole batch."""
    return kept_bytes("im2col", problem)


def table_bytes(problem: ConvProblem) -> int:
    """Return the bytes of the indirection table: what is kept, without its pixel of zeros."""
    zeros = problem.C // problem.groups * problem.itemsize
    return kept_bytes("indirect", problem) - zeros
