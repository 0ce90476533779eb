"""`convlab bench gpu` where there is no GPU: every step in the lane simulator, and what goes wrong there.

No time is taken here, and none is made up but in the tables that are named so.
"""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, replace
from importlib import import_module
from math import isnan
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from cases import CASES, arrays
from convlab.benchmark.gpu.contest import Attempts, DeviceContest, DeviceLost, all_of_ours, some_pixels
from typer.testing import CliRunner

from convlab import ALGORITHMS
from convlab.auto.timing import Timing
from convlab.benchmark import layers as networks
from convlab.benchmark import report, saved
from convlab.benchmark.baselines import Call
from convlab.benchmark.comparison import Effort
from convlab.benchmark.gpu import bench, cases, clock, device_tests, parts, rivals, supervise, worker
from convlab.benchmark.gpu import roof_kernels as kernels
from convlab.benchmark.gpu import roofs as device_roofs
from convlab.benchmark.gpu.clock import StandIn, fill
from convlab.benchmark.saved import Measurement, Row
from convlab.cli import app
from convlab.gpu.device import Gpu, simulated
from convlab.gpu.launch_args import as_launched
from convlab.oracle import reference, reference_at

pytestmark = pytest.mark.workshop

BRIEF = Effort(rounds=1, most=1, budget=0.0)
TINY = parts.TINY_LAYER


def convlab(*arguments):
    return CliRunner().invoke(app, ["bench", "gpu", *map(str, arguments)], prog_name="convlab")


