"""One plan, or one network, and several callers: threads at once, another size meanwhile, forked children."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from time import sleep

import numba
import numpy as np
import pytest
from cases import CASES, FORMS, arrays, serving
from effort import in_turns

import convlab
from convlab import ALGORITHMS, ConvProblem, WorkspaceError, networks, plan
from convlab.algorithms.tensor_core import KINDS, tensor_core
from convlab.cpu import threads
from convlab.figures import photograph
from convlab.gpu.device import simulated
from convlab.plans import plan as plans

pytestmark = pytest.mark.inside

PATIENCE = 60  # seconds, for what takes none


class Meeting:
    """Stands in for a form's `run`: the first call waits inside it until it is told to go on."""

    def __init__(self, run):
        self.run, self.workspaces = run, []
        self.inside, self.go_on = threading.Event(), threading.Event()

    def __call__(self, problem, x, packed, workspace, y, threads):
        self.workspaces.append(workspace)
        if len(self.workspaces) == 1:
            half = [array.copy() for array in workspace.values()]  # as it would be in the middle of a run
            self.inside.set()
            assert self.go_on.wait(PATIENCE)
            for array, was in zip(workspace.values(), half, strict=True):
                np.testing.assert_array_equal(np.asarray(array), np.asarray(was))
        self.run(problem, x, packed, workspace, y, threads)


def one_inside_another(monkeypatch, algorithm, problem, backend, during, threads=1):
    """Call a plan, and in the middle of it do something else with it; return the plan and both results."""
    x, w, bias = arrays(problem)
    form = algorithm.forms[backend]
    meeting = Meeting(form.run)
    monkeypatch.setitem(algorithm.forms, backend, replace(form, run=meeting))
    prepared = plan(problem, w, bias, algorithm=algorithm, backend=backend, threads=threads)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(prepared, x)
        assert meeting.inside.wait(PATIENCE)
        try:
            other = during(prepared)
        finally:
            meeting.go_on.set()
        return prepared, slow.result(PATIENCE), other, meeting.workspaces


def memories(workspace):
    return [array for array in workspace.values() if isinstance(array, np.ndarray)]


EVERY = [
    *((ALGORITHMS[name], backend) for name, backend in FORMS),
    *((one, "gpu") for one in (*ALGORITHMS.values(), *map(tensor_core, KINDS)) if "gpu" in one.forms),
]
TINY = [  # for the lane simulator
    ConvProblem(1, 3, 4, 2, 2, 3, 3, padding=((0, 0), (0, 1))),
    ConvProblem(1, 3, 4, 2, 2, 1, 1),
    ConvProblem(1, 3, 4, 2, 2, 3, 3, groups=2),
    ConvProblem(1, 5, 6, 1, 2, 5, 5, stride=2),
]


@in_turns
@pytest.mark.parametrize(("algorithm", "backend"), EVERY, ids=lambda one: getattr(one, "name", one))
def test_two_threads_in_one_plan_have_a_workspace_each(monkeypatch, algorithm, backend):
    """The second call runs from beginning to end while the first one is in the middle."""
    problems = CASES.values() if backend != "gpu" else TINY
    problem = next(p for p in problems if not algorithm.supports(p))
    (x, w, bias), other = arrays(problem), arrays(problem, seed=1)[0]
    with simulated(traced=False) if backend == "gpu" else nullcontext():
        alone = plan(problem, w, bias, algorithm=algorithm, backend=backend)
        expected = [alone(x), alone(other)]
        prepared, *found, workspaces = one_inside_another(
            monkeypatch, algorithm, problem, backend, lambda prepared: prepared(other)
        )
        np.testing.assert_array_equal(found, expected)
        one, two = map(memories, workspaces)
        assert len(one) == len(two)
        assert not any(np.may_share_memory(a, b) for a in one for b in two)
        prepared(x)
        assert workspaces[2] is prepared.workspace is workspaces[0]  # free again


