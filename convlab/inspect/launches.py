"""What an algorithm would launch: its kernel and the arguments, without running it."""

from __future__ import annotations

from convlab.algorithms.spec import Algorithm
from convlab.inspect.traffic import launches
from convlab.problem import ConvProblem
from convlab.support.checked import checked


@checked
def launched(algorithm: Algorithm | str, problem: ConvProblem) -> tuple:
    """Return the last kernel that an algorithm launches for a problem, and its arguments.

    Examples
    --------
    >>> kernel, arguments = launched(rung.algorithm("direct"), problem)  # doctest: +SKIP
    >>> assemble(kernel, *arguments)  # doctest: +SKIP
    """
    kernel, _, _, arguments = launches(problem, algorithm)[-1]
    return kernel, arguments
