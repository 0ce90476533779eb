"""What a kernel did, as points of a roofline: how fast it was, and how much it did for each byte.

Two things have to be said with each point. *Which FLOPs?* Those of the definition, for all algorithms alike,
so that higher means done sooner. Winograd does fewer of them, and may stand above the roof of the
multiply-adds. *Which bytes?* Either x, w and y once, as if a cache held all; or the bytes that the cost model
of the algorithm counts.

The passes of training stand on one line, for they do equally many FLOPs and move the same three sizes: what a
pass does not read it writes. How high each comes is another matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from convlab.algorithms import Algorithm, Formula
from convlab.benchmark.passes import PASSES, operations, read_and_written
from convlab.benchmark.saved import Row
from convlab.problem import ConvProblem
from convlab.support.checked import Positive, Threads, checked


@dataclass(frozen=True)
class Point:
    """One algorithm's run of one layer.

    Attributes
    ----------
    layer, algorithm : str
    problem : ConvProblem
    seconds : float
    done : int
        Operations the algorithm does.
    moved : int
        Bytes that are counted as read and written.
    size : int
        Bytes it works on: x, y, weights as the algorithm wants them, workspace. They decide which memory it
        lives in.
    pass_ : str
        "fprop", "dgrad" or "wgrad".
    """

    layer: str
    algorithm: str
    problem: ConvProblem
    seconds: float
    done: int
    moved: int
    size: int
    pass_: str = "fprop"

    @property
    def speed(self) -> float:
        """FLOPs of the definition, a second."""
        return self.problem.flops / self.seconds

    @property
    def intensity(self) -> float:
        """FLOPs of the definition for each byte, if x, w and y (or their gradients) are moved once."""
        return self.problem.flops / compulsory_bytes(self.problem)

    @property
    def counted(self) -> float:
        """FLOPs of the definition for each byte that is counted."""
        return self.problem.flops / self.moved

    @property
    def saves(self) -> float:
        """How many times as many operations as this algorithm's the definition has: above 1 for Winograd."""
        return self.problem.flops / self.done


@checked
def compulsory_bytes(problem: ConvProblem) -> int:
    """Return the bytes of x, w and y, or of the gradients in their places, each moved once.

    Where every number of x is wanted, no algorithm can move less. Windows that skip pixels (1x1, stride 2)
    want fewer.
    """
    return problem.x_bytes + problem.w_bytes + problem.y_bytes


def weights_of(algorithm: Algorithm) -> Formula:
    """Return the bytes of an algorithm's weights as a formula: what the NumPy form packs.

    Fast forms fill up the last vector of a panel beside; a page without Python could not know how much.
    """
    return algorithm.form("numpy").packed_bytes


@checked
def point(
    problem: ConvProblem,
    algorithm: str,
    seconds: Positive,
    *,
    layer: str = "",
    backend: str = "cpu",
    threads: Threads = 1,
    pass_: str = "fprop",
) -> Point:
    """Return a point.

    Parameters
    ----------
    problem : ConvProblem
    algorithm : str
        One of the pass; of any other only the definition's operations, and each byte once, are known.
    seconds : float
        What it took.
    layer : str
        Its name in the picture.
    backend : str
        Whose cost model counts.
    threads : int
    pass_ : str
        "fprop", "dgrad" or "wgrad".
    """
    done, moved = problem.flops, sum(read_and_written(problem, pass_))
    size, known = moved, PASSES[pass_].algorithms.get(algorithm)
    if known is not None:
        cost = known.cost(problem, backend, threads)
        done, moved = operations(problem, known, backend, threads), cost.bytes_moved
        forward = pass_ == "fprop"
        size += weights_of(known)(problem) - problem.w_bytes if forward else cost.packed_bytes
        size += cost.workspace_bytes
    return Point(layer, algorithm, problem, seconds, done, moved, size, pass_)


@checked
def points(rows: Iterable[Row]) -> list[Point]:
    """Return the points of a saved measurement's rows, ours and baselines' alike."""
    return [
        point(
            *(row.problem, row.candidate, row.seconds),
            **{"layer": row.layer, "threads": row.threads, "pass_": row.pass_},
        )
        for row in rows
    ]
