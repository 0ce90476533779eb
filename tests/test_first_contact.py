"""The first contact with a GPU, as far as it goes without one; and what may go wrong there.

`pretend_gpu` plays the driver of a GPU, and the executor runs what the compiler made of the kernels. So the
command, its processes, clock, journal, report and whoever reads its file are gone through as on a real
machine. What happens only by mischance has a test of its own. Last comes the proof that no line is left that
nobody has run.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pretend_gpu
import pretend_torch
import pytest
import traced_lines
from bench_gpu_tools import ALL, BRIEF, FEW, journal_of
from cases import CASES
from effort import in_turns
from measurement_schema import complaints
from ptx_tools import needs_compiler

import convlab
from convlab.algorithms.tensor_core import KINDS
from convlab.auto.timing import Timing
from convlab.benchmark import saved
from convlab.benchmark.baselines import Call, at_hand
from convlab.benchmark.gpu import clock, kernels, roofs
from convlab.benchmark.gpu.clock import EventClock, StandIn, some_pixels
from convlab.benchmark.saved import GPU, Measurement, Row
from convlab.errors import ConvError
from convlab.gpu.simulated_gpu import Simulator
from convlab.gradients.tables import TABLES
from tools.bench_gpu import device_tests, facts, places, report, run, steps, turns
from tools.bench_gpu.__main__ import main
from tools.bench_gpu.cudnn import CUDNN, NCHW
from tools.bench_gpu.journal import Journal
from tools.bench_gpu.passes import DevicePass
from tools.bench_gpu.scale import TINY_IMAGE, TINY_LAYER

pytestmark = pytest.mark.workshop

TESTS = Path(__file__).parent
WATCHED = """
import sys
sys.path.insert(0, {tests!r})
import traced_lines
from pathlib import Path
traced_lines.trace(Path({folder!r}))
"""


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """Watch which lines this process runs; what others write down about theirs goes to the same folder."""
    folder = tmp_path_factory.mktemp("lines")
    traced_lines.trace(folder)
    yield folder
    sys.settrace(None)


def watched(folder, script):
    """Return a script that writes down which lines it runs."""
    return WATCHED.format(tests=str(TESTS), folder=str(folder)) + script


def played(folder, what, *arguments, **environment):
    """Play a part on a machine that pretends to have a GPU."""
    command = [sys.executable, TESTS / "pretend_gpu.py", folder, what, *arguments]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | environment
    with traced_lines.unwatched():
        return subprocess.run(command, capture_output=True, text=True, env=environment)


# -- a whole run -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def contact(folder, tmp_path_factory):
    """Run the plain command once, on that machine, and return what it said, and its file."""
    path, programs = tmp_path_factory.mktemp("contact") / "run.csv", tmp_path_factory.mktemp("bin")
    smi = programs / "nvidia-smi"
    smi.write_text(f"#!/bin/sh\necho '{pretend_gpu.CLOCKS}'\n")
    smi.chmod(0o755)
    done = played(folder, "run", "--save", path, PATH=os.pathsep.join([str(programs), os.environ["PATH"]]))
    return done, path


@in_turns("contact")
@needs_compiler
def test_a_whole_run_as_on_a_gpu(contact):
    """Nothing is wrong or left out, and all that a real run tells is told."""
    done, path = contact
    assert done.returncode == 0, done.stdout + done.stderr
    found = saved.read(path)
    header = found.header
    for kind in ("wrong", "refused", "failed", "skipped", "left out"):
        assert header[kind] == {}, kind
    assert header["complete"]
    assert list(complaints(path)) == []
    told = {"name": pretend_gpu.NAME, "capability": "9.0", "driver": "580.1", "memory": 80 << 30}
    told |= {"multiprocessors": 132, "clock_khz": 1_980_000, "shared_bytes": None}  # not every one is told
    assert told.items() <= header["device"].items()
    assert {state["clocks.sm"] for state in header["states"].values()} == {"1980 MHz"}
    assert {state["cudnn"] for state in header["states"].values()} == {pretend_torch.CUDNN}
    assert all(rate > 0 for rate in header["roofs"].values())
    assert header["tests"].endswith("skipped")  # of them a real GPU is asked for
    assert sorted(file.name for file in path.parent.iterdir()) == ["run.csv", "run.csv.tests.txt"]
    layers = {row.candidate for row in found.part("layers_32")}
    assert layers == (set(pretend_gpu.FEW) - {"depthwise"}) | set(CUDNN) - set(NCHW.values())
    theirs = {row.candidate for row in found.part("depthwise_32") if not row.ours}
    assert theirs == set(CUDNN) - set(NCHW)  # in NCHW order PyTorch's own kernels run
    for pass_, table in TABLES.items():
        if part := found.part(f"{pass_}_32"):
            ours = {name for name, one in table.items() if "gpu" in one.forms}
            assert {row.candidate for row in part} == ours | set(CUDNN)
    titles = [line for line in done.stdout.splitlines() if line.endswith("as fast as ...")]
    assert len(titles) == 6
    for words in ("A filter of 7x7", "Rung by rung", "Predicted time by measured time", "multiply-adds  "):
        assert words in done.stdout


@in_turns("contact")
@needs_compiler
def test_the_benchmarks_own_kernels_are_run_whole(contact, folder):
    """Each instruction that the compiler wrote was run by some thread, in one process at least.

    But for the store of a kernel that only reads.
    """
    told = [json.loads(file.read_text()) for file in folder.glob("kernels-*")]
    names = ("copy_quads", "read_quads", "wait_for", "read_pieces", "multiply_add_chains")
    assert {name.split(": ")[1] for one in told for name in one} == set(names)
    for name in {name for one in told for name in one}:
        missed = [set(one[name]) for one in told if name in one]
        never = {line.split()[0] for line in set.intersection(*missed)}
        expected = {"st.global.f32", "cvta.to.global.u64"} if name.endswith("read_quads") else set()
        assert never == expected, name


@in_turns("contact")
@needs_compiler
def test_notebooks_read_what_it_wrote(contact, folder):
    """With a GPU they measure, without one they read the file, and without a file they say so."""
    done = played(folder, "notebook", contact[1])
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rungs, others, (_, positive), ours, roofline, judged = found["here"]
    assert positive
    assert "measured here, NVIDIA H100 of cardboard" in {rungs[0], others[0], ours[0], roofline[0]}
    assert rungs[1] == ["copy", "lines on their way", "one thread per output"]
    judgeable = {"direct", "implicit_gemm"}
    assert judgeable <= set(others[1]), found["here"]
    assert set(judged[1]) == judgeable | {"depthwise"} | {f"tensor_core_{kind}" for kind in KINDS}
    for here, there, nothing in zip(*found.values(), strict=True):
        if here[0] == "speeds":
            continue
        assert "saved: NVIDIA H100 of cardboard" in there[0]
        assert nothing[0].startswith(("not measured", "no measurement"))
        assert not nothing[1]
        assert bool(here[1]) == bool(there[1])


@in_turns("contact")
@needs_compiler
@pytest.mark.parametrize("how", ["--simulate", "--execute"])
def test_a_dry_run(folder, tmp_path, how):
    """The command itself, with nothing played; what it finds is no time."""
    path = tmp_path / "run.csv"
    done = played(folder, "dry-run", how, "--layers", "16x12", "--save", path)
    assert done.returncode == 0, done.stdout + done.stderr
    found = saved.read(path)
    assert found.header["simulated"]
    assert not found.header["complete"]
    assert (found.header["wrong"], found.header["refused"], found.header["roofs"]) == ({}, {}, {})
    assert {"copy", "direct", "filter 1: one thread per output"} <= {row.candidate for row in found.rows}
    assert all(np.isnan(row.seconds) for row in found.rows)
    rungs = len(found.part("ladder filter"))
    assert rungs == (2 if how == "--simulate" else 5)
    assert places.HOW[found.header["options"]["place"]] in done.stdout


def test_without_a_gpu_it_is_refused_before_anything_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(places, "gpu_trouble", lambda: "no driver")
    monkeypatch.setattr(places, "assembly_fault", lambda: "no toolkit")
    for options, says in (([], "no driver; --simulate and --execute try"), (["--execute"], "no toolkit")):
        assert main([*options, "--save", str(tmp_path / "run.csv")]) == 2
        assert says in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


# -- cut off, crashed, hung --------------------------------------------------------------------------------


BRIEFLY = """
import sys
from convlab import ALGORITHMS
from convlab.benchmark.gpu.clock import StandIn
from tools.bench_gpu import steps

