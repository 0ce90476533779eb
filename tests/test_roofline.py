"""The roofline: datasheets name their source, roofs are lines, and points are counted as they say."""

import subprocess
import sys
from dataclasses import replace
from math import inf

import pytest

from convlab import ALGORITHMS, ConvError, ConvProblem, networks
from convlab.auto.timing import Timing
from convlab.benchmark import datasheets, device_roofline, saved
from convlab.benchmark.gpu import times
from convlab.benchmark.measure_layer import measure_layer
from convlab.benchmark.roofline import of_datasheet, of_machine
from convlab.benchmark.roofline_points import compulsory_bytes, point, points
from convlab.figures import roofline as roofline_chart
from convlab.figures.roofline_chart import mark
from convlab.gpu.device import gpu_trouble
from convlab.gpu.occupancy import GPUS
from convlab.support.files import data_path

LAYER = networks.load("resnet18")["layer1.0.conv1"].problem
ROOFS = {
    "flops": 100e9,
    "flops_all": 200e9,
    "threads": 2,
    "copies": {"L1": (8192, 200e9), "L2": (1 << 18, 100e9), "L3": (1 << 23, 50e9), "memory": (1 << 26, 20e9)},
}
MACHINE = {"processor": "Example 1", "l1d": 1 << 15, "l2": 1 << 20, "l3": 1 << 25}


# -- datasheets --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", datasheets.names())
def test_a_datasheet_names_its_source(name):
    sheet = datasheets.load(name)
    assert len(sheet.source) > 20
    assert all("." in page for page in sheet.read_in)
    assert sheet.read_in
    assert 1e9 < sheet.memory < sheet.flops["float32"]  # every machine of today: more FLOPs than bytes


def test_factors_are_multiplied():
    assert datasheets.load("amd_epyc_9654").memory == 460.8e9  # AMD's own number for a socket
    assert datasheets.load("nvidia_t4").flops["float32"] == pytest.approx(8.1e12, rel=0.01)  # and NVIDIA's


def test_a_chip_fits_its_datasheet():
    sheet = datasheets.load("nvidia_h100")
    inside = sheet.chip
    _, processors = GPUS[inside.gpu]
    assert processors * inside.lanes * 2 * inside.clock == pytest.approx(sheet.flops["float32"], rel=0.001)
    assert sorted(inside.seconds, key=inside.seconds.get) == ["shared", "l1", "l2", "memory"]
    assert inside.seconds["memory"] == pytest.approx(272.8e-9, rel=0.001)  # 478.8 cycles of 1755 MHz
    assert datasheets.load("nvidia_t4").chip is None


