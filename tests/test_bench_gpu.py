"""`convlab bench gpu` where there is no GPU: every step in the lane simulator, and what goes wrong there.

No time is taken here, and none is made up but in the tables that are named so.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from math import isnan
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from cases import CASES, arrays
from typer.testing import CliRunner

import convlab
from convlab import ALGORITHMS
from convlab.auto.timing import Timing
from convlab.benchmark import layers, saved
from convlab.benchmark.baselines import Call, at_hand
from convlab.benchmark.comparison import Comparison, Effort
from convlab.benchmark.gpu import clock, kernels, roofs
from convlab.benchmark.gpu.clock import EventClock, StandIn, some_pixels
from convlab.benchmark.gpu.ladders import image, ladders
from convlab.benchmark.passes import pass_material
from convlab.benchmark.saved import GPU, Measurement, Row
from convlab.cli import app
from convlab.errors import UnsupportedError
from convlab.gpu.device import Gpu, simulated
from convlab.gpu.fill import fill
from convlab.gpu.launch_args import as_launched
from convlab.gradients.tables import TABLES
from convlab.oracle import reference, reference_at
from tools.bench_gpu import device_tests, passes, report, run, steps
from tools.bench_gpu.__main__ import main
from tools.bench_gpu.cudnn import BACKWARDS, CUDNN
from tools.bench_gpu.journal import Journal
from tools.bench_gpu.passes import DevicePass
from tools.bench_gpu.steps import TINY_DEPTHWISE, TINY_IMAGE, TINY_LAYER, DeviceSuite

pytestmark = pytest.mark.workshop

BRIEF = Effort(rounds=1, most=1, budget=0.0)
ALL = {"words": "", "baselines": True, "simulate": True}
FEW = ALL | {"words": "tiny layer"}  # without the picture, and without what is depthwise: some seconds


def journal_of(tmp_path, **options):
    """Return a new journal for a run with some options."""
    return run.opened(tmp_path / "run.csv.journal", ALL | options)


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
            elif "ladder" not in part:
                ours = [row for row in found.part(part) if row.ours and row.layer == one.layer]
                assert {row.candidate for row in ours} == serving(part, one.problem, StandIn())
                assert {row.pass_ for row in ours} == {PASS_OF.get(part.partition("_")[0], "fprop")}
    for ladder in ladders():
        climbed = [row.candidate for row in found.part(f"ladder {ladder.name}") if row.ours]
        assert len(climbed) >= 2
        assert all(name.startswith(f"{ladder.name} ") for name in climbed)
    assert [file.name for file in path.parent.iterdir()] == ["run.csv"]  # the journal is not needed any more


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

    multiprocessors = 132

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
        journal = journal_of(tmp_path / words, words=words, baselines=False, simulate=False)
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


def test_the_plain_command_imports_nothing_that_a_gpu_machine_may_lack(tmp_path):
    script = """
import sys
course = "typer", "rich", "IPython", "jupyterlab", "matplotlib", "ipywidgets", "nbclient", "nbformat", "PIL"
for name in (*course, "psutil", "threadpoolctl", "greenlet", "torch", "cupy"):
    sys.modules[name] = None
