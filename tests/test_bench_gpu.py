"""`convlab bench gpu` where there is no GPU: every step in the lane simulator, and what goes wrong there.

No time is taken here, and none is made up but in the tables that are named so.
"""

import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from math import isnan
from pathlib import Path

import numpy as np
import pytest
from bench_gpu_tools import BRIEF, journal_of
from cases import CASES, arrays
from effort import in_turns
from typer.testing import CliRunner

import convlab
from convlab import ALGORITHMS, ConvProblem
from convlab.algorithms.direct import gpu_filter
from convlab.auto.timing import Timing
from convlab.benchmark import layers, saved
from convlab.benchmark.baselines import Call
from convlab.benchmark.comparison import Comparison
from convlab.benchmark.gpu import kernels, roofs
from convlab.benchmark.gpu.clock import StandIn, some_pixels
from convlab.benchmark.gpu.ladders import image, ladders
from convlab.benchmark.passes import pass_material
from convlab.cli import app
from convlab.errors import ParameterError, ShapeError, UnsupportedError
from convlab.gpu.device import Gpu, simulated
from convlab.gpu.fill import fill
from convlab.gpu.launch_args import as_launched
from convlab.gradients.tables import TABLES
from convlab.oracle import reference, reference_at
from convlab.support.files import data_path
from convlab.support.units import bytes_text
from tools.bench_gpu import passes, places, rehearsal, report, steps, tiles
from tools.bench_gpu.__main__ import main
from tools.bench_gpu.cudnn import BACKWARDS, CUDNN, what_ran
from tools.bench_gpu.journal import Journal
from tools.bench_gpu.passes import DevicePass
from tools.bench_gpu.scale import TINY_DEPTHWISE, TINY_IMAGE, TINY_LAYER
from tools.bench_gpu.steps import DeviceSuite

pytestmark = pytest.mark.workshop


def labels(journal):
    return [task.label for task in DeviceSuite(journal).tasks()]


