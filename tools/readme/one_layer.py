"""The README's main picture: one layer by every algorithm, under the roofs of the machine that ran it."""

from __future__ import annotations

from convlab import networks
from convlab.benchmark.roofline import Roofline, of_machine
from convlab.benchmark.roofline_points import points
from convlab.benchmark.saved import Measurement, Row
from convlab.figures.picture import Picture
from convlab.figures.roofline import rate_text, roofline
from tools.readme.results import where_and_when

NETWORK, LAYER = "resnet18", "layer1.0.conv1"


def picture(run: Measurement) -> Picture:
    """Return the roofline of a saved run, with the points of that layer."""
    return roofline(_roofline(run), points(_rows(run)), title=_finding(run))


def markdown(run: Measurement, file: str) -> str:
    """Return the picture's place in a page, with its words, and a line that says what it shows.

    The words hold the times alone. The bytes that an algorithm is counted to move depend on the register tile
    of the processor that counts, and the page must not.
    """
    problem, line = networks.load(NETWORK)[LAYER].problem, _roofline(run)
    roofs = ", ".join(f"{roof.name} {rate_text(roof)}" for roof in (line.adds, *line.memories))
    speeds = ", ".join(f"{row.candidate} {_speed(row):.0f}" for row in _rows(run))
    alt = f"{_finding(run)}. Roofs: {roofs}. Points, in GFLOP/s: {speeds}."
    return (
        f"![{alt}]({file})\n\n"
        f"*One layer ({problem.H} x {problem.W} pixels, {problem.C} channels, {problem.K} filters of "
        f"{problem.R} x {problem.S}), one core, the same answer up to rounding: every point is an "
        "algorithm of this course, the lines are what the machine can do at most. "
        f"Measured {where_and_when(run.header)}.*"
    )


def _rows(run: Measurement) -> list[Row]:
    """Return the timings of our algorithms on the layer, the fastest first."""
    rows = run.part("layers", network=NETWORK, layer=LAYER, ours=True)
    return sorted(rows, key=lambda row: row.seconds)


def _finding(run: Measurement) -> str:
    rows, title = _rows(run), networks.load(NETWORK).title
    speeds = f"{_speed(rows[-1]):.0f} to {_speed(rows[0]):.0f} GFLOP/s"
    return f"{LAYER} of {title} by {len(rows)} algorithms: {speeds} on one core"


def _speed(row: Row) -> float:
    return row.problem.flops / row.seconds / 1e9


def _roofline(run: Measurement) -> Roofline:
    return of_machine(run.header["roofs"], run.header["machine"])
