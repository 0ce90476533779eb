"""All cores beside one: what a saved run tells, what is measured here, and the pictures of it."""

from dataclasses import replace

import numpy as np
import pytest

from convlab import ConvError, ConvProblem, figures, networks
from convlab.auto import roofs, timing
from convlab.benchmark import CPU, all_cores, runs
from convlab.support.files import data_path

LAYER = ConvProblem(1, 9, 10, 4, 8, 3, 3, padding=1)
RUN = next(run for run in runs(data_path("measurements"), CPU).values() if run.part("threads"))


def test_the_best_of_ours_counts_on_one_thread_and_on_all():
    found = all_cores.best_times(RUN, "resnet18")
    layers = networks.load("resnet18")
    assert {layers[name].problem for name in found} == {one.problem for one in layers}
    for name, (alone, together) in found.items():
        ours = [row for row in RUN.rows if row.layer == name and row.network == "resnet18" and row.ours]
        assert alone == min(row.seconds for row in ours if row.part == "layers")
        assert together == min(row.seconds for row in ours if row.part == "threads")


@pytest.mark.inside
def test_the_shortest_rounds_count(monkeypatch):
    seconds = {"1 threads": [2.0] * 9 + [3.0], "2 threads": [9.0] + [1.0] * 9}
    monkeypatch.setattr(timing, "take_turns", lambda timers, rounds, rest: seconds)
    gain = all_cores.layer_gain(LAYER, "indirect", 2, rounds=1)
    assert gain == 2
    assert not gain.noisy


def test_one_thread_gains_nothing(monkeypatch):
    monkeypatch.setattr(all_cores, "copy_sizes", lambda: {"memory": 1 << 16})
    assert all_cores.layer_gain(LAYER, "indirect", 1, rounds=2) == 1
    assert all_cores.memory_gain(1, rounds=2) == 1
    assert all_cores.memory_gain(3, rounds=2) > 0


def test_a_wrong_output_is_not_timed(monkeypatch):
    wrong = np.full(LAYER.y_shape, 1e9)
    monkeypatch.setattr(all_cores, "material", lambda problem: (*timing.material(problem)[:2], wrong, 0.0))
    with pytest.raises(ConvError, match="indirect is wrong"):
        all_cores.layer_gain(LAYER, "indirect", 1)


@pytest.mark.parametrize("threads", [1, 3])
def test_all_parts_are_copied(threads):
    source, target = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    with roofs.ThreadPoolExecutor(threads) as pool:
        (copy,) = roofs.copies(target, source, 1, [roofs._copy], pool, threads)
        copy()
    np.testing.assert_array_equal(target, source)


def test_the_picture_names_the_thread_of_every_tile():
    late = networks.load("resnet18")["layer4.0.conv2"].problem
    drawn = figures.thread_shares(late, 16, rows=7, cols=32)
    assert drawn.alt.startswith("Two grids of 7 by 16 tiles, 7 pixels by 32 filters each")
    assert "by pixels: 7 of 16 threads, by filters: 16 of 16 threads" in drawn.alt


def test_gains_are_drawn_of_a_run_that_has_them():
    drawn = figures.thread_gains(RUN)
    for alone, together in all_cores.best_times(RUN, "resnet18").values():
        assert f"{alone / together:.2f}×" in drawn.alt
    alone = replace(RUN, rows=RUN.part("layers"))
    with pytest.raises(ConvError, match="network='resnet18'"):
        figures.thread_gains(alone)