def test_the_second_workspace_is_kept_for_the_next_time(monkeypatch):
    algorithm, problem = ALGORITHMS["winograd_2x2"], CASES["plain"]
    x = arrays(problem)[0]
    *_, workspaces = one_inside_another(
        monkeypatch, algorithm, problem, "cpu", lambda prepared: [prepared(x) for _ in range(3)]
    )
    assert workspaces[1] is workspaces[2] is workspaces[3]


@contextmanager
def in_a_call(prepared):
    """Let a plan be, inside a ``with``, as in the middle of a call: its workspace is taken."""
    token = prepared._idle.pop()
    try:
        yield
    finally:
        prepared._idle.append(token)


@pytest.mark.parametrize("algorithm", ["indirect", "fft"])
def test_a_kept_workspace_is_of_the_size_before_a_resize(algorithm):
    problem = CASES["plain"]
    x, w, bias = arrays(problem)
    prepared = plan(problem, w, bias, algorithm=algorithm, backend="cpu")
    with in_a_call(prepared):
        prepared(x)
    prepared.resize(H=problem.H + 5, W=problem.W + 4)
    larger = arrays(prepared.problem)[0]
    expected = prepared(larger)
    with in_a_call(prepared):
        np.testing.assert_array_equal(prepared(larger), expected)


def test_a_bound_call_beside_another_has_a_workspace_of_its_own():
    problem = serving("winograd_4x4", CASES.values())[0]
    x, w, bias = arrays(problem)
    prepared = plan(problem, w, bias, algorithm="winograd_4x4", backend="cpu")
    out = np.empty(problem.y_shape, problem.dtype)
    expected, run = prepared(x), prepared.bound(x, out)
    for array in memories(prepared.workspace):
        array[...] = np.nan
    with in_a_call(prepared):
        run()
    np.testing.assert_array_equal(out, expected)
    assert all(np.isnan(array).all() for array in memories(prepared.workspace))


@pytest.mark.parametrize(("algorithm", "backend"), FORMS)
def test_a_call_in_flight_does_not_see_a_resize(monkeypatch, algorithm, backend):
    """It ends with the weights, tables and sizes that it began with; the next one has the new ones."""
    problem = serving(algorithm, CASES.values())[0]
    x, w, bias = arrays(problem)
    larger = replace(problem, N=problem.N + 1, H=problem.H + 5, W=problem.W + 4)
    x_larger = arrays(larger)[0]
    expected = [
        plan(p, w, bias, algorithm=algorithm, backend=backend)(pixels)
        for p, pixels in ((problem, x), (larger, x_larger))
    ]

    def resize_and_call(prepared):
        prepared.resize(N=larger.N, H=larger.H, W=larger.W)
        return prepared(x_larger)

    prepared, first, second, _ = one_inside_another(
        monkeypatch, ALGORITHMS[algorithm], problem, backend, resize_and_call
    )
    np.testing.assert_array_equal(first, expected[0])
    np.testing.assert_array_equal(second, expected[1])
    np.testing.assert_array_equal(prepared(x_larger), expected[1])
    prepared.resize(N=problem.N, H=problem.H, W=problem.W)
    np.testing.assert_array_equal(prepared(x), expected[0])


@pytest.mark.parametrize("algorithm", ["im2row", "indirect", "fft"])
def test_a_call_takes_all_it_needs_at_once(monkeypatch, algorithm):
    """Another thread resizes the plan between two lines of a call."""
    problem = CASES["plain"]
    x, w, bias = arrays(problem)
    prepared = plan(problem, w, bias, algorithm=algorithm, backend="numpy")
    expected, allocate = prepared(x), plans.aligned_empty

    def resize_first(*arguments):
        prepared.resize(H=problem.H + 5, W=problem.W + 4)
        return allocate(*arguments)

    monkeypatch.setattr(plans, "aligned_empty", resize_first)
    np.testing.assert_array_equal(prepared(x), expected)