# -- the whole command -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """Run the command once in the simulator, as plain as on a machine with a GPU."""
    path = tmp_path_factory.mktemp("bench") / "run.csv"
    command = [sys.executable, "-m", "convlab.benchmark.gpu", "--simulate", "--save", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done, path


def test_every_step_can_be_taken(tried):
    done, path = tried
    assert done.returncode == 0, done.stdout + done.stderr
    run = saved.read(path)
    header = run.header
    assert (header["failed"], header["wrong"], header["refused"], header["at"]) == ({}, {}, {}, None)
    labels = [step.name for step in parts.DeviceParts(StandIn(), header, []).steps()]
    assert header["done"] == labels
    for one in labels:
        assert one in done.stdout
    for case in (parts.TINY_IMAGE, parts.TINY_LAYER, parts.TINY_DEPTHWISE):
        serving = {name for name, one in all_of_ours().items() if not one.supports(case.problem)}
        for part in {row.part for row in run.rows if (row.network, row.layer) == (case.network, case.layer)}:
            if part == "image":
                assert {row.candidate for row in run.part(part) if row.ours} == set(parts.FOR_PICTURES)
            elif "ladder" not in part:
                assert {row.candidate for row in run.part(part) if row.ours} == serving
    for ladder in cases.ladders():
        ours = [row.candidate for row in run.part(f"ladder {ladder.name}") if row.ours]
        assert len(ours) >= 2
        assert all(name.startswith(f"{ladder.name} ") for name in ours)


def test_what_is_simulated_says_so_and_has_no_times(tried):
    done, path = tried
    run = saved.read(path)
    assert run.header["simulated"]
    assert not run.header["complete"]
    assert run.header["roofs"] == {}
    assert run.rows
    assert all(isnan(t) for row in run.rows for t in (row.seconds, row.timing.low, row.timing.high))
    assert report.tables(run) == []
    assert "simulated" in report.notes(run)[0]
    assert "no time was taken" in done.stdout
    assert "simulated" in path.read_text()


class Nothing(Gpu):
    """A device that computes nothing, of any size."""

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

    def timer(self, run):
        return lambda: (run(), 1e-4)[1]


def test_layers_of_real_size_go_through_every_step(tmp_path, monkeypatch):
    """Nothing is computed or timed: plans, launches, their order and the report are those of a real run."""
    monkeypatch.setattr(worker, "_clock", lambda simulate, header: MadeUp())
    monkeypatch.setattr("convlab.benchmark.gpu.facts.clocks", dict)
    monkeypatch.setattr(device_roofs, "measure", lambda *_, **__: device_roofs.DeviceRoofs(1, 1, 1, 1, 1, 1))
    monkeypatch.setattr(DeviceContest, "check", lambda self, name, call, rounding: call.run())
    monkeypatch.setattr(DeviceContest, "enter_copy", lambda self: None)
    for words in ("4000x4000", "layer4.0.conv2", "conv_dw_13"):
        path, options = tmp_path / f"{words}.csv", bench.Options(words, rivals=False)
        saved.write(path, Measurement(bench.first_header(options)))
        assert worker.work(path, time.time() + 600, options) == 0
        run = saved.read(path)
        assert (run.header["wrong"], run.header["failed"]) == ({}, {})
        assert set(run.header["refused"]) <= {"fft", "fft_tiled"}  # cuFFT may be missing
        assert run.header["complete"]
        for case, images in {(case_of(row), row.problem.N) for row in run.rows if "_" in row.part}:
            part = f"{'depthwise' if case.problem.groups > 1 else 'layers'}_{images}"
            serving = {name for name, one in all_of_ours().items() if not one.supports(case.problem)}
            there = {row.candidate for row in run.part(part)} | set(run.header["refused"])
            assert there >= serving
        assert "NaN" not in str(report.tables(run))


def case_of(row):
    return networks.Case(row.network, row.layer, row.problem)


def test_the_plain_command_imports_nothing_that_a_gpu_machine_may_lack():
    script = """
import sys
course = "typer", "rich", "IPython", "jupyterlab", "matplotlib", "ipywidgets", "nbclient", "nbformat", "PIL"
for name in (*course, "psutil", "threadpoolctl", "greenlet", "torch", "cupy"):
    sys.modules[name] = None
import convlab.benchmark.gpu.__main__, convlab.benchmark.gpu.worker
from convlab.benchmark.gpu.bench import first_header, Options
first_header(Options())
sys.path.insert(0, "tests")
import conftest, test_on_gpu
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_command_line(tmp_path, monkeypatch):
    given = []
    made = Measurement(bench.first_header(bench.Options(simulate=True)))
    monkeypatch.setattr(
        bench, "bench_gpu", lambda path, options: given.append((path, options)) or (made, None)
    )
    path = tmp_path / "deep" / "run.csv"
    options = ("--no-rivals", "--no-tests", "--minutes", 3, "--layers", "3x3", "--simulate")
    done = convlab("--save", path, *options)
    assert done.exit_code == 0, done.output
    assert given == [(path, bench.Options("3x3", False, False, 3, True))]
    assert given[0][1].command == (
        "convlab bench gpu --layers '3x3' --no-rivals --no-tests --minutes 3 --simulate"
    )
    assert str(path) in done.output.replace("\n", "")
    for wrong in (("--layers", "vgg"), ("--minutes", "0"), ("--save", tmp_path)):
        done = convlab(*wrong)
        assert done.exit_code == 2
        assert wrong[0] in done.stderr


def test_without_a_gpu_it_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr("convlab.gpu.device.gpu_trouble", lambda: "no driver")
    done = convlab("--save", tmp_path / "run.csv")
    assert done.exit_code == 2
    assert "no driver; --simulate tries every step without one" in done.stderr
    assert list(tmp_path.iterdir()) == []


# -- cut off, crashed, hung --------------------------------------------------------------------------------


FEW = "tiny layer"  # without the picture, and without what is depthwise: some seconds


def started(path):
    command = [sys.executable, "-m", "convlab.benchmark.gpu", "--simulate", "--save", path, "--layers", FEW]
    pipe = subprocess.PIPE

    def can_be_interrupted():  # what a shell starts in the background cannot, nor can its children
        signal.signal(signal.SIGINT, signal.default_int_handler)

    options = {"stdout": pipe, "stderr": pipe, "text": True, "start_new_session": True}
    return subprocess.Popen(command, preexec_fn=can_be_interrupted, **options)


def wait_until(reached):
    deadline = time.time() + 60
    while not reached():
        assert time.time() < deadline
        time.sleep(0.02)


def processes_with(word):
    """Return the processes of this machine that have a word in their command."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found += [place] * (str(word).encode() in place.read_bytes())
    return found


POINTS = {
    "before the first step": lambda path: path.exists(),
    "at work": lambda path: path.exists() and (saved.read(path).header["at"] or [None])[0] is not None,
    "between candidates": lambda path: path.exists() and "direct" in str(saved.read(path).header["at"]),
}


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("point", POINTS)
def test_a_run_that_is_cut_off_leaves_a_sound_file_and_no_process(tmp_path, number, point):
    path = tmp_path / "run.csv"
    process = started(path)
    wait_until(lambda: POINTS[point](path))
    os.kill(process.pid, number)
    said, complaints = process.communicate(timeout=30)
    wait_until(lambda: not processes_with(path))
    run = saved.read(path)
    assert not run.header["complete"]
    steps = parts.DeviceParts(StandIn(), run.header, [], FEW).steps()
    assert len(run.header["done"]) < len(steps)
    assert "Traceback" not in complaints
    if number != signal.SIGKILL:
        assert process.returncode == 130
        assert complaints == "convlab: interrupted\n"
        assert str(path) in said


def test_a_run_that_was_cut_off_goes_on_where_it_was(tmp_path):
    path = tmp_path / "run.csv"
    process = started(path)
    wait_until(lambda: path.exists() and saved.read(path).rows)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    wait_until(lambda: not processes_with(path))
    before = saved.read(path)
    assert before.rows
    steps = [step.name for step in parts.DeviceParts(StandIn(), before.header, [], FEW).steps()]
    assert 1 < len(before.header["done"]) < len(steps)
    draft = path.with_name(".run.csv.00000000.part")
    draft.write_text("half a li")  # as a kill in the midst of writing leaves it
    os.utime(draft, (0, 0))
    run, stopped = bench.bench_gpu(path, bench.Options(FEW, simulate=True))
    assert stopped is None
    assert [row.candidate for row in run.rows][: len(before.rows)] == [row.candidate for row in before.rows]
    assert run.header["done"] == steps
    assert len(run.header["resumed"]) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["run.csv"]


def test_only_the_same_run_is_gone_on_with(tmp_path, monkeypatch):
    path, options = tmp_path / "run.csv", bench.Options("layer", minutes=3)
    header = bench.first_header(options) | {
        "at": ["layers_32: b", "direct"],
        "failed": {"layers_32: a": "time was up", "image: c": "TypeError: x"},
        "wrong": {"fft": {"roofs": "its error"}},
        "done": ["roofs", "image: c"],
        "spent": {"roofs": 300.0},
    }

    def kept(options=options, **changes):
        saved.write(path, Measurement(header | changes))
        found = bench.unfinished(path, options)
        return found and found.header

    found = kept()
    assert (found["done"], found["failed"], found["at"], found["spent"]) == (["roofs"], {}, None, {})
    assert found["wrong"] == header["wrong"]
    assert kept(replace(options, minutes=9, tests=False))
    assert kept(replace(options, words="other")) is None
    assert kept(replace(options, simulate=True)) is None
    assert kept(complete=True) is None
    assert kept(source="0123") is None
    assert kept(machine=header["machine"] | {"processor": "another"}) is None
    path.write_text("something else")
    assert bench.unfinished(path, options) is None
    assert bench.unfinished(tmp_path / "none.csv", options) is None


def test_another_line_of_code_is_another_source(tmp_path, monkeypatch):
    (tmp_path / "__init__.py").write_text("a = 1\n")
    monkeypatch.setattr(bench.convlab, "__file__", str(tmp_path / "__init__.py"))
    before = bench.source()
    assert bench.source() == before
    (tmp_path / "__init__.py").write_text("a = 2\n")
    assert bench.source() != before


# -- the disk ----------------------------------------------------------------------------------------------


def full(path, text):
    """Find the disk full, in place of `write_atomically`."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_told_and_what_was_there_stays(tmp_path, monkeypatch):
    path, room = tmp_path / "run.csv", saved.write_atomically
    monkeypatch.setattr(saved, "write_atomically", full)
    done = convlab("--simulate", "--save", path)
    assert done.exit_code == 2
    assert "cannot be written: No space left on device; make room there" in done.stderr
    assert not path.exists()
    before = Measurement(bench.first_header(bench.Options()), MADE_UP)
    monkeypatch.setattr(saved, "write_atomically", room)
    saved.write(path, before)
    monkeypatch.setattr(saved, "write_atomically", full)
    with pytest.raises(saved.UnwritableError, match="No space left"):
        saved.write(path, Measurement(before.header))
    assert len(saved.read(path).rows) == len(MADE_UP)
    assert [file.name for file in tmp_path.iterdir()] == ["run.csv"]


def test_a_disk_that_fills_up_on_the_way_ends_the_run_with_what_there_is(tmp_path, monkeypatch):
    script, path = tmp_path / "worker.py", tmp_path / "run.csv"
    script.write_text(f"import sys\nsys.exit({supervise.UNWRITABLE})\n")
    monkeypatch.setattr(supervise, "WORKER", (str(script),))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    run, stopped = bench.bench_gpu(path, bench.Options(simulate=True))
    assert "could not be written any more" in stopped
    assert not run.header["complete"]


def test_the_worker_says_that_it_cannot_write(tmp_path):
    path = tmp_path / "run.csv"
    options = bench.Options(FEW, simulate=True)
    saved.write(path, Measurement(bench.first_header(options)))
    path = path.rename(tmp_path / f"{'long' * 62}.csv")  # so long that no draft can lie beside it
    given = str(path), str(time.time() + 60), json.dumps(asdict(options)), str(os.getpid())
    done = subprocess.run([sys.executable, *supervise.WORKER, *given], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (supervise.UNWRITABLE, "")
    assert "cannot be written: File name too long" in done.stdout


CRASHING = """
import os, sys
from convlab import ALGORITHMS
from convlab.benchmark.gpu import bench, contest, parts, worker
from convlab.benchmark.gpu.contest import DeviceLost
from convlab.benchmark.gpu.clock import StandIn
from dataclasses import replace
import json
from pathlib import Path

whole = ALGORITHMS["direct"]
form = whole.forms["gpu"]

def run(problem, x, packed, workspace, y, threads):
    if problem.N == 2:
        {what}
    form.run(problem, x, packed, workspace, y, threads)

parts.cases.ladders = lambda: []
contest.all_of_ours = lambda: {{"direct": ALGORITHMS["direct"], "again": whole}}
ALGORITHMS["direct"] = replace(whole, forms={{"gpu": replace(form, run=run)}})
path, until, options, _ = sys.argv[1:]
options = bench.Options(**json.loads(options))
sys.exit(worker.work(Path(path), float(until), options))
"""


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("os._exit(9)", "took its process with it (exit code 9)"),
        (
            "StandIn.is_alive = lambda self: False; raise RuntimeError('illegal')",
            "RuntimeError: illegal; the device did not answer any more",
        ),
        ("import time; time.sleep(600)", "gave no sign of life for 3 s"),
    ],
    ids=["crash", "lost", "hang"],
)
def test_who_takes_the_process_along_is_named_and_the_rest_goes_on(tmp_path, monkeypatch, what, says):
    script, path = tmp_path / "worker.py", tmp_path / "run.csv"
    script.write_text(CRASHING.format(what=what))
    monkeypatch.setattr(supervise, "WORKER", (str(script),))
    monkeypatch.setattr(supervise, "SILENT", 3.0)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    run, stopped = bench.bench_gpu(path, bench.Options(simulate=True, words="layer"))
    assert says in run.header["wrong"]["direct"]["layers_2: tiny layer"]
    assert "direct is wrong" in stopped
    assert run.header["failed"] == {}
    there = {(row.part, row.candidate) for row in run.rows if row.ours}
    assert ("layers_2", "direct") not in there
    assert {("layers_2", "again"), ("layers_1", "direct")} <= there


def test_a_worker_that_does_not_start_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(supervise, "WORKER", ("-c", "raise SystemExit(3)"))
    run, stopped = bench.bench_gpu(tmp_path / "run.csv", bench.Options(simulate=True))
    assert stopped == "start: took its process with it (exit code 3)"
    assert run.rows == []


def test_each_part_has_its_share_and_what_is_left_is_for_all(monkeypatch):
    now, spent = [0.0], {}
    monkeypatch.setattr(worker, "time", SimpleNamespace(time=lambda: now[0]))
    monkeypatch.setattr(worker, "SHARES", {"a": 0.3, "b": 0.3})
    steps = [parts.Step(part, f"{part}{number}", None) for part in "ab" for number in range(5)]

    def taken(until):
        for step in worker.in_turn(steps, spent, until):
            yield step.name
            now[0] += 10  # seconds that each takes
            spent[step.part] = spent.get(step.part, 0.0) + 10

    assert list(taken(60)) == ["a0", "a1", "b0", "b1", "a2", "a3", "a4"]


def test_every_part_has_a_share():
    simulated, real = StandIn(), type("Real", (), {"simulated": False})()
    assert abs(sum(parts.SHARES.values()) - 1) < 1e-9
    for one in (simulated, real):
        assert {step.part for step in parts.DeviceParts(one, {}, []).steps()} == set(parts.SHARES)


def test_when_time_is_up_no_step_begins(tmp_path):
    run, stopped = bench.bench_gpu(tmp_path / "run.csv", bench.Options(simulate=True, minutes=0))
    assert set(run.header["failed"].values()) == {"time was up"}
    assert "time was up" in stopped
    assert run.rows == []


def test_ctrl_c(tmp_path, monkeypatch):
    def interrupt(process, path, until):
        raise KeyboardInterrupt

    monkeypatch.setattr(supervise, "_wait", interrupt)
    run, stopped = bench.bench_gpu(tmp_path / "run.csv", bench.Options(simulate=True))
    assert stopped == bench.INTERRUPTED
    assert not run.header["complete"]


def test_the_device_tests_are_counted_and_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(device_tests, "TESTS", str(tmp_path / "test_made_up.py"))
    (tmp_path / "test_made_up.py").write_text(
        "import os, pytest, time\npytestmark = pytest.mark.gpu\n"
        "def test_one(): pass\ndef test_two(): assert 'FAILED [' == 1\n"
        "@pytest.mark.skip\ndef test_three(): pass\ndef test_four(): pass\n"
        "def test_five(): time.sleep(600 * os.path.exists(__file__ + '.slow'))\n"
    )
    for name in ("conftest.py", "known_machine.py"):
        shutil.copy(Path(__file__).with_name(name), tmp_path)
    log = tmp_path / "log.txt"
    assert device_tests.run(log, 60, 2) == "1 failed, 3 passed, 1 skipped"
    assert "test_two" in log.read_text()
    (tmp_path / "test_made_up.py.slow").touch()
    assert device_tests.run(log, 8, 1) == "1 failed, 2 passed, 1 skipped, stopped after 8 s"
    monkeypatch.setattr(device_tests, "TESTS", "tests/none.py")
    assert "not run" in device_tests.run(log, 60, 2)


# -- contests ----------------------------------------------------------------------------------------------


def contest(case=TINY, attempts=None):
    return DeviceContest(case, BRIEF, StandIn(), attempts or Attempts())


def test_nobody_is_taken_in_whose_output_is_wrong():
    here, told = contest(), []
    here.attempts.on_attempt = told.append
    right = reference(here.x, here.w, TINY.problem).astype("f4")
    partly = right.copy()
    partly[0, 1, 2, 3] = np.nan
    off = right.copy()
    off[0, -1, -1, -1] += 1e-3
    calls = {"right": right, "zeros": 0 * right, "partly": partly, "off": off, "small": right[:, :-1]}
    for name, y in calls.items():
        here.attempt(name, lambda y=y: Call(lambda: y))
    assert told == list(calls)
    wrong = here.attempts.wrong
    assert list(wrong) == ["zeros", "partly", "off", "small"]
    assert "1 outputs are not written" in wrong["partly"]
    assert "its error is 1.0" in wrong["off"]
    assert "its shape is" in wrong["small"]
    assert [row.candidate for row in here.rows("layers_1")] == ["right"]


def test_an_output_that_is_not_written_is_seen():
    here = contest()
    here.attempt("lazy", lambda: Call(lambda: here.y_there, here.device.get), ours=True)
    assert "are not written" in here.attempts.wrong["lazy"]


def test_what_finds_no_room_is_refused_and_who_did_harm_is_left_out(monkeypatch):
    here = contest(attempts=Attempts(avoid=["direct"]))
    monkeypatch.setattr(here.device, "free", lambda: 1 << 20)
    many = replace(TINY, problem=replace(TINY.problem, N=5000))
    here.case = many
    here.attempt("refused", lambda: here._prepared(ALGORITHMS["im2row"]))
    here.case = TINY
    here.enter_ours({"direct": ALGORITHMS["direct"]})
    assert here.rows("layers_1") == []
    assert "of device memory are free" in here.attempts.refused["refused"]
    assert here.attempts.wrong == {}


def test_a_lost_device_ends_the_process():
    here = contest()
    here.clock.is_alive = lambda: False

    def fails():
        raise RuntimeError("an illegal memory access was encountered\nmore")

    with pytest.raises(DeviceLost):
        here.attempt("bad", fails)
    assert here.attempts.wrong["bad"] == "RuntimeError: an illegal memory access was encountered"


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
    monkeypatch.setattr("convlab.gpu.numba_cuda.cuda", driver)
    monkeypatch.setattr(clock, "Gpu", lambda: driver)
    here = clock.EventClock()
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


# -- roofs, layers, rivals ---------------------------------------------------------------------------------


def test_kernels_of_the_roofs_do_what_they_say():
    with simulated(traced=True) as device:
        values = np.arange(1, 2049, dtype="f4")
        source, target = device.put(values), device.empty(2048, np.float32)
        device_roofs.copier(device, source, target)()
        np.testing.assert_array_equal(device.get(target), values)
        fill(device, target, 3.0)
        assert (device.get(target) == 3).all()
        y = device.empty(512, np.float32)
        device.launch(kernels.multiply_add(), 2, 256, y, np.float32(0), 2)
        assert (device.get(y) == 0).all()  # everything times zero, plus zero
        device.launch(kernels.read_again(), 2, 256, source, y, 2, 3)
        assert device.get(y).sum() == 3 * values.sum()  # each of two blocks three times half, in turn


def test_roofs_are_counted_in_bytes_and_operations(monkeypatch):
    class Known(StandIn):
        def timer(self, run):
            return lambda: 2.0  # seconds, for everything

    monkeypatch.setattr(kernels, "ROUNDS", 8)
    found = device_roofs.measure(Known(), 1, rounds=1, tiny=True)
    assert found.copy == 2 * found.copy_bytes / 2
    assert found.l2 == 2 * found.l2_bytes / 2  # a block of 256 threads read them twice
    assert found.flops == 2 * 2 * 64 * 256 / 2
    assert json.loads(json.dumps(found.as_dict()))["empty"] == 2.0


def test_layers_and_ladders():
    steps = parts.DeviceParts(type("Real", (), {"simulated": False})(), {}, []).steps()
    named = [step.part for step in steps]
    assert named[:2] == ["roofs", "image"]
    counts = {part: named.count(part) for part in named}
    layers, depthwise = len(networks.convolutions()), len(networks.depthwise())
    assert (counts["layers_32"], counts["depthwise_32"]) == (layers, depthwise)
    assert (counts["layers_1"], counts["depthwise_1"]) == (layers, depthwise)
    assert named.index("layers_32") < named.index("layers_1")
    assert cases.image().problem.y_shape == (1, 4000, 4000, 1)
    modules = [file.stem for file in Path(kernels.__file__).parent.glob("*.py")]
    climbed = {name for name in modules if hasattr(import_module(f"convlab.gpu.{name}"), "RUNGS")}
    assert {ladder.module for ladder in cases.ladders()} == climbed
    for ladder in cases.ladders():
        assert all(not one.supports(ladder.case.problem) for one in list(ladder.rungs().values())[:1])


@pytest.mark.parametrize("name", rivals.RIVALS)
def test_rivals_compute_the_same(name):
    torch = pytest.importorskip("torch", reason="PyTorch, a rival, is not installed")
    rival, problem = rivals.RIVALS[name], CASES["different strides"]
    if rival.numbers == "fp16" and not torch.cuda.is_available():
        pytest.skip("float16 needs a GPU")
    x, w, _ = arrays(problem)
    where = "cuda" if torch.cuda.is_available() else "cpu"
    call = rival.prepare(problem, x, w, where)
    np.testing.assert_allclose(call.array(call.run()), reference(x, w, problem), atol=1e-2)


def test_rivals_that_are_not_here(monkeypatch):
    assert "simulator" in rivals.missing(wanted=True, simulated=True)
    assert rivals.missing(wanted=False, simulated=False) == "not asked for"
    monkeypatch.setattr(rivals, "find_spec", lambda package: None)
    assert rivals.missing(wanted=True, simulated=False) == "PyTorch is not installed"
    assert rivals.RIVALS["cuDNN"].refuses(CASES["padding on one side"])
    assert len(rivals.RIVALS) == 6


# -- the report, of made-up times --------------------------------------------------------------------------


def row(part, candidate, seconds, *, ours, layer="a", network="resnet18", problem=TINY.problem):
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
    header = bench.first_header(bench.Options()) | {
        "roofs": ROOFS,
        "device": {"name": "a GPU", "driver": "1"},
    }
    made = Measurement(header | {"wrong": {"fft": {"layers_32: a": "its error"}}}, MADE_UP)
    tables = {table.title: table.rows for table in report.tables(made)}
    assert tables["Goals"] == [
        ("implicit GEMM of cuDNN float32, ResNet-18, 32 images", "1", "75%", "85%", "missed"),
        ("layers where Winograd beats cuDNN float32, 32 images", "1", "1", "3", "missed"),
        ("depthwise of cuDNN float32, MobileNetV1, 32 images", "1", "110%", "100%", "reached"),
        ("tensor cores of cuDNN fp16, ResNet-18, 32 images", "1", "60%", "50%", "reached"),
        ("7x7 filter over 4000x4000, of a copy", "1", "75%", "75%", "reached"),
    ]
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
    for words in ("a GPU, driver 1", "WRONG: fft (layers_32: a): its error", "not complete", "kFLOP/s"):
        assert words in notes


def test_a_part_that_was_not_measured_makes_no_goal():
    assert report.tables(Measurement(bench.first_header(bench.Options()))) == []


def test_the_report_as_plain_text():
    from convlab.support.tables import Table, as_text

    assert as_text(Table("Title", ("", "b"), [("long", "1")])) == "Title\n      b\nlong  1\n"