StandIn.algorithms = lambda self: {name: ALGORITHMS[name] for name in ("direct", "implicit_gemm")}
steps.ladders = list
steps.main(*sys.argv[1:])
"""
COMMAND = """
import sys
from tools.bench_gpu import __main__, run, steps

run.STEP, run.together, steps.ladders = ({step!r},), lambda: 3, list
sys.exit(__main__.main())
"""


@in_turns("contact")
@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_cut_off_goes_on_where_it_was(folder, tmp_path, monkeypatch, number):
    path, step, script = (tmp_path / name for name in ("run.csv", "step.py", "command.py"))
    step.write_text(watched(folder, BRIEFLY))
    script.write_text(watched(folder, COMMAND.format(step=str(step))))
    monkeypatch.setattr(run, "STEP", (str(step),))
    monkeypatch.setattr(steps, "ladders", list)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    command = [sys.executable, script, "--simulate", "--save", path, "--layers", "tiny layer"]

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
    assert not record.exists()


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

steps.LONGEST = 12.0
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


@in_turns("contact")
@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("os._exit(9)", "took its process with it (exit code 9)"),
        ("StandIn.is_alive = lambda self: False; raise RuntimeError('illegal')", "RuntimeError: illegal"),
        ("time.sleep(600)", "took its process with it (exit code 1)"),
    ],
    ids=["crash", "lost", "hang"],
)
def test_who_takes_the_process_along_is_named_and_the_rest_goes_on(folder, tmp_path, monkeypatch, what, says):
    script, path = tmp_path / "step.py", tmp_path / "run.csv"
    script.write_text(watched(folder, CRASHING.format(what=what)))
    monkeypatch.setattr(run, "STEP", (str(script),))
    monkeypatch.setattr(steps, "ladders", list)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    found, stopped = run.bench_gpu(path, FEW)
    assert found.header["wrong"]["direct"]["layers_2: tiny layer"] == says
    assert stopped == "direct is wrong"
    there = {(row.part, row.candidate) for row in found.rows if row.ours}
    assert ("layers_2", "direct") not in there
    assert {("layers_2", "again"), ("layers_1", "direct")} <= there


HANGING = """
import sys, time
from convlab import ALGORITHMS
from convlab.benchmark.gpu.clock import StandIn
from tools.bench_gpu import steps

