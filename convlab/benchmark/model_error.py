"""The model, judged: what it predicted against what was measured, layer by layer, from a saved run.

A ratio above 1 is a run that was predicted to take longer than it took. What it costs to believe the model is
the `regret`: the time of the algorithm it would choose, beside the time of the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from convlab.algorithms import ALGORITHMS
from convlab.auto.predict import Prediction, Speeds, predict
from convlab.auto.ranking import order_of
from convlab.benchmark.saved import Measurement, Row
from convlab.benchmark.summary import Ratio, by_layer, fastest, geomean, over_layers
from convlab.errors import ParameterError
from convlab.support.checked import Filled, checked

PARTS = ("layers", "networks", "depthwise")  # of `convlab bench cpu`: one thread, all our algorithms


@dataclass(frozen=True)
class Judged:
    """One measured time, and what the model says of it."""

    row: Row
    prediction: Prediction

    @property
    def ratio(self) -> float:
        """Predicted seconds by measured seconds."""
        return self.prediction.seconds / self.row.seconds

    @property
    def error(self) -> float:
        """How many times too long or too short the prediction is; 1 is none."""
        return max(self.ratio, 1 / self.ratio)

    @property
    def longest_phase(self) -> str:
        """The phase that the model thinks the longest."""
        return max(self.prediction.parts, key=lambda part: part.seconds).name


@checked
def speeds_of(measurement: Measurement) -> Speeds | None:
    """Return the speeds that were measured with a run; None if it has no overheads (an older file)."""
    header = measurement.header
    if header.get("overheads") is None:
        return None
    try:
        return Speeds.of(header["roofs"], header["overheads"])
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        said = f"{type(error).__name__}: {error}"
        raise ParameterError(f"measurement has a header without roofs and overheads ({said})") from None


@checked
def rows_of(measurement: Measurement) -> list[Row]:
    """Return the rows of our algorithms on the layers of networks, each distinct layer of a network once.

    A layer may be there in another shape, too, padded as a rival pads it: such rows are left out.
    """
    found, shapes = {}, {}
    for part in PARTS:
        for row in measurement.part(part, ours=True):
            if row.candidate not in ALGORITHMS:  # of another version of the course
                continue
            if shapes.setdefault((row.network, row.layer), row.problem) == row.problem:
                found.setdefault((row.network, row.problem, row.candidate), row)
    return list(found.values())


@checked
def judge(rows: Iterable[Row], speeds: Speeds) -> list[Judged]:
    """Return what the model says of each row of one of our algorithms."""
    return [Judged(row, predict(row.problem, row.candidate, speeds, row.threads)) for row in rows]


def by_algorithm(judged: Iterable[Judged]) -> dict[str, list[Judged]]:
    """Return what was judged of each algorithm, in the table's order, the worst prediction first.

    Those on tensor cores, which are not in the table, come last.
    """
    found: dict[str, list[Judged]] = {name: [] for name in ALGORITHMS}
    for one in judged:
        found.setdefault(one.row.candidate, []).append(one)
    return {name: sorted(group, key=lambda one: -one.error) for name, group in found.items() if group}


@checked
def mean_ratio(judged: Filled[Sequence[Judged]]) -> float:
    """Return the geometric mean of predicted by measured."""
    return geomean((one.ratio, 1) for one in judged)


@checked
def regret(rows: Iterable[Row], chosen: Callable[[list[Row]], str]) -> Ratio | None:
    """Return how many times as long the chosen algorithm takes as the best, over layers of equal weight.

    Parameters
    ----------
    rows : iterable of Row
    chosen : callable
        Given the rows of one layer, returns the name of the algorithm that is chosen for it.
    """
    ratios = []
    for (network, layer), group in by_layer(rows).items():
        times = {row.candidate: row.seconds for row in group}
        if (name := chosen(group)) in times:
            ratios.append((times[name] / min(times.values()), 1, f"{network} {layer}"))
    return over_layers(ratios, lowest_is_worst=False)


def by_model(speeds: Speeds) -> Callable[[list[Row]], str]:
    """Return the choice of "auto": by the model alone."""

    def chosen(group: list[Row]) -> str:
        problem, threads = group[0].problem, group[0].threads
        seconds = {row.candidate: predict(problem, row.candidate, speeds, threads).seconds for row in group}
        return order_of(seconds, problem, threads)[0]

    return chosen


def by_autotune(rows: Iterable[Row]) -> Callable[[list[Row]], str]:
    """Return the choice of `convlab.autotune`, from its own measurements: others than those it is held to."""
    found = {row.problem: row for row in map(fastest, by_layer(rows).values())}
    return lambda group: found[group[0].problem].candidate if group[0].problem in found else ""
