"""What `plan` takes on the way to its tables and panels: little, or the guard of memory is none.

And what happens where there is little memory: words, and the next best algorithm.
"""

import os
import re
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from cases import CASES as PLAIN
from cases import arrays
from effort import in_turns
from known_machine import SPEEDS

import convlab.backends
import convlab.machine.facts
from convlab import ALGORITHMS, ConvError, ConvProblem, UnsupportedError, WorkspaceError, plan
from convlab.auto import machine_file, shipped, speeds

pytestmark = pytest.mark.inside

TABLES = ("indirect", "precomputed_gemm")
SPECTRA = ("winograd_2x2", "winograd_4x4", "winograd_6x6", "fft", "fft_tiled")
PROBLEMS = {
    "large picture": ConvProblem(1, 300, 300, 4, 4, 3, 3, padding=1),
    "large filter": ConvProblem(1, 64, 64, 1, 1, 31, 31, padding=15),
    "tall filter": ConvProblem(2, 200, 120, 1, 1, 31, 1, padding=(15, 0)),
    "pointwise": ConvProblem(4, 200, 200, 1, 1, 1, 1),
    "many filters": ConvProblem(1, 14, 14, 256, 384, 3, 3, padding=1),
    "few filters": ConvProblem(1, 28, 28, 384, 16, 3, 3, padding=1),
    "groups": ConvProblem(1, 14, 14, 512, 256, 3, 3, groups=4, padding=1),
    "double precision": ConvProblem(1, 28, 28, 128, 96, 3, 3, padding=1, dtype="float64"),
}
CASES = [
    (algorithm, name)
    for algorithm in (*TABLES, *SPECTRA)
    for name, problem in PROBLEMS.items()
    if not ALGORITHMS[algorithm].supports(problem)
]


@in_turns
@pytest.mark.parametrize("backend", ["numpy", "cpu"])
@pytest.mark.parametrize(("algorithm", "name"), CASES)
def test_plan_takes_little_more_than_it_keeps(algorithm, name, backend):
    problem = PROBLEMS[name]
    w = arrays(problem)[1]
    small = ConvProblem(1, 5, 5, 2, 2, 3, 3, dtype=problem.dtype)
    plan(small, arrays(small)[1], algorithm=algorithm, backend=backend)  # imports what there is to import
    tracemalloc.start()
    try:
        cost = plan(problem, w, algorithm=algorithm, backend=backend).cost
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 1.5 * (cost.workspace_bytes + cost.packed_bytes) + (1 << 20)


# -- where there is little memory --------------------------------------------------------------------------

PROBLEM = PLAIN["plain"]
LAYER = ConvProblem(1, 200, 200, 64, 64, 3, 3, padding=1)  # an im2row matrix of 88 MiB


def test_when_what_was_tuned_does_not_fit_the_next_fastest_is_taken(monkeypatch, tmp_path):
    monkeypatch.setenv("CONVLAB_CACHE_DIR", str(tmp_path))
    machine_file.forget()
    try:
        machine_file.keep_speeds(SPEEDS)
        w = arrays(LAYER)[1]
        expected = plan(LAYER, w, backend="cpu").algorithm.name
        assert expected != "direct"
        machine_file.keep_tuned(LAYER, 1, {"im2row": 0.018, "im2col": 0.020})
        assert plan(LAYER, w, backend="cpu").algorithm.name == "im2row"
        monkeypatch.setattr(convlab.machine.facts, "memory_at_hand", lambda: 60 << 20)
        made = plan(LAYER, w, backend="cpu")  # neither of them: then what is predicted to be the fastest
        assert made.algorithm.name == expected
        assert (
            "the best that fits into the memory; im2row does not, though it was the fastest of 2" in made.why
        )
        machine_file.keep_tuned(LAYER, 1, {"im2row": 0.018, "indirect": 0.030, "implicit_gemm": 0.025})
        assert plan(LAYER, w, backend="cpu").algorithm.name == "implicit_gemm"  # of those measured
    finally:
        machine_file.forget()


def test_where_there_is_no_model_there_is_a_rule(monkeypatch):
    def missing(name):
        raise ConvError("data/speeds holds no speeds")

    monkeypatch.setattr(speeds, "kept_speeds", lambda: None)
    monkeypatch.setattr(shipped, "read", missing)
    machine_file.forget()
    try:
        made = plan(LAYER, arrays(LAYER)[1], backend="cpu")
        assert made.algorithm.name == "indirect"
        assert made.why == "it is the rule on backend 'cpu', for data/speeds holds no speeds"
    finally:
        machine_file.forget()