steps.LONGEST = 12.0
steps.roofs.measure = lambda *arguments, **options: time.sleep(600)
StandIn.algorithms = lambda self: {"direct": ALGORITHMS["direct"]}
steps.ladders = lambda: []
steps.main(*sys.argv[1:])
"""


@in_turns("contact")
def test_roofs_that_never_end_cost_the_roofs_alone(folder, tmp_path, monkeypatch):
    script, path = tmp_path / "step.py", tmp_path / "run.csv"
    script.write_text(watched(folder, HANGING))
    monkeypatch.setattr(run, "STEP", (str(script),))
    monkeypatch.setattr(steps, "ladders", list)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    found, stopped = run.bench_gpu(path, FEW, minutes=3.0)
    assert found.header["wrong"] == {"roofs": {"roofs": "took its process with it (exit code 1)"}}
    assert (found.header["failed"], found.header["roofs"], stopped) == ({}, {}, "roofs is wrong")
    assert {("layers_2", "direct"), ("layers_1", "direct")} <= {
        (row.part, row.candidate) for row in found.rows
    }


def test_a_copy_that_fails_costs_the_copy_alone(tmp_path, monkeypatch):
    def fails(*arguments):
        raise RuntimeError("unspecified launch failure")

    monkeypatch.setattr(kernels, "copier", lambda *arguments: fails)
    journal = journal_of(tmp_path)
    suite = steps.DeviceSuite(journal, StandIn())
    suite._image("image", "image: 16x12", TINY_IMAGE)
    assert journal.header["wrong"] == {"copy": {"image: 16x12": "RuntimeError: unspecified launch failure"}}
    assert [row.candidate for row in journal.measurement.rows] == list(steps.FOR_PICTURES)


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


@in_turns
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
    # Twice what L2 holds is read, four numbers a thread: written, it would go to memory in the timed call.
    assert flush == ("read_quads", 96 << 16, 96 << 16)
    assert wait[:2] == ("wait_for", 1)
    # A million counts took two milliseconds: the host has at least 30 microseconds, twice what it needed.
    assert wait[2] >= 30e-6 * 1_000_000 / 0.002
    assert (before, timed, after, there) == ("record", "run", "record", "until it is there")
    assert here.is_alive()
    monkeypatch.setattr(driver, "launch", lambda *arguments: 1 / 0)
    assert not here.is_alive()


def test_baselines_that_are_not_here(monkeypatch):
    assert CUDNN["cuDNN"].refuses(CASES["padding on one side"])
    assert len(CUDNN) == 9
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
    header |= {"wrong": {"fft": {"layers_32: a": "its error", "layers_32: b": "its error"}}, "refused": {}}
    header |= {"left out": {"direct": {"a": "it is too slow"}}, "failed": {"layers_1: a": "time was up"}}
    header["skipped"] = dict.fromkeys(CUDNN, "not asked for")
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
    for words in (
        *("a GPU, driver 1, cuDNN 90800", "WRONG: fft (layers_32: a and 1 more): its error", "kFLOP/s"),
        *("left out as too slow: direct, 1 times", "not measured: layers_1: a: time was up"),
        "skipped: cuDNN, cuDNN channels_last, PyTorch, cuDNN TF32, ",
    ):
        assert words in notes
    assert "scatter" not in notes
    restless = [replace(row, timing=Timing(row.seconds, 1.0, 9.0)) for row in MADE_UP]
    assert any("100% of the times scatter" in line for line in report.notes(Measurement(header, restless)))
    assert "not complete" in notes
    assert not any("goal" in text.lower() for text in (*tables, notes))  # nobody who measures has one
    assert report.tables(Measurement(header)) == []
    assert report.tables(Measurement(header | {"simulated": True}, MADE_UP)) == []
    assert not any("multiply-adds" in line for line in report.notes(Measurement(header | {"roofs": {}})))


# -- mischances --------------------------------------------------------------------------------------------


def test_pixels_of_a_large_output():
    n, p, q = some_pixels((3, 100, 70), np.random.default_rng(0))
    assert len(n) == 2048
    assert {(0, 0, 0), (2, 99, 69), (0, 99, 0), (2, 0, 69)} <= set(zip(n, p, q, strict=True))
    assert (n.max(), p.max(), q.max()) == (2, 99, 69)


def test_a_gradient_that_is_not_written_is_refused():
    here = DevicePass(TINY_LAYER, "dgrad", BRIEF, StandIn())
    with pytest.raises(ConvError, match="numbers are not written"):
        here.check("lazy", Call(lambda: here.y_there, here.clock.get))


@pytest.mark.parametrize(("name", "says"), [("copy_quads", "copy is none"), ("read_pieces", "sum of what")])
def test_roofs_of_kernels_that_do_nothing_are_refused(name, says):
    class Lazy(Simulator):
        def launch(self, kernel, *rest):
            if kernel.py_func.__name__ != name:
                super().launch(kernel, *rest)

    with pytest.raises(ConvError, match=says):
        roofs.measure(StandIn(Lazy(traced=False)), 1, rounds=1, sizes=roofs.SMALL)


class EndError(Exception):
    """Stands for the end of the process."""


def end(code):
    raise EndError(code)


def test_a_process_that_nobody_waits_for_ends(tmp_path, monkeypatch):
    suite, codes = steps.DeviceSuite(journal_of(tmp_path), StandIn()), []
    monkeypatch.setattr(steps.os, "getppid", lambda: 1)
    monkeypatch.setattr(steps.os, "_exit", end)
    with pytest.raises(EndError):
        suite._begin("roofs", "roofs")
    monkeypatch.setattr(turns.os, "_exit", codes.append)
    read, written = os.pipe()
    os.close(written)
    turns.Turn(read).wait()
    assert codes == [1]
    os.close(read)


@pytest.mark.parametrize("alive", [True, False])
def test_what_fails_is_told_and_a_lost_device_ends_its_process(tmp_path, monkeypatch, alive):
    def fails(*arguments, **options):
        raise RuntimeError("unspecified launch failure")

    monkeypatch.setattr(roofs, "measure", fails)
    monkeypatch.setattr(steps.os, "_exit", end)
    if not alive:
        monkeypatch.setattr(StandIn, "is_alive", lambda self: False)
    journal = journal_of(tmp_path, words="nothing at all")
    monkeypatch.setattr(steps.layers, "select", lambda group, words: [])
    with nullcontext() if alive else pytest.raises(EndError):
        steps.take(journal, "roofs", StandIn())
    assert journal.header["failed"] == {"roofs": "RuntimeError: unspecified launch failure"}


def test_who_is_too_slow_is_named(tmp_path):
    journal = journal_of(tmp_path)
    slow = SimpleNamespace(rows=lambda part: [], left_out=["direct"])
    steps.DeviceSuite(journal, StandIn())._keep("layers_1: a", slow, "layers_1")
    assert journal.header["left out"] == {"direct": {"layers_1: a": "it is too slow"}}


def test_without_nvidia_smi_there_is_no_state(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "torch")
    assert facts.state() == {}


def test_the_state_is_that_of_the_gpu_that_is_measured(tmp_path, monkeypatch):
    """With CUDA_VISIBLE_DEVICES=3 it is CUDA's first, and the fourth of nvidia-smi."""
    boards, smi = [SimpleNamespace(), SimpleNamespace(uuid="GPU-1a2b")], tmp_path / "nvidia-smi"
    smi.write_text('#!/bin/sh\nfor last; do :; done\necho "$last, 1, 2, 3, 4, 5"\n')
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("convlab.gpu.numba_cuda.cuda", SimpleNamespace(get_current_device=boards.pop))
    for named in ("GPU-1a2b", "0"):
        assert facts.state()["clocks.sm"] == f"--id={named}"