import tools.bench_gpu.__main__, tools.bench_gpu.steps
from tools.bench_gpu.run import opened
from pathlib import Path
opened(Path(sys.argv[1]), {"words": "", "baselines": True, "simulate": True})
sys.path.insert(0, "tests")
import conftest, test_on_gpu
"""
    subprocess.run([sys.executable, "-c", script, tmp_path / "journal"], check=True)


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


def test_without_a_gpu_it_is_refused_before_anything_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tools.bench_gpu.__main__.gpu_trouble", lambda: "no driver")
    assert main(["--save", str(tmp_path / "run.csv")]) == 2
    assert "no driver; --simulate tries every step without one" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


# -- cut off, crashed, hung --------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_cut_off_goes_on_where_it_was(tmp_path, number):
    path = tmp_path / "run.csv"
    command = [
        sys.executable,
        "-m",
        "tools.bench_gpu",
        "--simulate",
        "--save",
        path,
        "--layers",
        "tiny layer",
    ]

    def can_be_interrupted():  # what a shell starts in the background cannot, nor can its children
        signal.signal(signal.SIGINT, signal.default_int_handler)

    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=can_be_interrupted
    )
    record, until = tmp_path / "run.csv.journal", time.time() + 300
    while not (record.exists() and Journal(record).measurement.rows):
        assert time.time() < until
        time.sleep(0.02)
    os.kill(process.pid, number)
    said, complaints = process.communicate(timeout=120)
    while any(str(path).encode() in command for command in commands_running()):  # no process is left behind
        assert time.time() < until
        time.sleep(0.02)
    if number != signal.SIGKILL:
        assert (process.returncode, complaints) == (130, "convlab: interrupted\n")
        assert f"saved in {path}" in said
    assert not saved.read(path).header["complete"]
    before = Journal(record)
    with record.open("a") as file:
        file.write('{"row": {"part": "lay')  # as a kill in the midst of writing leaves it
    found, stopped = run.bench_gpu(path, FEW)
    assert stopped is None
    assert [row.candidate for row in found.rows][: len(before.measurement.rows)] == [
        row.candidate for row in before.measurement.rows
    ]
    assert len({(row.part, row.layer, row.candidate) for row in found.rows}) == len(found.rows)
    assert len(found.header["resumed"]) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["run.csv"]


def commands_running():
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            yield place.read_bytes()


def test_only_the_same_run_is_gone_on_with(tmp_path, monkeypatch):
    journal = journal_of(tmp_path)
    journal.keep("roofs")
    journal.add("failed", {"image": "time was up"})
    journal.add("wrong", ["layers_1: a", "fft", "its error"])
    again = journal_of(tmp_path)
    assert (again.done, again.header["failed"]) == ({"roofs"}, {})
    assert again.failed_on("layers_1: a") == {"fft"}
    assert journal_of(tmp_path, words="other").done == set()
    journal_of(tmp_path).keep("roofs")
    monkeypatch.setattr(run, "source", lambda: "0123")
    assert journal_of(tmp_path).done == set()


def test_another_line_of_code_is_another_source(tmp_path, monkeypatch):
    (tmp_path / "__init__.py").write_text("a = 1\n")
    monkeypatch.setattr(convlab, "__file__", str(tmp_path / "__init__.py"))
    before = run.source()
    assert run.source() == before
    (tmp_path / "__init__.py").write_text("a = 2\n")
    assert run.source() != before


CRASHING = """
import faulthandler, os, sys, time
from dataclasses import replace
from convlab import ALGORITHMS
from convlab.benchmark.gpu.clock import StandIn
from tools.bench_gpu import steps

steps.LONGEST = 3.0
whole = ALGORITHMS["direct"]
form = whole.forms["gpu"]

def run(problem, x, packed, workspace, y, threads):
    if problem.N == 2:
        {what}
    form.run(problem, x, packed, workspace, y, threads)

again, ALGORITHMS["direct"] = whole, replace(whole, forms={{"gpu": replace(form, run=run)}})
StandIn.algorithms = lambda self: {{"direct": ALGORITHMS["direct"], "again": again}}
steps.ladders = lambda: []
steps.main(*sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("os._exit(9)", "took its process with it (exit code 9)"),
        ("StandIn.is_alive = lambda self: False; raise RuntimeError('illegal')", "RuntimeError: illegal"),
        ("time.sleep(600)", "took its process with it (exit code 1)"),
    ],
    ids=["crash", "lost", "hang"],
)
def test_who_takes_the_process_along_is_named_and_the_rest_goes_on(tmp_path, monkeypatch, what, says):
    script, path = tmp_path / "step.py", tmp_path / "run.csv"
    script.write_text(CRASHING.format(what=what))
    monkeypatch.setattr(run, "STEP", (str(script),))
    monkeypatch.setattr(steps, "ladders", list)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    found, stopped = run.bench_gpu(path, FEW)
    assert found.header["wrong"]["direct"]["layers_2: tiny layer"] == says
    assert stopped == "direct is wrong"
    there = {(row.part, row.candidate) for row in found.rows if row.ours}
    assert ("layers_2", "direct") not in there
    assert {("layers_2", "again"), ("layers_1", "direct")} <= there


def test_a_step_that_does_not_start_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "STEP", ("-c", "raise SystemExit(3)"))
    found, stopped = run.bench_gpu(tmp_path / "run.csv", FEW)
    assert "roofs: its process ended with code 3; layers_2: tiny layer: its process" in stopped
    assert found.rows == []


def test_when_time_is_up_no_step_begins(tmp_path, monkeypatch):
    found, stopped = run.bench_gpu(tmp_path / "run.csv", ALL, minutes=0)
    assert set(found.header["failed"].values()) == {"time was up"}
    assert "time was up" in stopped
    assert found.rows == []
    monkeypatch.setattr(run, "STEP", ("-c", "import time; time.sleep(600)"))  # nobody is blamed for that
    monkeypatch.setattr(run, "LAST", 0.5)
    found, stopped = run.bench_gpu(tmp_path / "late.csv", FEW, minutes=0.02)
    assert (found.header["wrong"], set(found.header["failed"].values())) == ({}, {"time was up"})


