"""What a processor allows at best: each layer by its cheapest algorithm, at the roofs.

    limit of a layer = min over algorithms of  max(operations / peak,  bytes / speed of the nearest memory)

The bytes are those that nobody can do without: the pixels that some window reads, the weights as the
algorithm wants them, and y, each of them once, from the nearest memory that holds them. Nothing else counts:
no copy, no transformed pixels, no row of a tile that is computed for nothing, no call. And an addition, of
which a transform has many, is half of a multiply-add, though it takes the place of a whole one. So nobody
reaches the limit, least of all by a transform. It tells what is left to be had where all are equally fast.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from convlab import networks
from convlab.algorithms import ALGORITHMS
from convlab.algorithms.spec import Algorithm
from convlab.auto.predict import Speeds
from convlab.benchmark.passes import AUTO
from convlab.benchmark.saved import Measurement, Row
from convlab.benchmark.summary import by_layer, fastest
from convlab.problem import ConvProblem
from convlab.support.checked import Threads, checked
from convlab.support.tables import TextTable
from convlab.support.units import time_text

PARTS = ("layers", "depthwise")  # of a run: where others take part, on one thread
WHOLE = "as a whole"


@dataclass(frozen=True)
class Limit:
    """The shortest time that a machine's roofs allow, and by which algorithm.

    Attributes
    ----------
    seconds : float
    algorithm : str
    bound : str
        What it is spent on: "computing" or "moving".
    """

    seconds: float
    algorithm: str
    bound: str


@checked
def limit(problem: ConvProblem, speeds: Speeds, threads: Threads = 1) -> Limit:
    """Return what the roofs of a machine allow for a layer, whose arrays lie in the nearest memory they fit.

    Parameters
    ----------
    problem : ConvProblem
    speeds : Speeds
        Of the machine; its overheads are not asked.
    threads : int
        With more than one, the multiply-adds of all of them together count.
    """
    served = (one for one in ALGORITHMS.values() if "cpu" in one.forms and not one.refuses(problem))
    return min((_limit(problem, one, speeds, threads) for one in served), key=lambda found: found.seconds)


def _limit(problem: ConvProblem, algorithm: Algorithm, speeds: Speeds, threads: int) -> Limit:
    cost = algorithm.cost(problem, "cpu")
    moved = pixels_read(problem) * problem.itemsize + cost.packed_bytes + problem.y_bytes
    flops = speeds.flops if threads == 1 else speeds.flops_all * min(1.0, threads / speeds.threads)
    nearest = next(speed for room, speed in speeds.memory if moved <= room)
    computing, moving = cost.flops / flops, moved / nearest / threads
    return Limit(max(computing, moving), algorithm.name, "computing" if computing >= moving else "moving")


@checked
def pixels_read(problem: ConvProblem) -> int:
    """Return how many numbers of x some window reads: fewer than all where a stride leaps over some."""
    sides = (problem.H, problem.P, problem.R), (problem.W, problem.Q, problem.S)
    lines = [
        len(
            {
                at
                for p in range(outputs)
                for r in range(taps)
                if 0 <= (at := p * step - before + r * apart) < size
            }
        )
        for (size, outputs, taps), step, before, apart in zip(sides, *problem.geometry, strict=True)
    ]
    return problem.N * lines[0] * lines[1] * problem.C


# -- a run of `convlab bench cpu` beside it ----------------------------------------------------------------


@checked
def table(measurement: Measurement) -> TextTable:
    """Return, by class of layers and for whole networks, the limit, and how near ours and the others come.

    Of a layer the fastest of ours counts, and the fastest of the others; of a network as a whole "auto".
    """
    speeds = Speeds.of(measurement.header["roofs"], {})
    classes: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for group in by_layer(row for part in PARTS for row in measurement.part(part)).values():
        first, ours, theirs = group[0], fastest(group), fastest_other(group)
        if ours and theirs:
            times = limit(first.problem, speeds).seconds, ours.seconds, theirs.seconds
            classes.setdefault((first.network, first.kind), []).extend([times] * first.count)
    whole = (row for row in measurement.part("stacks", threads=1) if row.network in networks.model_names())
    for (network, _), group in by_layer(whole).items():
        ours, theirs = fastest(group, (AUTO,)), fastest_other(group)
        if ours and theirs:
            classes[network, WHOLE] = [(limit_of_network(network, speeds), ours.seconds, theirs.seconds)]
    lines = []
    for names, times in classes.items():
        least, ours, theirs = map(sum, zip(*times, strict=True))
        lines.append((*names, time_text(least), f"{least / ours:.0%}", f"{least / theirs:.0%}"))
    title = "What this processor allows at best, one thread, and which share of that is reached"
    return TextTable(title, ("", "", "at best", "by ours", "by others"), lines)


def limit_of_network(name: str, speeds: Speeds) -> float:
    """Return the seconds of a network's convolutions at their limits, on one thread; nothing lies between."""
    return sum(limit(node.problem, speeds).seconds for node in networks.load_model(name).layers)


def fastest_other(rows: Iterable[Row]) -> Row | None:
    """Return the fastest row of who is not ours."""
    return min((row for row in rows if not row.ours), key=lambda row: row.seconds, default=None)
