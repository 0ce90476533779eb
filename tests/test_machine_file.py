"""What is kept of a machine survives a taskset, a quota, other writers, kill -9; benchmarks share cores."""

import json
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from known_machine import SPEEDS

from convlab import ConvProblem
from convlab.auto import machine_file, measure, speeds
from convlab.auto.roofs import Roofs
from convlab.auto.timing import on_all_cores, on_one_core
from convlab.machine import container, cores, system
from convlab.machine.facts import Machine, cores_at_hand
from convlab.support import files, json_store
from convlab.support.locks import locked

ROOT = Path(__file__).resolve().parents[1]
SMALL = ConvProblem(1, 9, 7, 4, 6, 3, 3)
POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has neither")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of its own, nothing known, and a machine of four threads without a quota."""
    monkeypatch.setenv("CONVLAB_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    monkeypatch.setattr(system, "threads", lambda: 4)
    monkeypatch.setattr(container, "cpu_quota", lambda: None)
    machine_file.forget()
    yield tmp_path
    machine_file.forget()


def other(factor):
    """Return the speeds of a machine so many times as fast."""
    return SPEEDS | {"roofs": SPEEDS["roofs"] | {"flops": factor * 100e9}}


# -- one process may use less ------------------------------------------------------------------------------

LESS = {
    "one thread": lambda patch: patch.setattr(system, "threads", lambda: 1),
    "a quota": lambda patch: patch.setattr(container, "cpu_quota", lambda: 1.5),
    "another target": lambda patch: patch.setenv("NUMBA_CPU_NAME", "haswell"),
    "a target that is none": lambda patch: patch.setenv("NUMBA_CPU_NAME", "<no \udcff such>"),
    "other features": lambda patch: patch.setenv("NUMBA_CPU_FEATURES", "-avx512f"),
    "a processor without a name": lambda patch: patch.setattr(system, "processor", lambda: None),
    "another version": lambda patch: patch.setattr("convlab.support.version.VERSION", "99"),
}


@pytest.mark.parametrize("what", LESS)
def test_a_process_that_may_use_less_adds_and_deletes_nothing(folder, monkeypatch, what):
    machine_file.keep_speeds(SPEEDS)
    machine_file.keep_tuned(SMALL, 1, {"direct": 1.0})
    machine_file.keep_tuned(SMALL, 4, {"direct": 4.0})
    with monkeypatch.context() as patch:
        LESS[what](patch)
        machine_file.forget()
        assert machine_file.kept_speeds() is None
        machine_file.keep_speeds(other(2))
        machine_file.keep_tuned(SMALL, 2, {"direct": 2.0})
        machine_file.forget()
        assert speeds.speeds().flops == 200e9
        assert machine_file.tuned_seconds(SMALL, 2) == {"direct": 2.0}
        assert machine_file.tuned_seconds(SMALL, 4) is None
    machine_file.forget()
    assert speeds.speeds().flops == 100e9
    assert machine_file.tuned_seconds(SMALL, 1) == {"direct": 1.0}
    assert machine_file.tuned_seconds(SMALL, 4) == {"direct": 4.0}


def test_what_one_thread_was_tuned_to_holds_however_many_there_are(folder, monkeypatch):
    machine_file.keep_tuned(SMALL, 1, {"direct": 1.0})
    monkeypatch.setattr(system, "threads", lambda: 1)
    machine_file.forget()
    assert machine_file.tuned_seconds(SMALL, 1) == {"direct": 1.0}


def test_the_file_does_not_grow_without_end(folder, monkeypatch):
    for version in range(40):
        monkeypatch.setattr("convlab.support.version.VERSION", str(version))
        machine_file.keep_speeds(SPEEDS)
    machines = json.loads((folder / machine_file.FILE).read_text())["machines"]
    assert [json.loads(name)["convlab"] for name in machines] == [str(version) for version in range(8, 40)]


def test_renewed_speeds_replace_the_old_ones_only_when_they_are_there(folder, monkeypatch):
    def interrupted(on_step):
        raise KeyboardInterrupt

    machine_file.keep_speeds(SPEEDS)
    monkeypatch.setattr(measure, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        measure.renew()
    assert machine_file.kept_speeds().flops == 100e9


def test_two_that_measure_at_once_take_turns(folder, monkeypatch):
    inside, together = [], []

    def measuring(on_step):
        inside.append(1)
        together.append(len(inside))
        time.sleep(0.05)
        inside.pop()
        return SPEEDS

    monkeypatch.setattr(measure, "measure", measuring)
    with ThreadPoolExecutor(4) as pool:
        for found in [pool.submit(measure.renew) for _ in range(4)]:
            assert found.result()[1].flops == 100e9
    assert together == [1] * 4


# -- many write at once ------------------------------------------------------------------------------------

WRITER = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from convlab.support import json_store

def add(number):
    json_store.update(Path(sys.argv[1]), lambda content: content.update({f"{sys.argv[2]} {number}": number}))
    print(number, flush=True)

with ThreadPoolExecutor(int(sys.argv[3])) as pool:
    list(pool.map(add, range(int(sys.argv[4]))))
"""


def writer(path, name, threads, count):
    command = [sys.executable, "-c", WRITER, str(path), name, str(threads), str(count)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_parallel_writers_lose_no_update(tmp_path):
    path = tmp_path / "file.json"
    writers = [writer(path, f"process {n}", 3, 100) for n in range(3)]
    assert [(process.communicate()[1], process.returncode) for process in writers] == [("", 0)] * 3
    assert json_store.read(path) == {
        f"process {n} {number}": number for n in range(3) for number in range(100)
    }
    assert not list(tmp_path.glob("*.part"))


def test_threads_that_tune_lose_no_update(folder):
    problems = [replace(SMALL, H=height) for height in range(9, 49)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda problem: machine_file.keep_tuned(problem, 1, {"direct": 1.0}), problems))
    machine_file.forget()
    assert all(machine_file.tuned_seconds(problem, 1) for problem in problems)


def test_a_writer_that_is_killed_has_lost_nothing_but_the_step_at_hand(tmp_path):
    path, finished = tmp_path / "file.json", set()
    for attempt in range(4):
        with writer(path, str(attempt), 1, 100_000) as process:
            finished |= {f"{attempt} {process.stdout.readline().strip()}"}
            time.sleep(random.uniform(0, 0.05))
            process.kill()
            finished |= {f"{attempt} {line.strip()}" for line in process.stdout if line.endswith("\n")}
        assert finished <= json_store.read(path).keys()
    json_store.update(path, lambda content: content.update(last=1))
    assert finished | {"last"} <= json_store.read(path).keys()


def test_an_update_of_what_is_nested_nearly_too_deep(tmp_path):
    path = tmp_path / "file.json"
    for depth in (100, 900, 990, *range(991, 1000), 1200, 4000):  # read in C, written in Python
        path.write_text('{"a":' * depth + "1" + "}" * depth)
        json_store.update(path, lambda content: content.update(b=1))
        assert json_store.read(path)["b"] == 1


DRAFTS = ".a.json.00000001.part", ".a.json.00000002.part", ".b.json.00000001.part"


def test_drafts_of_the_dead_are_cleared_away(tmp_path):
    old, young, foreign = (tmp_path / name for name in DRAFTS)
    for file in (old, young, foreign):
        file.write_text("half of")
    for file in (old, foreign):
        os.utime(file, (time.time() - 5000,) * 2)
    files.write_atomically(tmp_path / "a.json", "whole\r\n")
    assert {file.name for file in tmp_path.iterdir()} == {young.name, foreign.name, "a.json"}
    assert (tmp_path / "a.json").read_bytes() == b"whole\r\n"


def test_a_file_that_cannot_be_replaced_stays_and_leaves_no_draft(tmp_path):
    (tmp_path / "a.json").mkdir()
    with pytest.raises(OSError):
        files.write_atomically(tmp_path / "a.json", "text")
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_a_lock_is_waited_for_no_longer_than_patience_lasts(tmp_path):
    order = []
    with locked(tmp_path / "lock"), ThreadPoolExecutor(1) as pool:

        def impatient():
            with locked(tmp_path / "lock", patience=0.01):
                order.append("without")

        pool.submit(impatient).result()
        order.append("inside")
    with locked(tmp_path / "lock", patience=0):
        order.append("after")
    assert order == ["without", "inside", "after"]


@POSIX
def test_where_a_disk_knows_no_locks_we_do_without(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", refuse)
    json_store.update(tmp_path / "a.json", lambda content: content.update(a=1))
    assert json_store.read(tmp_path / "a.json") == {"a": 1}


# -- cores -------------------------------------------------------------------------------------------------


@pytest.fixture
def claims(monkeypatch, tmp_path):
    """Claims of the test's own: other tests and benchmarks run meanwhile. Return where the topology lies."""
    monkeypatch.setattr(cores, "CLAIM", f"test {os.getpid()} {random.random()}")
    monkeypatch.setattr(cores, "TOPOLOGY", tmp_path)
    monkeypatch.setattr(cores, "_last", None)
    return tmp_path


pinned = pytest.mark.skipif(not cores.now(), reason="the system does not pin threads to cores")


@pinned
def test_a_benchmark_on_one_core_is_still_on_a_machine_of_many():
    def facts():
        return machine_file.machine(), cores_at_hand(), Machine.here().threads, machine_file.key(SMALL, 2)

    before = facts()
    with on_one_core(), on_one_core():
        assert len(cores.now()) == 1
        assert facts() == before
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(facts).result() == before
        with on_all_cores():
            assert cores.now() == cores.allowed()
        assert len(cores.now()) == 1
    assert facts() == before
    assert cores.now() == cores.allowed()


@pinned
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="the system does not list threads")
def test_a_pool_that_began_on_one_core_serves_on_all_later():
    before, place = cores.now(), []
    with ThreadPoolExecutor(1) as pool, ThreadPoolExecutor(1) as there_already:
        there_already.submit(cores.now).result()
        with on_one_core():
            place.append(pool.submit(cores.now).result())
            with on_all_cores(), ThreadPoolExecutor(1) as other:
                assert other.submit(cores.now).result() == before
        assert len(place[0]) == 1
        assert pool.submit(cores.now).result() == before
        assert there_already.submit(cores.now).result() == before


@pinned
def test_what_all_cores_do_together_is_not_measured_on_one(monkeypatch):
    ran_on = []
    monkeypatch.setattr(Roofs, "here", lambda **_: ran_on.append(cores.now()) or Roofs(1.0, 1.0, 1, {}))
    monkeypatch.setattr(measure, "overheads", lambda *_: ran_on.append(cores.now()))
    every = cores.now()
    with on_one_core():
        measure.measure()
    assert ran_on[0] == every
    assert len(ran_on[1]) == 1


@pinned
def test_benchmarks_at_once_do_not_share_a_core(claims):
    with ExitStack() as stack:
        taken = [stack.enter_context(cores.claimed({1, 2, 3})) for _ in range(3)]
        assert taken == [1, 2, 3]
        more = stack.enter_context(cores.claimed({1, 2, 3}))
        assert more in {1, 2, 3}  # all are taken: they are shared
    with cores.claimed({1, 2, 3}) as core:
        assert core == more  # a benchmark in many steps stays where it was


@pinned
def test_another_process_is_given_another_core_until_this_one_ends(claims):
    code = (
        "import sys; from convlab.machine import cores; cores.CLAIM = sys.argv[1]\n"
        "with cores.claimed({0, 1}) as core: print(core, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, cores.CLAIM]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert int(process.stdout.readline()) == 0
        with cores.claimed({0, 1}) as core:
            assert core == 1
        process.kill()
    cores._last = None
    with cores.claimed({0, 1}) as core:
        assert core == 0


@pinned
def test_a_whole_core_is_better_than_half_a_one(claims):
    """Threads 0 and 1 are one core, 2 and 3 the other; the lists may hold anything."""
    for core, text in enumerate(["0-1", "0,1", "2-3", "2,3:x 9999999999 y-z 5-999999"]):
        (claims / f"cpu{core}" / "topology").mkdir(parents=True)
        (claims / f"cpu{core}" / "topology" / "thread_siblings_list").write_text(text)
    with ExitStack() as stack:
        assert [stack.enter_context(cores.claimed({0, 1, 2, 3})) for _ in range(4)] == [0, 2, 1, 3]


@pinned
def test_a_system_that_knows_neither_claims_nor_cores(claims, monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr("socket.socket", refuse)
    with cores.claimed({4, 5}) as core:
        assert core == 4
    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    with on_one_core():
        assert cores.now() == cores.allowed()
    monkeypatch.setattr(os, "sched_getaffinity", refuse)
    with on_one_core():
        assert cores.now() == set()
