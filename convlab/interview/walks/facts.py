"""Numbers that several walks name: what the run that came with the course measured, what a GPU could do."""

from __future__ import annotations

from functools import cache

import numpy as np

from convlab import figures
from convlab.benchmark.datasheets import Datasheet
from convlab.benchmark.saved import Measurement, Row
from convlab.benchmark.saved_runs import CPU, newest, runs
from convlab.figures.picture import Picture
from convlab.problem import ConvProblem
from convlab.support.files import data_path
from convlab.support.units import time_text


@cache
def last_run() -> Measurement:
    """Return the newest of the saved runs that has layers of all networks."""
    run = newest(run for run in runs(data_path("measurements"), CPU).values() if run.part("networks"))
    assert run is not None  # the course comes with some
    return run


def whose() -> str:
    """Return the processor on which it was measured, and the day."""
    header = last_run().header
    return f"{header['machine']['processor']}, one core, {header['date'][:10]}"


def measured(part: str, network: str) -> list[Row]:
    """Return what ours took on the layers of a network: a row for each algorithm and each shape."""
    return last_run().part(part, network=network, ours=True, threads=1, cache="warm")


def by_name(rows: list[Row], problem: ConvProblem) -> dict[str, Row]:
    """Return the rows of one shape, by the names of the algorithms."""
    return {row.candidate: row for row in rows if row.problem == problem}


def least_seconds(sheet: Datasheet, dtype: str, flops: float, moved: float) -> float:
    """Return the time of so many operations and bytes at a machine's roofs: no kernel takes less."""
    return max(flops / sheet.flops[dtype], moved / sheet.memory)


def least_times(seconds: dict[str, float], title: str) -> Picture:
    """Draw such times."""
    return figures.bars(
        seconds,
        title=title,
        axis="time at least, by its datasheet",
        alt="Bars of time: " + ", ".join(f"{name} {time_text(value)}" for name, value in seconds.items()),
        text=time_text,
    )


def digits(dtype: str) -> str:
    """Return how many decimal digits a type of number keeps."""
    return f"{-np.log10(np.finfo(dtype).eps):.0f}"
