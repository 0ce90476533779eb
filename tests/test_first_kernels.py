"""What notebook 11 counts is what closed formulas say, and it shows times only if somebody took them."""

from dataclasses import replace

import numpy as np
import pytest

from convlab import ConvProblem, ParameterError, plan
from convlab.algorithms.direct import gpu, gpu_filter
from convlab.algorithms.direct.gpu_filter_traffic import reads
from convlab.auto.timing import Timing
from convlab.benchmark import saved
from convlab.benchmark.gpu import times
from convlab.benchmark.gpu.clock import StandIn
from convlab.benchmark.gpu.ladders import image, ladders
from convlab.benchmark.gpu.times import ladder_times, measure
from convlab.benchmark.layers import Workload
from convlab.benchmark.saved import GPU
from convlab.gpu.device import gpu_trouble, simulated
from convlab.inspect.launches import last_launch
from convlab.oracle import reference, tolerance

PICTURES = (
    ConvProblem(1, 16, 64, 1, 1, 3, 3, padding=1),
    ConvProblem(1, 9, 40, 1, 1, 5, 3, padding=(2, 1)),
    ConvProblem(2, 11, 35, 1, 1, 3, 4),  # nothing divides anything
    ConvProblem(1, 7, 33, 1, 1, 2, 2, padding=((1, 0), (0, 1))),
)


def run(problem, rung):
    """Return the trace of a rung's kernel, whose output was checked."""
    rng = np.random.default_rng(1)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in (problem.x_shape, problem.w_shape))
    with simulated() as device:
        y = plan(problem, w, algorithm=rung.algorithm("direct"), backend="gpu")(x)
    assert np.abs(y - reference(x, w, problem)).max() <= tolerance(x, w, problem)
    return device.traces[-1]


@pytest.mark.parametrize("problem", PICTURES, ids=str)
def test_every_rung_reads_as_often_as_its_formula_says(problem):
    expected = reads(problem)
    serve = [rung for rung in gpu_filter.RUNGS if rung.refuses(problem) is None]
    assert list(expected) == [rung.name for rung in serve]
    for rung in serve:
        assert run(problem, rung).reads("x").sum() == expected[rung.name], rung.name


def test_lanes_of_the_direct_ladder():
    problem = ConvProblem(1, 2, 32, 8, 32, 3, 3, padding=1)  # a line of pixels, and the filters, are one warp
    taps = reads(replace(problem, C=1, K=1))["one thread per output"]  # of all pixels, on the picture
    asked = taps * problem.C * problem.K  # by all threads
    expected = {
        "one thread per output": {"x": asked, "y": problem.P * problem.Q * problem.K},
        "coalesced": {"x": asked // 32, "w": asked // 8, "y": problem.P * problem.Q * problem.K // 8},
    }
    for rung in gpu.RUNGS[:2]:
        sites = run(problem, rung).sites()
        for array, sectors in expected[rung.name].items():
            assert sum(site.sectors for site in sites if site.array == array) == sectors, (rung.name, array)


def test_what_would_be_launched():
    problem = PICTURES[0]
    kernel, arguments = last_launch(gpu_filter.RUNGS[2].algorithm("direct"), problem)
    assert kernel.py_func.__name__ == "shared"
    assert [a.shape for a in arguments[:3]] == [(16 * 64,), (9,), (16 * 64,)]


# -- times -------------------------------------------------------------------------------------------------


def keep(folder, name, header=(), part="ladder filter"):
    row = saved.Row(
        part, "image", "4000x4000", 1, image().problem, "filter 1: naive", True, 0, 5, Timing(2, 1, 3)
    )
    other = replace(row, candidate="cuDNN", ours=False)  # stands beside the rungs, and is none
    copy = replace(row, part="image", candidate="copy", ours=False)
    told = {"what": GPU, "date": "2030-01-02T00:00", "device": {"name": "NVIDIA X1"}} | dict(header)
    saved.write(folder / f"{name}.csv", saved.Measurement(told, [row, other, copy]))


@pytest.mark.skipif(not gpu_trouble(), reason="a GPU is here, so nothing saved is looked for")
def test_times_are_saved_ones_or_none(tmp_path, monkeypatch):
    monkeypatch.setattr(times, "data_path", lambda _: tmp_path)
    none = ladder_times("filter")
    assert none.times == {}
    assert none.source.startswith("not measured here yet")
    keep(tmp_path, "tried", {"simulated": True})
    keep(tmp_path, "processor", {"what": "convlab bench cpu"})  # and named: it has no roofs
    keep(tmp_path, "other", part="ladder direct")
    with pytest.warns(UserWarning, match=r"processor\.csv': in its header 'machine' is missing"):
        assert ladder_times("filter") == none
    (tmp_path / "processor.csv").unlink()
    keep(tmp_path, "old", {"date": "2029-01-02T00:00", "device": {"name": "NVIDIA X0"}})
    keep(tmp_path, "real")
    found = ladder_times("filter")
    assert found.source == "saved: NVIDIA X1, 2030-01-02"
    assert found.times == {"naive": Timing(2, 1, 3), "copy": Timing(2, 1, 3)}
    assert ladder_times("direct").times == {"naive": Timing(2, 1, 3)}  # the copy is of the picture alone
    with pytest.raises(ParameterError, match="ladder='none'; expected one of filter, direct"):
        ladder_times("none")


def test_the_live_path_is_tried_in_the_simulator():
    ladder = next(one for one in ladders() if one.name == "filter")
    picture = Workload("image", "16x12", ConvProblem(1, 16, 12, 1, 1, 3, 3, padding=1))
    times = measure(picture, ladder.rungs(), StandIn())
    assert set(times) == {"copy", *ladder.rungs()}
    assert all(np.isnan(t.median) for t in times.values())  # a stand-in knows no time