def test_an_array_that_the_system_does_not_give(monkeypatch):
    """Memory that seemed free when it was counted: words then, and the plan is as before."""
    x, w, _ = arrays(PROBLEM)
    prepared = plan(PROBLEM, w, algorithm="im2row", backend="numpy")
    expected = prepared(x)

    def refused(*arguments, **options):
        raise np._core._exceptions._ArrayMemoryError((1 << 40,), np.dtype(np.uint8))

    words = r"the system gave no more memory \(Unable to allocate 1\.00 TiB"
    for name in ("empty", "zeros"):
        monkeypatch.setattr(np, name, refused)
    with pytest.raises(WorkspaceError, match=words):
        prepared(x)
    with pytest.raises(WorkspaceError, match=words):
        prepared.resize(H=PROBLEM.H + 9)
    with pytest.raises(WorkspaceError, match=words):
        plan(PROBLEM, w, algorithm="im2row", backend="numpy")
    monkeypatch.undo()
    np.testing.assert_array_equal(prepared(x), expected)


@pytest.mark.parametrize("name", ["im2row", "im2col", "col2im"])
def test_a_matrix_that_the_system_does_not_give(name):
    large = ConvProblem(1, 1 << 20, 1 << 18, 8, 8, 3, 3)
    M, _, taps = large.gemm
    shape = (taps, M) if name == "col2im" else large.x_shape
    with pytest.raises(
        WorkspaceError, match=r"the system gave no more memory \(Unable to allocate \d+\.\d+ TiB"
    ):
        getattr(convlab, name)(np.broadcast_to(np.float32(0), shape), large)


@pytest.mark.parametrize("algorithm", ["im2row", "indirect", "winograd_4x4", "fft"])
@pytest.mark.parametrize("backend", ["numpy", "cpu"])
def test_other_weights_in_the_same_memory(algorithm, backend):
    """Turned filters, too, which lie in another order: each of them is its own numbers."""
    x, w, _ = arrays(PROBLEM)
    other = np.random.default_rng(7).standard_normal(w.shape[::-1]).astype(w.dtype).transpose()[:, ::-1, ::-1]
    first = plan(PROBLEM, w, algorithm=algorithm, backend=backend)
    y, second = first(x), first.with_weights(other)
    assert second.workspace is first.workspace
    copied = plan(PROBLEM, np.ascontiguousarray(other), algorithm=algorithm, backend=backend)
    np.testing.assert_array_equal(second(x), copied(x))
    np.testing.assert_array_equal(first(x), y)
    second.resize(N=2)  # with its own weights
    np.testing.assert_allclose(second(np.concatenate([x, x]))[1], copied(x)[0], rtol=1e-3, atol=1e-4)
    assert first.problem == PROBLEM


BROKEN = {
    "at odds with NumPy": ("ImportError('Numba needs NumPy 2.4 or less')", "Numba needs NumPy 2.4 or less"),
    "LLVM that does not load": ("OSError('Could not find libllvmlite.so')", "OSError: Could not find"),
    "half an installation": ("AttributeError('no attribute jit')", "AttributeError: no attribute jit"),
    "no memory": ("MemoryError()", "MemoryError"),
    "a part is missing": (
        "ModuleNotFoundError(\"No module named 'llvmlite'\")",
        "No module named 'llvmlite'",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_numba_that_is_broken_is_said_once_and_passed_over(monkeypatch, tmp_path, what):
    raised, words = BROKEN[what]
    (tmp_path / "numba.py").write_text(f"raise {raised}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    caches = convlab.backends.numba_trouble, convlab.backends._warn_of
    for cache in caches:
        cache.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match=f"cannot be used .*{words}.*takes 'numpy'") as caught:
            assert [plan(PROBLEM, arrays(PROBLEM)[1]).backend for _ in range(3)] == ["numpy"] * 3
        assert len(caught) == 1
        with pytest.raises(UnsupportedError, match=f"needs Numba .*{words}"):
            plan(PROBLEM, arrays(PROBLEM)[1], backend="cpu")
    finally:
        for cache in caches:
            cache.cache_clear()


LIMITED = """
import resource, sys, warnings
import numpy as np
import convlab
from convlab.machine.facts import memory_at_hand

free = memory_at_hand()
resource.setrlimit(getattr(resource, sys.argv[1]), (int(sys.argv[2]), -1))
assert memory_at_hand() < int(sys.argv[2]) < free
problem = convlab.ConvProblem(1, 512, 512, 64, 8, 3, 3, padding=1)  # an im2row matrix of 576 MiB
w = np.ones(problem.w_shape, np.float32)
try:
    convlab.plan(problem, w, algorithm="im2row", backend="numpy")
except convlab.WorkspaceError as error:
    assert "are free" in str(error), error  # found before anything was asked for
else:
    raise AssertionError("made")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    made = [convlab.plan(problem, w) for _ in range(2)]
print(made[0].backend, made[0].algorithm.name, *(str(one.message) for one in caught))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no /proc/self/statm")
@pytest.mark.parametrize(("limit", "size"), [("RLIMIT_AS", 200), ("RLIMIT_AS", 400), ("RLIMIT_DATA", 200)])
def test_ulimit_counts_as_memory(limit, size):
    """In 200 MB LLVM cannot be loaded, in 400 not compile: NumPy it is, with one line of why."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", LIMITED, limit, str(size << 20)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("numpy precomputed_gemm Numba cannot be used (")
    assert done.stdout.count("cannot be used") == 1
    assert re.search(r"ulimit leaves [0-9.]+ MiB; Numba takes 400 MiB", done.stdout)