def test_half_of_the_processors_get_steps_ready(monkeypatch):
    for processors, processes in ((16, 8), (2, 1), (1, 1), (None, 1)):
        monkeypatch.setattr(run.os, "cpu_count", lambda processors=processors: processors)
        assert run.together() == processes


# -- the proof ---------------------------------------------------------------------------------------------


@in_turns("contact")
@needs_compiler
def test_every_line_has_been_run(contact, folder, request):
    """By the tests above, all of them: in this process, or in one that they started."""
    here = {item.originalname for item in request.session.items if item.path == Path(__file__)}
    if {name for name in globals() if name.startswith("test_")} - here:
        pytest.skip("not all tests of this file were asked for")
    missed = traced_lines.unreached(folder)
    assert not missed, "\n".join(["nobody has run these:", *missed])


def test_a_line_that_nobody_runs_is_found(tmp_path, monkeypatch):
    """The proof can fail: of a file with a branch that is not taken it names that one line."""
    file = tmp_path / "planted.py"
    file.write_text("def f(x):\n    if x:\n        return 1\n    return [i for i in ()]\n")
    monkeypatch.setattr(traced_lines, "FILES", {str(file): "planted.py"})
    script = watched(tmp_path, f"traced_lines.FILES = {{{str(file)!r}: 'planted.py'}}\nimport planted\n")
    for call, missed in (("", 3), ("planted.f(0)", 1), ("planted.f(1)", 0)):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
        subprocess.run([sys.executable, "-c", script + call], check=True, env=environment)
        assert len(traced_lines.unreached(tmp_path)) == missed