def test_a_workspace_comes_back_when_a_run_fails(monkeypatch):
    algorithm, problem = ALGORITHMS["im2row"], CASES["plain"]
    x, w, _ = arrays(problem)
    prepared = plan(problem, w, algorithm="im2row", backend="cpu")
    used = []

    def failing(problem, x, packed, workspace, y, threads):
        used.append(workspace)
        raise KeyboardInterrupt

    monkeypatch.setattr(prepared, "_form", replace(algorithm.forms["cpu"], run=failing))
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            prepared(x)
    assert used[0] is used[1] is prepared.workspace


def test_a_second_workspace_that_does_not_fit_is_refused(monkeypatch):
    algorithm, problem = ALGORITHMS["im2row"], ConvProblem(1, 200, 200, 8, 8, 3, 3)
    x = arrays(problem)[0]

    def too_much(prepared):
        with monkeypatch.context() as patch:
            patch.setattr(convlab.machine.facts, "memory_at_hand", lambda: 5 << 20)
            with pytest.raises(WorkspaceError) as caught:
                prepared(x)
        return str(caught.value)

    prepared, first, words, _ = one_inside_another(monkeypatch, algorithm, problem, "cpu", too_much)
    assert "beside another one needs 10.8 MiB (a workspace of its own 10.8 MiB) and 5.00 MiB" in words
    np.testing.assert_array_equal(prepared(x), first)


def test_work_of_another_stream_is_waited_for(monkeypatch):
    """With a stream for each thread, a workspace is given on when the device has done with it."""
    waited, problem = [], CASES["plain"]
    x, w, _ = arrays(problem)
    with simulated(traced=False) as device:
        device.stream_per_thread, device.wait = True, lambda: waited.append(len(prepared._idle))
        prepared = plan(problem, w, algorithm="im2row", backend="gpu")
        prepared(x)
    assert waited == [0]  # before anybody else could have it


# -- whole networks ----------------------------------------------------------------------------------------

PHOTOS = [photograph()[:, first : first + 40, 90:130].copy() for first in (80, 100, 120)]


@in_turns
@pytest.mark.parametrize("algorithm", ["im2row", "winograd_2x2"])
def test_two_threads_in_one_network(monkeypatch, algorithm):
    """And a third one in a layer of it, whose workspace all layers share."""
    model = networks.load_model("squeezenet1_0", size=40)
    ready = model.prepare(algorithm, backend="cpu", progress=False)
    expected = [ready.run(photo) for photo in PHOTOS]
    those = [one for one in ready.plans.values() if one.algorithm.name == algorithm]
    layer = next(one for one in those if one.problem.R == 3)
    x = arrays(layer.problem)[0]
    sums = layer(x)

    form = ALGORITHMS[algorithm].forms["cpu"]
    meeting = Meeting(form.run)
    changed = replace(form, run=meeting, bind=lambda *given: partial(meeting, *given))
    for one in those:
        monkeypatch.setattr(one, "_form", changed)
    ready._idle[:] = [ready._bind(ready.plans)]  # anew, so that its calls meet
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(ready.run, PHOTOS[0])
        assert meeting.inside.wait(PATIENCE)
        try:
            np.testing.assert_array_equal(ready.run(PHOTOS[1]), expected[1])
            np.testing.assert_array_equal(layer(x), sums)
            np.testing.assert_array_equal(ready.run(PHOTOS[2]), expected[2])
        finally:
            meeting.go_on.set()
        np.testing.assert_array_equal(slow.result(PATIENCE), expected[0])
    assert len(ready._idle) == 2


# -- Numba's threads ---------------------------------------------------------------------------------------


@in_turns
def test_a_run_of_a_network_sets_the_threads_once(monkeypatch):
    """And a layer by itself does so, too: at most as many as it was made for, and afterwards as before."""
    ready = networks.load_model("squeezenet1_0", size=40).prepare("indirect", threads=2, progress=False)
    ready.run(PHOTOS[0])
    counts = []
    monkeypatch.setattr(threads, "set_num_threads", counts.append)
    monkeypatch.setattr(threads, "get_num_threads", lambda: 5)
    ready.run(PHOTOS[0])
    assert counts == [min(2, numba.config.NUMBA_NUM_THREADS), 5]
    with ready.borrowed() as graph:
        graph.actions[1]()
    assert counts == 2 * counts[:2]