def test_files_of_others_are_kept(tmp_path, capsys):
    for name, says in (("run.csv", "holds something else"), ("run.csv.journal", "run.csv.journal' holds")):
        file = tmp_path / name
        file.write_text("my thesis")
        assert main(["--simulate", "--save", str(tmp_path / "run.csv")]) == 2
        assert says in capsys.readouterr().err
        assert file.read_text() == "my thesis"
        file.unlink()


def test_a_full_disk_is_told(tmp_path, monkeypatch, capsys):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device", "run.csv.journal")

    monkeypatch.setattr(Path, "write_text", full)
    assert main(["--simulate", "--save", str(tmp_path / "run.csv")]) == 1
    assert "'run.csv.journal' cannot be written: No space left on device" in capsys.readouterr().err


def test_the_device_tests_are_counted_and_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(device_tests, "TESTS", str(tmp_path / "test_made_up.py"))
    (tmp_path / "test_made_up.py").write_text(
        "import os, pytest, time\npytestmark = pytest.mark.gpu\n"
        "def test_one(): pass\ndef test_two(): assert 'FAILED [' == 1\n"
        "@pytest.mark.skip\ndef test_three(): pass\ndef test_four(): pass\n"
        "def test_five(): time.sleep(600 * os.path.exists(__file__ + '.slow'))\n"
    )
    for name in ("conftest.py", "effort.py", "known_machine.py"):
        shutil.copy(Path(__file__).with_name(name), tmp_path)
    log = tmp_path / "log.txt"
    assert device_tests.run(log, 60, 2) == "1 failed, 3 passed, 1 skipped"
    assert "test_two" in log.read_text()
    (tmp_path / "test_made_up.py.slow").touch()
    assert device_tests.run(log, 8, 1) == "1 failed, 2 passed, 1 skipped, stopped after 8 s"
    monkeypatch.setattr(device_tests, "TESTS", "tests/none.py")
    assert "not run" in device_tests.run(log, 60, 2)


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


def test_what_finds_no_room_or_no_library_is_refused(tmp_path, monkeypatch):
    journal = journal_of(tmp_path)
    here = StandIn()
    monkeypatch.setattr(here.device, "free", lambda: 1 << 20)
    many = replace(TINY_LAYER, problem=replace(TINY_LAYER.problem, N=5000))
    monkeypatch.setattr(steps, "TINY_LAYER", many)
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


def test_pixels_of_a_large_output():
    n, p, q = some_pixels((3, 100, 70), np.random.default_rng(0))
    assert len(n) == 2048
    assert {(0, 0, 0), (2, 99, 69), (0, 99, 0), (2, 0, 69)} <= set(zip(n, p, q, strict=True))
    assert (n.max(), p.max(), q.max()) == (2, 99, 69)


# -- the clock ---------------------------------------------------------------------------------------------


class Driver:
    """Stands in for Numba's CUDA, and for a device: notes what it is asked for, in order."""

    def __init__(self):
        self.log = []

    def event(self, timing):
        assert timing
        event = SimpleNamespace(record=lambda: self.log.append("record"))
        event.synchronize = lambda: self.log.append("until it is there")
        return event

    def event_elapsed_time(self, before, after):
        assert before is not after
        return 2.0  # milliseconds

    def synchronize(self):
        self.log.append("until all is done")

    def get_current_device(self):
        return SimpleNamespace(L2_CACHE_SIZE=48 << 20)

    def empty(self, shape, dtype):
        return np.lib.stride_tricks.as_strided(np.zeros(1, dtype), (shape,), (0,))

    def put(self, array):
        return array

    def launch(self, kernel, grid, block, *arguments):
        self.log.append((kernel.py_func.__name__, grid * block, arguments[-1]))


def test_the_clock_empties_the_cache_and_lets_the_host_run_ahead(monkeypatch):
    driver = Driver()
    monkeypatch.setattr(clock, "cuda", driver)
    monkeypatch.setattr(clock, "Gpu", lambda: driver)
    here = EventClock()
    driver.log.clear()
    seconds = here.timer(lambda: driver.log.append("run"))
    assert seconds() == 0.002
    done, first, flush, wait, before, timed, after, there = driver.log
    assert (done, first) == ("until all is done", "run")  # the untimed call
    assert flush == ("fill_with", 96 << 18, 96 << 18)  # numbers: twice what L2 holds
    assert wait[:2] == ("wait_for", 1)
    # A million counts took two milliseconds: the host has at least 30 microseconds, twice what it needed.
    assert wait[2] >= 30e-6 * 1_000_000 / 0.002
    assert (before, timed, after, there) == ("record", "run", "record", "until it is there")
    assert here.is_alive()
    monkeypatch.setattr(driver, "launch", lambda *arguments: 1 / 0)
    assert not here.is_alive()


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
    found = roofs.measure(Known(), 1, rounds=1, tiny=True)
    assert found.copy == 2 * found.copy_bytes / 2
    assert found.l2 == 2 * found.l2_bytes / 2  # a block of 256 threads read them twice
    assert found.flops == 2 * 2 * 64 * 256 / 2
    assert json.loads(json.dumps(found.as_dict()))["empty"] == 2.0


