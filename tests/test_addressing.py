"""Notebook 13: three ways to a pixel, what they cost, and times only if somebody took them."""

from dataclasses import replace

import numpy as np
import pytest
from effort import in_turns

from convlab import ALGORITHMS, ConvProblem, networks, plan
from convlab.algorithms.im2row import im2row
from convlab.algorithms.indirect import gpu as indirect
from convlab.algorithms.indirect import indirection_buffer
from convlab.algorithms.precomputed_gemm import gpu as precomputed_gemm
from convlab.auto.timing import Timing
from convlab.benchmark import saved
from convlab.benchmark.gpu import times
from convlab.benchmark.gpu.clock import StandIn
from convlab.benchmark.gpu.times import layer_times, measure
from convlab.benchmark.layers import Workload
from convlab.benchmark.saved import GPU
from convlab.figures import tap_addresses
from convlab.gpu.assembly import assemble
from convlab.gpu.availability import assembly_fault
from convlab.gpu.device import gpu_trouble, using
from convlab.gpu.gemm.load_implicit import implicit_loader
from convlab.gpu.gemm.load_matrix import matrix_loader
from convlab.gpu.gemm.tile import Tile
from convlab.inspect import addressing
from convlab.inspect.launches import last_launch
from convlab.inspect.traffic import Bus, first_block, global_traffic

pytestmark = pytest.mark.inside

TROUBLE = assembly_fault()
PROBLEMS = (
    ConvProblem(1, 6, 8, 4, 1, 3, 3, padding=1),
    ConvProblem(1, 7, 5, 3, 1, 3, 2, stride=2, padding=2),
    ConvProblem(1, 3, 9, 1, 1, 1, 4),
)


@pytest.mark.parametrize("rows", [1, 5, 32])
@pytest.mark.parametrize("name", addressing.WAYS)
@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_windows_are_those_of_im2row(problem, name, rows):
    x = np.random.default_rng(0).standard_normal(problem.x_shape, np.float32)
    found, _ = addressing.windows(name, problem, x, rows)
    assert np.array_equal(found.reshape(len(found), -1), im2row(x, problem))


def test_what_each_way_asks_for():
    """Four channels: a warp is eight pixels. Whole warps, so that every figure is one of plain counting."""
    problem = PROBLEMS[0]
    pixels, taps, x = problem.P * problem.Q, 9, np.ones(problem.x_shape, np.float32)
    warps = pixels * problem.C // 32

    def tables(name, rows=32):
        _, trace = addressing.windows(name, problem, x, rows)
        sites = [site for site in trace.sites() if site.array == "table"]
        return sum(site.requests for site in sites), sum(site.sectors for site in sites)

    assert tables("worked out") == (0, 0)
    assert tables("looked up") == (warps * taps, warps * taps)
    assert tables("looked up", rows=1) == (warps * taps, 8 * warps * taps)
    assert tables("led by deltas") == (2 * warps, 2 * warps)


@pytest.mark.parametrize("channels", [8, 16])
def test_a_place_costs_one_in_so_many_channels(channels):
    problem = ConvProblem(8, 56, 56, channels, 32, 3, 3)  # no padding: all that is asked for is fetched
    asked = global_traffic(first_block(problem, "indirect"))
    assert asked["table"] * channels == asked["x"]


# -- divisions ---------------------------------------------------------------------------------------------

SOURCES = {  # divisions in the source, and in the machine code
    "implicit_gemm": (implicit_loader, 4, 4),  # by Q, P, channels, S
    "indirect": (indirect.indirect_loader, 2, 2),  # by pixels, channels
    "precomputed_gemm": (precomputed_gemm.precomputed_loader, 2, 0),  # by taps, S: of 0, where K is not cut
    "im2row": (matrix_loader, 0, 0),
}


@in_turns
@pytest.mark.parametrize("name", SOURCES)
def test_divisions_in_the_source_are_those_of_the_machine_code(name):
    make, first, left = SOURCES[name]
    source = make(Tile(32, 32, 8, 4, 4), 4, "float32")
    assert addressing.divisions(source.begin) == first
    assert addressing.divisions(source.fetch, source.advance) == 0
    if TROUBLE is None:
        kernel, arguments = last_launch(name, ConvProblem(2, 8, 8, 8, 64, 3, 3, padding=1))
        built = assemble(kernel, *arguments)
        assert built.count("MUFU.RCP") == left
        assert built.main_loop.count("MUFU.RCP") == 0