def test_blocks_of_threads_inside_one_another():
    most, before = numba.config.NUMBA_NUM_THREADS, numba.get_num_threads()
    with threads.limited(1):
        assert numba.get_num_threads() == 1
        with threads.limited(most + 1):
            assert numba.get_num_threads() == most
            with threads.limited(most):
                assert numba.get_num_threads() == most
        assert numba.get_num_threads() == 1
        with pytest.raises(KeyError), threads.limited(most):
            raise KeyError
        assert numba.get_num_threads() == 1
    assert numba.get_num_threads() == before


# -- processes that are forked -----------------------------------------------------------------------------

FORKS = """
import os, signal, sys, threading, warnings
import numpy as np
from cases import arrays
from convlab import ConvProblem, plan

problem = ConvProblem(1, 20, 20, 8, 64, 3, 3, padding=1)
x, w, _ = arrays(problem)
plans = {name: plan(problem, w, algorithm=name, backend="cpu", threads=2) for name in ("im2row", "fft")}
expected = {name: one(x) for name, one in plans.items()}
import numba

def good():
    return all(np.array_equal(one(x), expected[name]) for name, one in plans.items())

def child():
    signal.alarm(60)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        right = good() and good()
    print(numba.threading_layer(), *(str(one.message) for one in caught), flush=True)
    os._exit(0 if right else 1)

stop, wrong = threading.Event(), []

def hammer():
    while not stop.is_set():
        good() or wrong.append(1)

hammers = [threading.Thread(target=hammer) for _ in range(3)]  # forks happen while threads run kernels
for one in hammers:
    one.start()
for _ in range(3):
    if (number := os.fork()) == 0:
        child()
    _, status = os.waitpid(number, 0)
    assert status == 0, status
stop.set()
for one in hammers:
    one.join()
assert not wrong and good()
"""


def _openmp_vendor() -> str:
    """Return whose OpenMP Numba calls; a bare Linux has none, and then this fails."""
    from numba.np.ufunc import omppool

    return omppool.openmp_vendor


@in_turns
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("layer", ["omp", "workqueue"])
def test_forked_children_compute_on_and_say_how(layer):
    """Threads call parallel kernels all the time; children are forked meanwhile, and call them too."""
    environment = os.environ | {"NUMBA_NUM_THREADS": "2", "NUMBA_THREADING_LAYER": layer}
    environment["PYTHONPATH"] = os.path.dirname(__file__)
    command = [sys.executable, "-c", FORKS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=4 * PATIENCE)
    if layer == "omp" and "No threading layer" in done.stderr:
        pytest.skip("Numba has no OpenMP here")
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.splitlines()
    assert len(said) == 3
    alone = layer == "omp" and _openmp_vendor() == "GNU"
    for line in said:
        assert line.startswith(layer)
        assert line.count("threads=1 is used in this process") == alone  # once, not at every call
        assert ("'spawn' or 'forkserver'" in line) == alone


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_that_is_forked_while_a_kernel_is_compiled_can_compile():
    """The lock that Numba holds meanwhile belongs to a thread that the child does not have."""
    from numba.core.compiler_lock import global_compiler_lock

    compiling = threading.Event()

    def compiles():
        with global_compiler_lock:
            compiling.set()
            sleep(0.2)

    thread = threading.Thread(target=compiles)
    thread.start()
    assert compiling.wait(PATIENCE)
    if (number := os.fork()) == 0:
        os._exit(not global_compiler_lock._lock.acquire(timeout=1))
    _, status = os.waitpid(number, 0)
    thread.join()
    assert status == 0
    assert global_compiler_lock._lock.acquire(timeout=1)  # nor is it kept here
    global_compiler_lock._lock.release()