def test_layers_and_ladders(tmp_path):
    tasks = DeviceSuite(journal_of(tmp_path, simulate=False)).tasks()
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


@pytest.mark.parametrize("name", CUDNN)
def test_cudnn_computes_the_same(name):
    torch = pytest.importorskip("torch", reason="PyTorch, a baseline, is not installed")
    baseline, problem = CUDNN[name], CASES["different strides"]
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


def test_baselines_that_are_not_here(monkeypatch):
    assert CUDNN["cuDNN"].refuses(CASES["padding on one side"])
    assert len(CUDNN) == 6
    monkeypatch.setattr("convlab.benchmark.baselines.find_spec", lambda package: None)
    assert at_hand(CUDNN.values()) == ([], dict.fromkeys(CUDNN, "PyTorch is not installed"))
    monkeypatch.undo()
    finds_nothing = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))
    monkeypatch.setitem(sys.modules, "torch", finds_nothing)
    monkeypatch.setattr("convlab.benchmark.baselines.find_spec", lambda package: package)
    assert "RuntimeError: it finds no GPU" in at_hand(CUDNN.values())[1]["cuDNN"]


# -- the report, of made-up times --------------------------------------------------------------------------


def row(part, candidate, seconds, *, ours, layer="a", network="resnet18", problem=TINY_LAYER.problem):
    timing = Timing(seconds, seconds, seconds)
    return Row(part, network, layer, 1, problem, candidate, ours, 1, 9, timing, "flushed")


MADE_UP = [
    row("image", "copy", 3.0, ours=False, network="image"),
    row("image", "direct", 4.0, ours=True, network="image"),
    row("layers_32", "implicit_gemm", 2.0, ours=True),
    row("layers_32", "winograd_2x2", 1.0, ours=True),
    row("layers_32", "tensor_core_fp16", 0.5, ours=True),
    row("layers_32", "cuDNN", 3.0, ours=False),
    row("layers_32", "cuDNN channels_last", 1.5, ours=False),
    row("layers_32", "cuDNN fp16", 0.3, ours=False),
    row("depthwise_32", "depthwise", 1.0, ours=True),
    row("depthwise_32", "cuDNN", 1.1, ours=False),
    row("ladder direct", "direct 1: slow", 8.0, ours=True),
    row("ladder direct", "direct 2: fast", 2.0, ours=True),
]
ROOFS = {"flops": 1e3, "copy": 3e12, "copy_bytes": 1, "l2": 5e12, "l2_bytes": 1, "empty": 2e-6}


def test_the_report():
    header = {"what": GPU, "complete": False, "tests": "33 passed", "skipped": {}, "roofs": ROOFS}
    header |= {"device": {"name": "a GPU", "driver": "1"}, "states": {"roofs": {"cudnn": 90800}}}
    header |= {"left out": {}, "wrong": {"fft": {"layers_32: a": "its error"}}, "refused": {}, "failed": {}}
    made = Measurement(header, MADE_UP)
    tables = {table.title: table.rows for table in report.tables(made)}
    (float32, fp16) = tables[
        "Layers of ResNet-18 and SqueezeNet 1.0, 32 images: how many times as fast as ..."
    ]
    assert float32 == ("cuDNN float32", "our best", "1.50×", "1.50×", "a")
    assert fp16 == ("cuDNN fp16", "tensor_core_fp16", "0.60×", "0.60×", "a")
    rungs = next(rows for title, rows in tables.items() if title.startswith("Rung by rung"))
    assert [(rung[0], rung[-1]) for rung in rungs] == [
        ("direct 1: slow", "1.00×"),
        ("direct 2: fast", "4.00×"),
    ]
    assert tables["A filter of 7x7 over 4000x4000 pixels"][1][-1] == "75.0%"
    notes = "\n".join(report.notes(made))
    for words in ("a GPU, driver 1, cuDNN 90800", "WRONG: fft (layers_32: a): its error", "kFLOP/s"):
        assert words in notes
    assert "not complete" in notes
    assert not any("goal" in text.lower() for text in (*tables, notes))  # nobody who measures has one
    assert report.tables(Measurement(header)) == []
