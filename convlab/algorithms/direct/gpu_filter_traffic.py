"""How often the rungs of `convlab.algorithms.direct.gpu_filter` read the picture, by a closed formula.

A block, or a thread, reads a patch: a piece of consecutive lines, times a piece of each line. So the numbers
that are read are a product of two sums, one along each axis:

    reads = sum over pieces of lines in the picture  *  sum over pieces of columns in it

The lane simulator counts the same, number by number; a test holds one against the other.
"""

from __future__ import annotations

from dataclasses import dataclass

from convlab.algorithms.direct.gpu_filter import BLOCK
from convlab.algorithms.direct.gpu_filter_patch import WIDE, loads_for, plan_for
from convlab.problem import ConvProblem
from convlab.support.checked import checked


@dataclass(frozen=True)
class Pieces:
    """The pieces in which an axis is read.

    Attributes
    ----------
    outputs : int
        Outputs along the axis.
    step : int
        Outputs that share a piece.
    length : int
        Pixels of a piece.
    before : int
        How far before its first output it begins: the padding, and what comes along unused.
    """

    outputs: int
    step: int
    length: int
    before: int

    def reads(self, size: int) -> int:
        """Return the pixels read along an axis of `size` pixels; what lies outside is not read."""
        starts = (first - self.before for first in range(0, self.outputs, self.step))
        return sum(max(0, min(start + self.length, size) - max(start, 0)) for start in starts)


def pieces(problem: ConvProblem) -> dict[str, tuple[Pieces, Pieces]]:
    """Return for each rung, by name, how it reads lines and columns."""
    P, Q, R, S = problem.P, problem.Q, problem.R, problem.S
    (top, _), (left, _) = problem.padding
    window = Pieces(P, 1, R, top), Pieces(Q, 1, S, left)
    down, across = BLOCK[1], BLOCK[0]
    found = {
        "one thread per output": window,
        "weights in constant memory": window,
        "tile in shared memory": (
            Pieces(P, down, down + R - 1, top),
            Pieces(Q, across, across + S - 1, left),
        ),
    }
    if plan := plan_for(problem):
        tall, ahead = plan[0], left + -left % 4
        columns = Pieces(Q, WIDE, 4 * loads_for(S, left), ahead)
        found["patch in registers"] = Pieces(P, tall, tall + R - 1, top), columns
    return found


@checked
def reads(problem: ConvProblem) -> dict[str, int]:
    """Return for each rung, by name, how many numbers of x its threads read, all together."""
    return {
        name: problem.N * lines.reads(problem.H) * columns.reads(problem.W)
        for name, (lines, columns) in pieces(problem).items()
    }
