"""A convolution on several threads: who computes which tiles of the output, and what that was worth."""

from __future__ import annotations

import numpy as np

from convlab.benchmark.all_cores import best_times
from convlab.benchmark.saved import Measurement
from convlab.cpu.partition import partition
from convlab.errors import ConvError
from convlab.figures.charts import bars
from convlab.figures.images import grids
from convlab.figures.picture import Picture
from convlab.problem import ConvProblem
from convlab.support.checked import Count, Threads, checked
from convlab.support.integers import ceil_div
from convlab.support.units import ratio_2, time_text


@checked
def thread_shares(problem: ConvProblem, threads: Threads, *, rows: Count, cols: Count) -> Picture:
    """Draw which thread gets which tile of the output, cut by pixels alone, and by filters alone.

    Parameters
    ----------
    problem : ConvProblem
        Of few tiles: each is a cell, with the number of its thread.
    threads : int
    rows, cols : int
        Pixels and filters of a tile.
    """
    M, N, _ = problem.gemm
    down, across = ceil_div(M, rows), ceil_div(N, cols)

    def owners(row_step: int, col_step: int) -> np.ndarray:
        found = np.zeros((down, across))
        for thread, part in enumerate(partition(threads, M, row_step, N, col_step), 1):
            top, end, left, right = part
            found[top // rows : ceil_div(end, rows), left // cols : ceil_div(right, cols)] = thread
        return found

    ways = {"by pixels": owners(rows, N), "by filters": owners(M, cols)}
    cuts = {f"{name}: {one.max():g} of {threads} threads": one for name, one in ways.items()}
    of_pixels, of_filters = (f"{one.max():g}" for one in ways.values())
    return grids(
        cuts,
        title=f"{problem.P} x {problem.Q} pixels, {problem.K} filters: of {threads} threads {of_pixels} have "
        f"work if cut by pixels, {of_filters} by filters",
        alt=f"Two grids of {down} by {across} tiles, {rows} pixels by {cols} filters each; in each tile the "
        f"number of its thread. {', '.join(cuts)} have work.",
        roles=dict.fromkeys(cuts, "output"),
    )


@checked
def thread_gains(run: Measurement, network: str = "resnet18") -> Picture:
    """Draw how many times as fast a network's layers were on all cores of a saved run, the shortest first.

    Raises
    ------
    ConvError
        If nothing was timed on more than one thread there.
    """
    times = best_times(run, network)
    if not times:
        raise ConvError(f"network={network!r}; expected one that the run has on several threads")
    times = dict(sorted(times.items(), key=lambda one: one[1]))
    gains = {f"{layer}, {time_text(alone)}": alone / together for layer, (alone, together) in times.items()}
    threads, header = run.header["roofs"]["threads"], run.header
    least, most = (ratio_2(pick(gains.values())) for pick in (min, max))
    return bars(
        gains,
        title=f"{threads} threads: from {least} to {most} the speed of one",
        axis="times as fast as one thread, whose time stands beside the layer; best of each\n"
        f"{header['machine']['processor']}, {header['date'][:10]}",
        alt="Bars, by layer and its time on one thread: "
        + ", ".join(f"{layer}: {ratio_2(gain)}" for layer, gain in gains.items()),
        text=ratio_2,
        roles="output",
        roof=(f"{threads} cores", float(threads)),
    )
