"""What a processor allows at best: by hand, by tracing what windows read, and below everything measured."""

from dataclasses import replace

import numpy as np
import pytest
from cases import CASES
from test_measurements import HEADER, POINT, row

import convlab
from convlab import ConvProblem
from convlab.algorithms import ALGORITHMS
from convlab.auto.predict import Speeds
from convlab.benchmark import limits, saved
from convlab.benchmark.saved import Measurement
from convlab.benchmark.summary import by_layer
from convlab.support.files import data_path

LAYER = ConvProblem(1, 14, 14, 256, 256, 3, 3, padding=1)
RUNS = sorted(data_path("measurements").glob("*_cpu.csv"))


def speeds(flops=1e9, memory=1e18):
    return Speeds(flops, 2 * flops, 2, ((1e5, 4 * memory), (float("inf"), memory)), {})


def test_the_cheapest_algorithm_at_the_peak():
    found = limits.limit(LAYER, speeds())
    cheapest = ALGORITHMS["winograd_6x6"].flops(LAYER), ALGORITHMS["winograd_4x4"].flops(LAYER)
    assert found.seconds == min(cheapest) / 1e9 < LAYER.flops / 2e9
    assert (found.algorithm[:8], found.bound) == ("winograd", "computing")
    assert limits.limit(LAYER, speeds(), threads=2).seconds == found.seconds / 2


@pytest.mark.parametrize(("height", "nearest"), [(4, 4), (400, 1)])
def test_each_number_is_moved_once_from_where_all_of_them_lie(height, nearest):
    problem = ConvProblem(1, height, 8, 64, 64, 1, 1)
    moved = 4 * (height * 8 * 64 + 64 * 64 + height * 8 * 64)
    found = limits.limit(problem, speeds(flops=1e18, memory=1e9))
    assert (found.seconds, found.bound) == (pytest.approx(moved / (nearest * 1e9)), "moving")


def test_threads_that_are_not_all_have_their_part():
    four = replace(speeds(), threads=4, flops_all=4e9)
    one, two, more = (limits.limit(LAYER, four, threads=threads).seconds for threads in (1, 2, 8))
    assert (two, more) == (one / 2, one / 4)
    slow = speeds(flops=1e18, memory=1e9)
    one, two = (limits.limit(LAYER, slow, threads=threads) for threads in (1, 2))
    assert one.bound == two.bound == "moving"
    assert two.seconds == pytest.approx(one.seconds / 2)


@pytest.mark.parametrize("name", CASES)
def test_pixels_that_no_window_reads_are_not_counted(name):
    """A gradient of ones is above zero where a window reads, and nowhere else."""
    problem = CASES[name]
    dy, w = (np.ones(shape, problem.dtype) for shape in (problem.y_shape, problem.w_shape))
    dx = convlab.dgrad(problem, dy, w, backend="numpy")
    assert limits.pixels_read(problem) == np.count_nonzero(dx)


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_nobody_was_faster_than_the_limit(path):
    """Of all that was ever measured; a roof is measured at another moment, so within a twentieth.

    On one machine within a seventh: its clock swings, and a quarter of its third cache of 300 MB is no fair
    roof for a layer of 3 MB, which lies near in it.
    """
    run = saved.read(path)
    here = Speeds.of(run.header["roofs"], {})
    rows = [one for part in limits.PARTS for one in run.part(part)]
    least = {key: limits.limit(group[0].problem, here).seconds for key, group in by_layer(rows).items()}
    slack = 0.86 if path.stem == "emerald_rapids_cpu" else 0.95
    fast = [one for one in rows if one.seconds < slack * least[one.network, one.layer]]
    assert rows
    assert not fast


def test_the_table_of_a_run():
    ours, others = row("indirect", 4e-6, count=3, problem=POINT), row("LiteRT", 8e-6, count=3, problem=POINT)
    alone = row("indirect", 1.0, "nobody else", problem=POINT)
    run = Measurement(HEADER, [ours, others, alone])
    least = limits.limit(POINT, Speeds.of(HEADER["roofs"], {})).seconds
    (line,) = limits.table(run).rows
    assert line[:2] == ("net", ours.kind)
    assert line[3:] == (f"{least / 4e-6:.0%}", f"{least / 8e-6:.0%}")
    larger = replace(POINT, N=50)
    rows = [row(name, 1e-5, "b", problem=larger) for name in ("indirect", "LiteRT")]
    (line,) = limits.table(Measurement(HEADER, [ours, others, *rows])).rows
    least = 3 * least + limits.limit(larger, Speeds.of(HEADER["roofs"], {})).seconds
    assert line[3:] == (f"{least / (3 * 4e-6 + 1e-5):.0%}", f"{least / (3 * 8e-6 + 1e-5):.0%}")


def test_whole_networks_are_in_it():
    whole = [row(name, t, part="stacks") for name, t in (("auto", 2e-2), ("LiteRT", 1e-2))]
    whole = [replace(one, network="mobilenet_v1", ours=one.candidate == "auto") for one in whole]
    ((network, what, _, *shares),) = limits.table(Measurement(HEADER, whole)).rows
    least = limits.limit_of_network(network, Speeds.of(HEADER["roofs"], {}))
    assert (network, what, shares) == (
        "mobilenet_v1",
        limits.WHOLE,
        [f"{least / 2e-2:.0%}", f"{least / 1e-2:.0%}"],
    )
    layers = convlab.networks.load("mobilenet_v1")
    assert least > sum(layer.problem.flops for layer in layers) / HEADER["roofs"]["flops"] * 0.99
