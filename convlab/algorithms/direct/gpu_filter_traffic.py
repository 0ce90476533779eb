"""How often the rungs of `convlab.algorithms.direct.gpu_filter` read the picture, by a closed formula.

A block, or a thread, reads a patch: a piece of consecutive lines, times a piece of each line. So the numbers
that are read are a product of two sums, one along each axis:

    reads = sum over pieces of lines in the picture  *  sum over pieces of columns in it

The lane simulator counts the same, number by number; a test holds one against the other.
"""

from __future__ import annotations

from functools import partial

from convlab.algorithms.direct import gpu_filter_lines
from convlab.algorithms.direct.gpu_filter import BLOCK
from convlab.algorithms.direct.gpu_filter_patch import WIDE, loads_for, plan_for
from convlab.problem import ConvProblem
from convlab.support.checked import checked


@checked
def reads(problem: ConvProblem) -> dict[str, int]:
    """Return for each rung that serves a problem how many numbers of x its threads read, all together."""
    R, S, (across, down) = problem.R, problem.S, BLOCK
    (top, _), (left, _) = problem.padding
    lines, columns = partial(_along, problem.H, problem.P), partial(_along, problem.W, problem.Q)
    window = lines(1, R, top) * columns(1, S, left)
    found = {
        "one thread per output": window,
        "weights in constant memory": window,
        "tile in shared memory": lines(down, down + R - 1, top) * columns(across, across + S - 1, left),
    }
    if plan := plan_for(problem):
        tall, ahead = plan[0], left + -left % 4
        patch = lines(tall, tall + R - 1, top) * columns(WIDE, 4 * loads_for(S, left), ahead)
        found["patch in registers"] = patch
    if gpu_filter_lines.refuses(problem) is None:
        ahead, down, across = left + -left % 4, gpu_filter_lines.tall_for(problem), gpu_filter_lines.ACROSS
        length = across + 4 * (loads_for(S, left) - 1)
        found["lines on their way"] = lines(down, down + R - 1, top) * columns(across, length, ahead)
    return {name: problem.N * number for name, number in found.items()}


def _along(size: int, outputs: int, step: int, length: int, before: int) -> int:
    """Return the pixels read along an axis of `size` pixels; what lies outside is not read.

    `step` outputs share a piece of `length` pixels, which begins `before` pixels before the first of them:
    the padding, and what comes along unused.
    """
    starts = (first - before for first in range(0, outputs, step))
    return sum(max(0, min(start + length, size) - max(start, 0)) for start in starts)
