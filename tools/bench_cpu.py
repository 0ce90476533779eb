"""`convlab bench cpu` for a measurement that is kept in the course: with what only its authors ask.

    python -m tools.bench_cpu --save data/measurements/NAME.csv

Besides what every reader can measure it times

    autotune              what `convlab.autotune` finds on all five networks, to judge the predictions by
    first                 the first call in a fresh process
    NumPy, other kernel   NumPy's product by the other kernel of its OpenBLAS
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from convlab.algorithms import ALGORITHMS
from convlab.auto.autotune import promising
from convlab.auto.timing import alone
from convlab.benchmark import layers, report, saved
from convlab.benchmark.bench import INTERRUPTED, bench_cpu
from convlab.benchmark.comparison import Comparison, Effort
from convlab.benchmark.layers import Workload
from convlab.benchmark.pass_baselines import EVERY
from convlab.benchmark.saved import Row
from convlab.benchmark.suite import Suite, Task
from convlab.errors import ConvError
from convlab.support.progress import Steps
from convlab.support.tables import as_text
from convlab.support.units import time_text
from convlab.workspace import folders
from tools import second_blas
from tools.cold_start import first_call

_AUTOTUNE = Effort(rounds=7, most=31, budget=0.2, patience=float("inf"))


class WholeSuite(Suite):
    """The suite with the parts for authors."""

    PARTS = (*Suite.PARTS, "autotune", "first")

    def tasks(self) -> list[Task]:
        """Return the tasks, in order."""
        convolutions = self.chosen(layers.convolutions)
        tuned = [
            Task("autotune", one.name, partial(_autotune, one))
            for one in convolutions + self.chosen(layers.other_networks)
        ]
        first = [Task("first", "a fresh process", partial(_first, one)) for one in convolutions[:1]]
        return [*super().tasks(), *tuned, *first]


def _first(workload: Workload, rows: list[Row]) -> list[Row]:
    return first_call(workload)


def _autotune(workload: Workload, rows: list[Row]) -> list[Row]:
    """Time the algorithms that `autotune` would try."""
    with alone(1):
        comparison = Comparison(workload, _AUTOTUNE)
        comparison.enter_ours({name: ALGORITHMS[name] for name in promising(workload.problem)})
        return comparison.rows("autotune")


def main(arguments: list[str] | None = None) -> int:
    """Measure, print what came of it, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench_cpu", description=__doc__.split("\n")[0])
    parser.add_argument("--save", type=Path, required=True, metavar="FILE", help="where the times go")
    parser.add_argument("--layers", default="", metavar="NAME", help="only layers whose name holds this")
    parser.add_argument(
        "--part", default="", metavar="PART", help=f"only one of {', '.join(WholeSuite.PARTS)}"
    )
    parser.add_argument("--quick", action="store_true", help="one layer of each class")
    given = parser.parse_args(arguments)
    try:
        if given.layers:
            layers.check_words(given.layers)
        WholeSuite.check_part(given.part)
        path = folders.replaceable(given.save, "--save", saved.is_ours, saved.OURS)
        measurement, stopped = measure(path, quick=given.quick, words=given.layers, part=given.part)
    except ConvError as error:
        print(f"convlab: {error}", file=sys.stderr)
        return 2
    for table in report.tables(measurement):
        print(as_text(table))
    first = [
        f"The first conv2d of a fresh process takes {time_text(row.seconds)}, imports included."
        for row in measurement.part("first")
    ]
    print("\n".join([*report.notes(measurement), *first, f"saved in {path}"]))
    if stopped:
        print(f"convlab: {stopped}", file=sys.stderr)
    return 130 if stopped == INTERRUPTED else int(bool(stopped))


def measure(path: Path, **options) -> tuple[saved.Measurement, str | None]:
    """Measure this machine with everything that is at hand; see `bench_cpu`."""
    blas, baselines = {"NumPy": second_blas.kernel()}, list(EVERY)
    also = {"blas": blas}
    with ExitStack() as stack:
        progress = stack.enter_context(Steps())
        try:
            other = stack.enter_context(second_blas.SecondBlas())
            baselines.append(other.baseline())
            blas[second_blas.NAME] = other.kernel
        except ConvError as reason:
            print(f"skipped: {second_blas.NAME}: {reason}")
            blas[second_blas.NAME] = None
        return bench_cpu(
            path,
            baselines=baselines,
            suite=WholeSuite,
            also=also,
            on_start=progress.expect,
            on_task=lambda task: progress.begin(f"{task.part}: {task.label}"),
            **options,
        )


if __name__ == "__main__":
    sys.exit(main())
