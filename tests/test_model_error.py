"""The model held against measured times: ratios, the worst first, and what it costs to believe a choice."""

from dataclasses import replace

import pytest
from known_machine import SPEEDS

from convlab import ConvProblem, networks
from convlab.algorithms import ALGORITHMS
from convlab.auto.predict import Speeds, predict
from convlab.auto.timing import Timing
from convlab.benchmark import model_error
from convlab.benchmark.saved import Measurement, Row, read
from convlab.support.files import data_path

KNOWN = Speeds.of(SPEEDS["roofs"], SPEEDS["overheads"])
LAYERS = [networks.load("resnet18")[name].problem for name in ("conv1", "layer1.0.conv1", "layer2.0.conv1")]


def row(layer, problem, candidate, seconds, part="layers", network="a"):
    timing = Timing(seconds, seconds, seconds)
    return Row(part, network, layer, 1, problem, candidate, True, 1, 9, timing)


def foretold(part="layers", times=lambda name: 1.0, network="a"):
    """Return rows whose times are the predicted ones, times a factor of the algorithm."""
    return [
        row(str(i), p, name, predict(p, name, KNOWN).seconds * times(name), part, network)
        for i, p in enumerate(LAYERS)
        for name, algorithm in ALGORITHMS.items()
        if not algorithm.supports(p)
    ]


def test_times_that_were_foretold():
    judged = model_error.judge(foretold(), KNOWN)
    assert [one.ratio for one in judged] == pytest.approx([1] * len(judged))
    assert model_error.mean_ratio(judged) == pytest.approx(1)
    found = model_error.regret(foretold(), model_error.by_model(KNOWN))
    assert (found.layers, found.worst) == (3, pytest.approx(1, abs=0.03))


def test_times_that_were_not():
    slower = foretold(times=lambda name: {"fft": 4.0, "direct": 0.25}.get(name, 1.0))
    grouped = model_error.by_algorithm(model_error.judge(slower, KNOWN))
    assert list(grouped) == [name for name in ALGORITHMS if name in grouped]
    assert model_error.mean_ratio(grouped["fft"]) == pytest.approx(0.25)
    assert model_error.mean_ratio(grouped["direct"]) == pytest.approx(4)
    errors = [one.error for name in ("fft", "direct") for one in grouped[name]]
    assert errors == pytest.approx([4] * len(errors))
    mixed = [replace(one, timing=Timing(*[one.seconds * (1 + i)] * 3)) for i, one in enumerate(slower[:4])]
    worst = model_error.by_algorithm(model_error.judge(mixed, KNOWN))
    assert all(group[0].error == max(one.error for one in group) for group in worst.values())


def test_regret_is_the_price_of_a_choice():
    one, other = LAYERS[:2]
    rows = [row("x", one, "direct", 8.0), row("x", one, "indirect", 2.0)]
    rows += [row("y", other, "direct", 3.0), row("y", other, "indirect", 3.0)]
    found = model_error.regret(rows, lambda group: "direct")
    assert (found.mean, found.worst, found.worst_layer) == (2.0, 4.0, "a x")
    assert model_error.regret(rows, lambda group: "indirect").mean == 1
    assert model_error.regret(rows, lambda group: "fft") is None


def test_autotune_is_held_against_other_times():
    """What it measured decides; what it costs is read in the rows it did not see."""
    seen = [row("x", LAYERS[0], "direct", 1.0, "autotune"), row("x", LAYERS[0], "indirect", 2.0, "autotune")]
    held = [row("x", LAYERS[0], "direct", 3.0), row("x", LAYERS[0], "indirect", 2.0)]
    found = model_error.regret([*held, row("z", LAYERS[1], "direct", 1.0)], model_error.by_autotune(seen))
    assert (found.mean, found.layers) == (1.5, 1)


def test_the_longest_pass_is_named():
    depthwise = ConvProblem(1, 14, 14, 512, 512, 3, 3, padding=1, groups=512)
    for problem, name, longest in (
        (LAYERS[1], "im2row", "multiply"),
        (depthwise, "im2row", "fill the matrix"),
    ):
        (one,) = model_error.judge([row("x", problem, name, 1e-3)], KNOWN)
        assert one.longest_phase == longest


def test_each_layer_of_a_network_counts_once():
    run = Measurement({"roofs": SPEEDS["roofs"]}, foretold() + foretold("networks") + foretold("threads"))
    assert len(model_error.rows_of(run)) == len(foretold())
    run.rows += foretold("networks", network="b")
    assert len(model_error.rows_of(run)) == 2 * len(foretold())
    as_a_rival_pads_it = replace(LAYERS[1], padding=((0, 1), (0, 1)))
    run.rows.insert(0, row("1", as_a_rival_pads_it, "indirect", 9.0, "depthwise"))
    assert len(model_error.rows_of(run)) == 2 * len(foretold())
    assert as_a_rival_pads_it not in {one.problem for one in model_error.rows_of(run)}
    assert model_error.speeds_of(run) is None  # a file from before overheads were measured
    run.header["overheads"] = SPEEDS["overheads"]
    assert model_error.speeds_of(run) == KNOWN


@pytest.mark.parametrize("file", ["emerald_rapids_cpu.csv", "zen3_cpu.csv", "zen4_cpu.csv", "zen5_cpu.csv"])
def test_direct_begins_a_loop_for_every_group(file):
    """Of a depthwise layer little else is left: without it the times were foretold nine times too short."""
    run = read(data_path("measurements", file))
    rows = [one for one in model_error.rows_of(run) if one.candidate == "direct"]
    deep = [one for one in rows if one.problem.groups == one.problem.C > 1]
    judged = model_error.judge(deep, model_error.speeds_of(run))
    assert len(judged) > 8
    assert all(0.5 < one.ratio < 3 for one in judged)