def test_divisions_of_every_spelling():
    assert [addressing.divisions(way.kernel) for way in addressing.WAYS.values()] == [2, 2, 1]
    assert addressing.divisions(*(way.kernel for way in addressing.WAYS.values())) == 5


# -- what crosses the bus ----------------------------------------------------------------------------------


def test_the_bus_is_counted():
    problem = networks.load("resnet18", batch=8)["layer1.0.conv1"].problem
    w = np.zeros(problem.w_shape, np.float32)
    sizes = {"N": 16}, {"H": problem.H + 10}, {"W": problem.W + 10}
    before, taller, wider = (indirection_buffer(replace(problem, **size), 32).nbytes for size in (
        {}, {"H": problem.H + 10}, {"H": problem.H + 10, "W": problem.W + 10}
    ))  # fmt: skip
    crossed = {"indirect": [0, before + taller, wider], "implicit_gemm": [0, 0, 0], "im2row": [0, 0, 0]}
    for name, expected in crossed.items():
        with using(Bus()) as bus:
            prepared = plan(problem, w, algorithm=name, backend="gpu")
            found = []
            for size in sizes:
                start = bus.bytes
                prepared.resize(**size)
                found.append(bus.bytes - start)
        assert found == expected, name


def test_the_bus_counts_both_ways():
    bus = Bus()
    there = bus.put(np.ones(10, np.float32))
    assert bus.bytes == 40
    bus.get(there)
    assert bus.bytes == 80


# -- the picture -------------------------------------------------------------------------------------------


def test_the_picture_says_what_the_library_says():
    picture = tap_addresses(m=7)
    problem = ConvProblem(1, 5, 6, 4, 1, 3, 3, padding=1)
    table = ", ".join(map(str, indirection_buffer(problem)[7, :, 0]))
    start = int(precomputed_gemm.table(problem)[0, 7].astype(np.int32))
    assert f"places {table}." in picture.alt
    assert f"from start {start} by steps of 4, 4, 16, 4, 4, 16, 4, 4," in picture.alt


# -- times -------------------------------------------------------------------------------------------------

CASE = Workload("tiny", "layer", ConvProblem(2, 5, 4, 4, 8, 3, 3, padding=1))
NAMES = ["implicit_gemm", "indirect"]


def keep(folder, name, part="layers_2", problem=CASE.problem, **header):
    told = {"what": GPU, "date": "2030-01-02T00:00", "device": {"name": "NVIDIA X1"}} | header
    timing = Timing(2, 1, 3)
    row = saved.Row(part, "tiny", "layer", 1, problem, "indirect", True, 0, 5, timing)
    other = replace(row, candidate="fft")
    saved.write(folder / f"{name}.csv", saved.Measurement(told, [row, other]))


@pytest.mark.skipif(not gpu_trouble(), reason="a GPU is here, so nothing saved is looked for")
def test_times_are_saved_ones_or_none(tmp_path, monkeypatch):
    monkeypatch.setattr(times, "data_path", lambda _: tmp_path)
    none = layer_times(CASE, NAMES)
    assert none.times == {}
    assert none.source.startswith("not measured here yet")
    keep(tmp_path, "tried", simulated=True)
    keep(tmp_path, "batch", part="layers_32", problem=replace(CASE.problem, N=32))
    assert layer_times(CASE, NAMES) == none
    keep(tmp_path, "real")
    found = layer_times(CASE, NAMES)
    assert found.source == "saved: NVIDIA X1, 2030-01-02"
    assert found.times == {"indirect": Timing(2, 1, 3)}
    assert list(layer_times(CASE, NAMES, beside="fft").times) == ["indirect", "fft"]
    assert layer_times(Workload("tiny", "other", replace(CASE.problem, H=6)), NAMES).times == {}


def test_the_live_path_is_tried_in_the_simulator():
    times = measure(CASE, {name: ALGORITHMS[name] for name in NAMES}, StandIn())
    assert set(times) == set(NAMES)
    assert all(np.isnan(t.median) for t in times.values())  # a stand-in knows no time