GOOD = 'name = "A"\nkind = "GPU"\nsource = "its datasheet"\nread_in = ["a.b"]\nmemory = 1e12\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name =", "broken.toml is no datasheet"),
        ('name = "A"\nkind = "GPU"', "'flops' is missing"),
        (GOOD.replace("GPU", "abacus") + "[flops]\nfloat32 = 1e12", "kind = 'abacus'"),
        (GOOD + "[flops]\nfloat16 = 1e12", "flops has no float32"),
        (GOOD.replace("its datasheet", " ") + "[flops]\nfloat32 = 1e12", "source says nothing"),
        (GOOD + "[flops]\nfloat32 = -1", "flops.float32 = -1 is no number above 0"),
        (GOOD + "[flops]\nfloat32 = [2, inf]", "flops.float32 = [2, inf]"),
        (GOOD + '[flops]\nfloat32 = "many"', "flops.float32 = 'many'"),
        (GOOD.replace("1e12", "[]") + "[flops]\nfloat32 = 1", "memory = []"),
        (GOOD + "flops = 3", "is no datasheet"),
        (GOOD + "[flops]\nfloat32 = 1\n[chip]\ngpu = 'B7'", "chip.gpu = 'B7' is none of A100"),
        (GOOD + "[flops]\nfloat32 = 1\n[chip]\ngpu = 'H100'", "'cycles' is missing"),
    ],
)
def test_a_broken_file_is_refused(tmp_path, text, words):
    (tmp_path / "broken.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConvError) as refused:
        datasheets.read(tmp_path / "broken.toml")
    assert words in str(refused.value)


def test_an_unknown_machine_is_refused(tmp_path):
    with pytest.raises(ConvError, match="datasheet='abacus'; expected one of amd_epyc_9654"):
        datasheets.load("abacus")
    with pytest.raises(ConvError, match="expected a datasheet"):
        datasheets.read(tmp_path / "nowhere.toml")


# -- lines -------------------------------------------------------------------------------------------------


def test_roofs_of_a_machine():
    line = of_machine(ROOFS, MACHINE)
    assert line.attainable(1) == 20e9  # one FLOP a byte: what memory gives
    assert line.attainable(5) == line.attainable(500) == 100e9  # from 5 on the multiply-adds are the limit
    assert [line.home(size).name for size in (1, 1 << 15, 1 << 16, 1 << 22, 1 << 30)] == [
        *("L1", "L1", "L2", "L3", "memory")
    ]
    assert [roof.rate for roof in line.more] == [200e9]
    assert line.missing == {}
    assert of_machine(ROOFS | {"threads": 1}, MACHINE).more == ()


def test_a_cache_that_is_not_known_has_no_roof():
    line = of_machine(ROOFS, MACHINE | {"l2": None, "l3": None})
    assert [memory.name for memory in line.memories] == ["L1", "memory"]
    assert set(line.missing) == {"L2", "L3"}
    assert "could not be read" in line.missing["L3"]
    assert line.home(1 << 16).name == "memory"


def test_roofs_of_a_datasheet():
    sheet = datasheets.load("nvidia_h200")
    promised = of_datasheet(sheet)
    assert promised.attainable(1) == sheet.memory
    assert promised.attainable(inf) == sheet.flops["float32"]
    assert [roof.name for roof in promised.more] == ["tf32", "float16"]
    assert not any(roof.measured for roof in (promised.adds, *promised.memories, *promised.more))


def test_the_picture_says_what_it_shows():
    line = of_machine(ROOFS, MACHINE)
    sheet = of_datasheet(datasheets.load("nvidia_t4"))
    ours = [point(LAYER, name, LAYER.flops / 90e9) for name in ("direct", "winograd_4x4")]
    alt = roofline_chart(line, ours, title="Two", beside=[sheet]).alt
    assert "Roofs of Example 1: multiply-adds 100 GFLOP/s, L1 200 GB/s" in alt
    assert "Roofs of NVIDIA T4, from its datasheet, dashed: multiply-adds 8.14 TFLOP/s" in alt
    assert f"winograd_4x4 90 GFLOP/s at {ours[1].counted:.3g} FLOPs a byte" in alt.replace("90.0", "90")
    many = [replace(ours[0], seconds=n * 1e-3) for n in range(1, 30)]
    assert "29 points from" in roofline_chart(line, many, title="Many").alt
    marks = [mark(name) for name in ALGORITHMS]
    assert len({shape for shape, _ in marks}) == len(ALGORITHMS)  # never by colour alone


# -- points ------------------------------------------------------------------------------------------------


def test_a_point_counts_the_definitions_flops():
    cost = ALGORITHMS["winograd_4x4"].cost(LAYER, "cpu")
    one = point(LAYER, "winograd_4x4", 1e-3)
    assert one.speed == LAYER.flops / 1e-3
    assert one.intensity == LAYER.flops / (LAYER.x_bytes + LAYER.w_bytes + LAYER.y_bytes)
    assert one.counted == LAYER.flops / cost.bytes_moved
    assert one.saves == LAYER.flops / cost.flops > 2
    baseline = point(LAYER, "torch", 1e-3)
    assert (baseline.done, baseline.moved, baseline.saves) == (LAYER.flops, compulsory_bytes(LAYER), 1)


@pytest.mark.parametrize("seconds", [0, -1, inf, float("nan")])
def test_a_time_that_is_none_is_refused(seconds):
    with pytest.raises(ConvError, match=r"seconds=.*; expected a number"):
        point(LAYER, "direct", seconds)


def test_winograd_may_stand_above_the_flat_roof():
    line = of_machine(ROOFS, MACHINE)
    one = point(LAYER, "winograd_4x4", LAYER.flops / 250e9)  # 2.5 times the peak, by the definition's count
    assert one.speed > line.adds.rate
    assert line.shares(one)["multiply-adds"] == pytest.approx(2.5 / one.saves)
    assert line.reached(one) < 1
    assert line.ceiling(one) == pytest.approx(line.adds.rate * one.saves)


def test_what_holds_a_point_up():
    line = of_machine(ROOFS, MACHINE)
    fast, slow = (point(LAYER, "indirect", LAYER.flops / speed) for speed in (90e9, 20e9))
    assert line.bound(fast) == "the multiply-adds: 90% of that roof"
    assert line.bound(slow).startswith("nothing it touches: 20% of its roof, the multiply-adds")
    assert "another moment" in line.bound(replace(fast, seconds=fast.seconds / 2))
    assert "another moment" in line.bound(replace(fast, seconds=fast.seconds * 0.9 / 1.2))
    assert "another moment" not in line.bound(replace(fast, seconds=fast.seconds * 0.9 / 1.004))
    moved = ALGORITHMS["direct"].cost(LAYER, "cpu").bytes_moved
    huge = replace(point(LAYER, "direct", moved / 15e9), done=1, size=1 << 30)
    assert line.bound(huge) == "the memory: 75% of that roof"
    assert line.bound(replace(huge, size=1 << 22)).startswith(
        "nothing it touches: 30% of its roof, the L3 cache"
    )
    assert "come from nearer" in line.bound(replace(huge, moved=10 * huge.moved))


def test_a_saved_measurement_gives_points():
    run = saved.read(data_path("measurements", "zen4_cpu.csv"))
    rows = run.part("layers", ours=True)
    line, found = of_machine(run.header["roofs"], run.header["machine"]), points(rows)
    assert [one.seconds for one in found] == [row.seconds for row in rows]
    assert all(0 < line.reached(one) < 1.25 for one in found)  # a roof is one, but for the clock's moods
    assert {one.algorithm for one in found} <= set(ALGORITHMS)


def test_reading_datasheets_needs_no_numba():
    code = "import sys; from convlab.benchmark import roofline; print('numba' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"


# -- here and now ------------------------------------------------------------------------------------------


def test_a_layer_is_measured_by_those_who_serve_it():
    small = ConvProblem(1, 6, 6, 4, 8, 5, 5, padding=2)
    found = measure_layer(small, ["indirect", "winograd_2x2", "im2row"], layer="small", rounds=3)
    assert [(one.layer, one.algorithm) for one in found] == [("small", "indirect"), ("small", "im2row")]
    assert all(0 < one.seconds < 1 for one in found)


def test_a_wrong_output_is_not_timed(monkeypatch):
    form = ALGORITHMS["im2row"].forms["cpu"]

    def wrong(problem, x, packed, workspace, y, threads):
        form.run(problem, x, packed, workspace, y, threads)
        y.y[0] += 1

    monkeypatch.setitem(ALGORITHMS["im2row"].forms, "cpu", replace(form, run=wrong))
    with pytest.raises(ConvError, match="im2row is wrong"):
        measure_layer(ConvProblem(1, 6, 6, 4, 8, 3, 3), ["im2row"], rounds=1)


# -- a GPU's -----------------------------------------------------------------------------------------------


@pytest.mark.skipif(not gpu_trouble(), reason="a GPU is here, so nothing saved is looked for")
def test_the_roofs_of_a_gpu_are_saved_ones_or_none(tmp_path, monkeypatch):
    monkeypatch.setattr(times, "data_path", lambda _: tmp_path)
    source, none = device_roofline()
    assert none is None
    assert gpu_trouble() in source
    told = {"what": saved.GPU, "date": "2030-01-02T00:00", "device": {"name": "NVIDIA X1"}}
    row = saved.Row("layers_32", "resnet18", "layer", 1, LAYER, "indirect", True, 0, 5, Timing(2, 1, 3))
    saved.write(tmp_path / "x1.csv", saved.Measurement(told | {"roofs": {}}, [row]))
    assert device_roofline()[1] is None  # the step that measures roofs had failed
    roofs = {"flops": 60e12, "copy": 4e12, "l2": 8e12, "l2_bytes": 1 << 24}
    saved.write(tmp_path / "x1.csv", saved.Measurement(told | {"roofs": roofs}, [row]))
    source, line = device_roofline()
    assert source == line.machine == "saved: NVIDIA X1, 2030-01-02"
    assert [roof.rate for roof in (line.adds, *line.memories)] == [60e12, 8e12, 4e12]
    assert (line.home(1 << 24).name, line.home(1 << 25).name) == ("L2", "memory")
