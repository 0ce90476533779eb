"""What `judge` finds, as two small tables: how far the model is off, and what it costs to believe it."""

from __future__ import annotations

from collections.abc import Callable

from convlab.benchmark.model_error import (
    Judged,
    by_algorithm,
    by_autotune,
    by_model,
    judge,
    mean_ratio,
    regret,
    rows_of,
    speeds_of,
)
from convlab.benchmark.saved import Measurement, Row
from convlab.support.checked import checked
from convlab.support.tables import TextTable

FIXED = ("indirect", "precomputed_gemm", "im2row")  # what serves nearly everything, as a choice for all


def tables(measurement: Measurement) -> list[TextTable]:
    """Return both tables of a run; none if it has no overheads, or none of our times."""
    rows, speeds = rows_of(measurement), speeds_of(measurement)
    if speeds is None or not rows:
        return []
    return [errors(judge(rows, speeds)), prices(measurement)]


@checked
def errors(judged: list[Judged]) -> TextTable:
    """Return for each algorithm the ratio of predicted to measured time."""
    lines = []
    for name, group in by_algorithm(judged).items():
        ratios, worst = [one.ratio for one in group], group[0]
        spread = f"{min(ratios):.2f} … {max(ratios):.2f}"
        where = f"{worst.row.network} {worst.row.layer} ({worst.longest_phase})"
        lines.append((name, f"{mean_ratio(group):.2f}", spread, where))
    columns = ("", "mean", "from … to", "furthest off (its longest phase)")
    return TextTable("Predicted time over measured time", columns, lines)


@checked
def prices(measurement: Measurement) -> TextTable:
    """Return for several ways to choose how many times as long that takes as the best algorithm."""
    rows, speeds = rows_of(measurement), speeds_of(measurement)
    ways: dict[str, Callable[[list[Row]], str]] = {
        "auto, by the model": by_model(speeds),
        "autotune, by measurement": by_autotune(measurement.part("autotune")),
    } | {f"always {name}": _always(name) for name in FIXED}
    lines = []
    for way, chosen in ways.items():
        if found := regret(rows, chosen):
            counted = f"{found.layers}", f"{found.mean:.3f}", f"{found.worst:.2f}", found.worst_layer
            lines.append((way, *counted))
    return TextTable("Time of the chosen over the best", ("", "layers", "mean", "worst", "on"), lines)


def _always(name: str) -> Callable[[list[Row]], str]:
    return lambda group: name