# -- the whole command -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """Run the command once in the simulator, as plain as on a machine with a GPU."""
    path = tmp_path_factory.mktemp("bench") / "run.csv"
    command = [sys.executable, "-m", "tools.bench_gpu", "--simulate", "--save", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done, path


PASS_OF = {"dgrad": "dgrad", "wgrad": "wgrad"}  # by the first word of a part


def serving(part, problem, clock):
    """Return the names of all of ours that compute what a part of a run asks for."""
    pass_ = PASS_OF.get(part.partition("_")[0])
    table = TABLES[pass_] if pass_ else clock.algorithms()
    return {name for name, one in table.items() if "gpu" in one.forms and not one.supports(problem)}


@in_turns("simulated bench")
def test_every_step_can_be_taken(tried, tmp_path):
    done, path = tried
    assert done.returncode == 0, done.stdout + done.stderr
    found = saved.read(path)
    assert (found.header["failed"], found.header["wrong"], found.header["refused"]) == ({}, {}, {})
    for label in labels(journal_of(tmp_path)):
        assert f"  {label}\n" in done.stdout
    for one in (TINY_IMAGE, TINY_LAYER, TINY_DEPTHWISE):
        of_layer = [row for row in found.rows if (row.network, row.layer) == (one.network, one.layer)]
        for part in {row.part for row in of_layer}:
            if part == "image":
                assert {row.candidate for row in found.part(part) if row.ours} == set(steps.FOR_PICTURES)
            elif part.startswith("tiles"):
                every = list(tiles.tiles(part.partition("_")[2]))
                tried_here = every[-2:] if found.header["options"]["place"] == places.SIMULATOR else every
                assert [row.candidate for row in found.part(part)] == tried_here
            elif "ladder" not in part:
                ours = [row for row in found.part(part) if row.ours and row.layer == one.layer]
                assert {row.candidate for row in ours} == serving(part, one.problem, StandIn())
                assert {row.pass_ for row in ours} == {PASS_OF.get(part.partition("_")[0], "fprop")}
    for ladder in ladders():
        climbed = [row.candidate for row in found.part(f"ladder {ladder.name}") if row.ours]
        assert len(climbed) >= 2
        assert all(name.startswith(f"{ladder.name} ") for name in climbed)
    assert [file.name for file in path.parent.iterdir()] == ["run.csv"]  # the journal is not needed any more


@in_turns("simulated bench")
def test_what_is_simulated_says_so_and_has_no_times(tried):
    done, path = tried
    found = saved.read(path)
    assert found.header["simulated"]
    assert not found.header["complete"]
    assert found.header["roofs"] == {}
    assert found.rows
    assert all(isnan(t) for row in found.rows for t in (row.seconds, row.timing.low, row.timing.high))
    assert report.tables(found) == []
    assert "simulated" in report.notes(found)[0]
    assert "no time was taken" in done.stdout


class Nothing(Gpu):
    """A device that computes nothing, of any size."""

    capability, multiprocessors, speeds = (9, 0), 132, None

    def put(self, array):
        return np.zeros(array.shape, array.dtype)

    def empty(self, shape, dtype):
        return np.zeros(shape, dtype)

    def get(self, array, out=None):
        return array

    def adopt(self, array):
        return array

    def holds(self, pointer):
        return True

    def free(self):
        return 1 << 37

    def launch(self, kernel, grid, block, *arguments):
        assert all(as_launched(value) is not None for value in arguments)


class MadeUp(StandIn):
    """A clock of a real run; its times are made up."""

    simulated = False

    def __init__(self):
        self.device = Nothing()

    def timer(self, run, warm=1):
        return lambda: (run(), 1e-4)[1]


@in_turns
def test_layers_of_real_size_go_through_every_step(tmp_path, monkeypatch):
    """Nothing is computed or timed: plans, launches, their order and the report are those of a real run."""
    made_up = roofs.DeviceRoofs(1, 1, 1, 1, 1, 1)
    monkeypatch.setattr(roofs, "measure", lambda *_, **__: made_up)
    for kind in (Comparison, DevicePass):
        monkeypatch.setattr(kind, "check", lambda self, name, call, rounding: call.run())
    monkeypatch.setattr(passes, "IN_FLOAT64", dict.fromkeys(PASS_OF, lambda *_: None))
    monkeypatch.setattr(steps, "enter_copy", lambda comparison: None)
    for words in ("4000x4000", "layer4.0.conv2", "conv_dw_13"):
        (tmp_path / words).mkdir()
        journal = journal_of(tmp_path / words, words=words, baselines=False, place=places.GPU)
        for step in dict.fromkeys(task.part for task in DeviceSuite(journal).tasks()):
            steps.take(journal, step, MadeUp())
        found = Journal(journal.path).measurement  # as it is on the disk
        assert (found.header["wrong"], found.header["failed"]) == ({}, {})
        assert set(found.header["refused"]) <= {"fft", "fft_tiled"}  # cuFFT may be missing
        assert journal.done == set(labels(journal))
        for row in found.rows:
            if row.part.startswith(("layers_", "depthwise_", *PASS_OF)):
                there = {row.candidate for row in found.part(row.part)} | set(found.header["refused"])
                assert there >= serving(row.part, row.problem, MadeUp())
        assert "NaN" not in str(report.tables(found))


def test_a_rehearsal_compiles_the_kernel_that_is_measured():
    """One rung has the weights in its program: other weights would be another kernel."""
    rung, measured = gpu_filter.RUNGS[1], Comparison(TINY_IMAGE, BRIEF, StandIn())
    rehearsed = rehearsal.Rehearsal.of_layer(TINY_IMAGE, BRIEF, rehearsal.Compiling())
    with simulated():
        first, second = (rung.pack(TINY_IMAGE.problem, one.w)[1] for one in (rehearsed, measured))
    assert rung.kernel is gpu_filter.constant
    assert first is second


def test_the_plain_command_imports_nothing_that_a_gpu_machine_may_lack(tmp_path):
    script = """
import sys
course = "typer", "rich", "IPython", "jupyterlab", "matplotlib", "ipywidgets", "nbclient", "nbformat", "PIL"
for name in (*course, "psutil", "threadpoolctl", "greenlet", "torch", "cupy"):
    sys.modules[name] = None
import tools.bench_gpu.__main__, tools.bench_gpu.rehearsal
from tools.bench_gpu.run import opened
from pathlib import Path
opened(Path(sys.argv[1]), {"words": "", "baselines": True, "place": "simulator"})
sys.path.insert(0, "tests")
import conftest, test_on_gpu
"""
    subprocess.run([sys.executable, "-c", script, tmp_path / "journal"], check=True)


@in_turns
def test_the_learners_command_is_the_same(tmp_path, capsys):
    def convlab(*arguments):
        command = [sys.executable, "-m", "convlab.cli", "bench", "gpu", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True)

    done = convlab("--layers", "vgg", "--save", tmp_path / "run.csv")
    assert done.returncode == 2
    assert "--layers='vgg' chooses no layer" in done.stderr
    assert "--simulate" in convlab("--help").stdout
    for wrong in (["--minutes", "soon"], ["--save", str(tmp_path)]):
        with suppress(SystemExit):  # argparse's own
            assert main(wrong) == 2
        assert wrong[0] in capsys.readouterr().err


def test_a_wheel_has_no_tools(tmp_path, monkeypatch):
    monkeypatch.setattr("convlab.workspace.notebooks.ROOT", tmp_path)
    done = CliRunner().invoke(app, ["bench", "gpu"])
    assert done.exit_code == 2
    assert "expected a checkout of the course" in done.stderr


# -- comparisons on a device -------------------------------------------------------------------------------


def compared(on_failure=None, on_attempt=lambda name: True):
    return Comparison(TINY_LAYER, BRIEF, StandIn(), on_attempt=on_attempt, on_failure=on_failure)


def test_nobody_is_taken_in_whose_output_is_wrong():
    tried, wrong = [], {}
    here = compared(wrong.__setitem__, lambda name: tried.append(name) or name != "avoided")
    right = reference(here.x, here.w, TINY_LAYER.problem).astype("f4")
    partly = right.copy()
    partly[0, 1, 2, 3] = np.nan
    off = right.copy()
    off[0, -1, -1, -1] += 1e-3
    calls = {"right": right, "zeros": 0 * right, "partly": partly, "off": off, "small": right[:, :-1]}
    for name, y in (calls | {"avoided": right}).items():
        here.attempt(name, lambda y=y: Call(lambda: y))
    here.attempt("lazy", lambda: Call(lambda: here.y_there, here.clock.get))
    assert tried == [*calls, "avoided", "lazy"]
    assert list(wrong) == ["zeros", "partly", "off", "small", "lazy"]
    assert "1 outputs are not written" in str(wrong["partly"])
    assert "its error is 1.0" in str(wrong["off"])
    assert "its shape is" in str(wrong["small"])
    assert "are not written" in str(wrong["lazy"])
    assert [row.candidate for row in here.rows("layers_1")] == ["right"]


@pytest.mark.parametrize("pass_", ["dgrad", "wgrad"])
def test_a_gradient_that_is_partly_written_is_wrong(pass_):
    """Only some of it is held against float64; but all of it must be there."""
    workload = replace(TINY_LAYER, problem=replace(TINY_LAYER.problem, N=4, K=passes.FILTERS + 3))
    wrong: dict = {}
    with simulated(traced=False):
        here = DevicePass(workload, pass_, BRIEF, StandIn(), on_failure=wrong.__setitem__)
        whole = np.full(here.y_there.shape, np.nan, np.float32)
        whole[here.some] = here.expected
        here.attempt("some", lambda: Call(lambda: whole))
    assert 0 < np.isnan(whole).sum() < whole.size
    assert f"{np.isnan(whole).sum()} numbers are not written" in str(wrong["some"])


def test_a_journal_that_was_cut_off_goes_on(tmp_path):
    journal = journal_of(tmp_path)
    journal.add("failed", {"a step": "the machine went away"})
    with journal.path.open("a") as file:
        file.write('{"row": {"half')  # killed here
    again = Journal(journal.path)
    assert again.header["failed"] == {"a step": "the machine went away"}
    again.keep("tiny layer")
    again.add("resumed", "2026-01-01")
    found = Journal(journal.path)
    assert found.done == {"tiny layer"}  # a line of its own, after what was cut off
    assert (found.header["failed"], found.header["resumed"]) == ({}, ["2026-01-01"])


def test_a_picture_is_read_and_written_once(tmp_path):
    problem = TINY_IMAGE.problem
    rows = [
        saved.Row("image", "", "a", 1, problem, name, name == "ours", 1, 9, Timing(seconds, seconds, seconds))
        for name, seconds in (("ours", 2.0), (report.COPY, 1.0))
    ]
    cells = report._image(rows).rows
    both = problem.x_bytes + problem.y_bytes
    assert [cell[2:] for cell in cells] == [
        (f"{bytes_text(both)}/s", "100.0%"),
        (f"{bytes_text(both / 2)}/s", "50.0%"),
    ]


def test_what_finds_no_room_or_no_library_is_refused(tmp_path, monkeypatch):
    journal = journal_of(tmp_path)
    here = StandIn()
    monkeypatch.setattr(here.device, "free", lambda: 1 << 20)
    many = replace(TINY_LAYER, problem=replace(TINY_LAYER.problem, N=5000))
    armed = []
    monkeypatch.setattr(steps.faulthandler, "dump_traceback_later", lambda *_, **__: armed.append(1))
    suite = DeviceSuite(journal, here)
    comparison = suite._comparison("layers_1: tiny", TINY_LAYER)
    comparison.workload = many
    comparison.enter_ours({"im2row": ALGORITHMS["im2row"]})

    def no_library():
        raise UnsupportedError("no cuFFT")

    comparison.attempt("fft", no_library)
    assert "of device memory are free" in journal.header["refused"]["im2row"]["layers_1: tiny"]
    assert journal.header["refused"]["fft"] == {"layers_1: tiny": "no cuFFT"}
    assert journal.header["wrong"] == {}
    assert armed == []  # only the process of a step ends itself when its time is up


@pytest.mark.parametrize("case", CASES)
def test_the_reference_at_some_pixels(case):
    problem = CASES[case]
    x, w, _ = arrays(problem)
    pixels = some_pixels(problem.y_shape[:3], np.random.default_rng(0))
    expected = reference(x, w, problem)[pixels]
    np.testing.assert_allclose(reference_at(x, w, problem, pixels), expected, rtol=0, atol=1e-12)


def test_the_reference_at_some_pixels_takes_padding_for_zeros():
    """Whatever lies at the edge of the picture, next to it."""
    problem = ConvProblem(1, 4, 5, 1, 1, 3, 3, padding=1)
    x, w, _ = arrays(problem)
    x[0, 0, 0] = np.inf
    corner = tuple(np.zeros(1, np.int64) for _ in range(3))
    assert reference_at(x, w, problem, corner) == reference(x, w, problem)[corner]
    with pytest.raises(ParameterError, match="q=5; expected 0 to 4"):
        reference_at(x, w, problem, (0, 0, 5))


@pytest.mark.parametrize("width", ["i1", "u1", "u2", "u4", "u8"])
def test_the_reference_at_some_pixels_takes_integers_of_any_width(width):
    """In 8 bits 100 * 2 is below 0; without a sign, so is nothing: not the first row of the padding."""
    problem = ConvProblem(2, 5, 250, 2, 3, 3, 3, stride=(1, 2), padding=1)
    x, w, _ = arrays(problem)
    pixels = tuple(np.array(each, width) for each in ([0, 1, 1], [0, 4, 2], [0, 100, 124]))
    expected = reference(x, w, problem)[tuple(index.astype(int) for index in pixels)]
    np.testing.assert_allclose(reference_at(x, w, problem, pixels), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("counts", [(0, 0, 0), (1, 3, 3), (2, 3, 3)])
def test_the_reference_at_some_pixels_asks_for_as_many_of_each(counts):
    problem = CASES["plain"]
    x, w, _ = arrays(problem)
    with pytest.raises(ShapeError, match=r"pixels has .* of n, p and q; expected as many of each"):
        reference_at(x, w, problem, tuple(np.zeros(count, int) for count in counts))


# -- roofs, layers, cuDNN -----------------------------------------------------------------------------------


def test_kernels_of_the_roofs_do_what_they_say():
    with simulated(traced=True) as device:
        values = np.arange(1, 2049, dtype="f4")
        source, target = device.put(values), device.empty(2048, np.float32)
        kernels.copier(device, source, target)()
        np.testing.assert_array_equal(device.get(target), values)
        fill(device, target, 3.0)
        assert (device.get(target) == 3).all()
        y = device.empty(512, np.float32)
        device.launch(roofs.multiply_add(), 2, 256, y, np.float32(0), 2)
        assert (device.get(y) == 0).all()  # everything times zero, plus zero
        device.launch(roofs.read_again(), 2, 256, source, y, 2, 3)
        assert device.get(y).sum() == 3 * values.sum()  # each of two blocks three times half, in turn


def test_roofs_are_counted_in_bytes_and_operations(monkeypatch):
    class Known(StandIn):
        def timer(self, run, warm=1):
            return lambda: 2.0  # seconds, for everything

    monkeypatch.setattr(roofs, "ROUNDS", 8)
    found = roofs.measure(Known(), 1, rounds=1, sizes=roofs.SMALL)
    assert found.copy == 2 * found.copy_bytes / 2
    times = roofs.SMALL.times
    assert found.l2 == times * found.l2_bytes / 2  # a block of 256 threads read them so often
    assert found.flops == 2 * times * 64 * 256 / 2
    assert json.loads(json.dumps(found.as_dict()))["empty"] == 2.0


@pytest.mark.parametrize(
    ("holds", "read"), [(6 << 20, 3 << 20), (50 << 20, 16 << 20), (2048, 4096), (None, 16 << 20)]
)
def test_what_is_read_again_from_l2_stays_there(monkeypatch, holds, read):
    """A GeForce of 6 MiB would fetch 16 MiB from memory each time."""
    monkeypatch.setattr(MadeUp, "l2_bytes", holds)
    launched, device = [], Nothing()
    monkeypatch.setattr(device, "get", lambda array: array + (1 if array.size > 1 << 20 else 2048))
    monkeypatch.setattr(device, "launch", lambda kernel, *rest: launched.append((kernel, rest[-2])))
    here = MadeUp()
    here.device = device
    assert roofs.measure(here, 82, rounds=1).l2_bytes == read
    assert {last for kernel, last in launched if kernel is roofs.read_again()} == {read // 4096}


def test_layers_and_ladders(tmp_path):
    tasks = DeviceSuite(journal_of(tmp_path, place=places.GPU)).tasks()
    parts = [task.label.partition(":")[0] for task in tasks]
    assert parts[:2] == ["roofs", "image"]
    several, separate = len(layers.convolutions()), len(layers.depthwise())
    assert (parts.count("layers_32"), parts.count("depthwise_32")) == (several, separate)
    assert (parts.count("layers_1"), parts.count("depthwise_1")) == (several, separate)
    assert parts.index("layers_32") < parts.index("ladder filter") < parts.index("layers_1")
    assert image().problem.y_shape == (1, 4000, 4000, 1)
    root = Path(convlab.__file__).parent / "algorithms"
    modules = [".".join(file.with_suffix("").relative_to(root).parts) for file in root.glob("*/gpu*.py")]
    tables = [getattr(import_module(f"convlab.algorithms.{name}"), "RUNGS", None) for name in modules]
    assert {id(ladder.table) for ladder in ladders()} == {id(table) for table in tables if table}
    for ladder in ladders():
        assert not next(iter(ladder.rungs().values())).supports(ladder.workload.problem)


@pytest.mark.parametrize("numbers", ["", " TF32", " fp16"])
def test_a_row_says_whose_kernel_it_has_timed(numbers):
    """Depthwise layers in NCHW order are PyTorch's own; the file of before calls them cuDNN's."""
    dense, depthwise = CASES["plain"], CASES["depthwise"]
    cudnn, nhwc, own = (
        CUDNN[f"{name}{numbers}{order}"]
        for name, order in (("cuDNN", ""), ("cuDNN", " channels_last"), ("PyTorch", ""))
    )
    assert [one.refuses(dense) is None for one in (cudnn, nhwc, own)] == [True, True, False]
    assert [one.refuses(depthwise) is None for one in (cudnn, nhwc, own)] == [False, True, True]
    assert all(one.refuses(CASES["padding on one side"]) for one in (cudnn, nhwc, own))
    old = saved.read(data_path("measurements", "nvidia_h100.csv"))
    for part, name in (("layers_32", cudnn.name), ("depthwise_32", own.name)):
        assert {what_ran(row) for row in old.part(part) if row.candidate == cudnn.name} == {name}
        assert {what_ran(row) for row in old.part(part) if row.candidate == nhwc.name} == {nhwc.name}


@pytest.mark.parametrize("name", CUDNN)
def test_cudnn_computes_the_same(name):
    torch = pytest.importorskip("torch", reason="PyTorch, a baseline, is not installed")
    baseline, problems = CUDNN[name], (CASES["different strides"], CASES["depthwise"])
    problem = next(one for one in problems if not baseline.refuses(one))
    if "fp16" in name and not torch.cuda.is_available():
        pytest.skip("float16 needs a GPU")
    x, w, _ = arrays(problem)
    call = baseline.prepare(problem, x, w)
    np.testing.assert_allclose(call.array(call.run()), reference(x, w, problem), atol=1e-2)


@pytest.mark.parametrize("one", BACKWARDS, ids=lambda one: f"{one.pass_}, {one.name}")
def test_cudnn_computes_the_same_backwards(one):
    torch = pytest.importorskip("torch", reason="PyTorch, a baseline, is not installed")
    if "fp16" in one.name and not torch.cuda.is_available():
        pytest.skip("float16 needs a GPU")
    operands, expected, _ = pass_material(CASES["groups, dilation, strides"], one.pass_)
    call = one.prepare(CASES["groups, dilation, strides"], *operands)
    np.testing.assert_allclose(call.array(call.run()), expected, atol=3e-2)
