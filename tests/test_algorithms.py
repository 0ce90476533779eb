"""Every algorithm, on every backend, computes the same convolution."""

import os
import re
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from cases import CASES, FORMS, arrays, assert_close, problems, serving
from effort import examples, in_turns, sampled, share
from hypothesis import HealthCheck, given, seed, settings, strategies

import convlab
from convlab import ALGORITHMS, ConvProblem, conv2d, plan
from convlab.algorithms.spec import DIRECT_FLOPS
from convlab.cpu.jit import FAST
from convlab.errors import UnsupportedError
from convlab.oracle import reference, tolerance

form = pytest.mark.parametrize(("algorithm", "backend"), FORMS, ids=["-".join(f) for f in FORMS])
case = pytest.mark.parametrize("problem", CASES.values(), ids=CASES)


def close(y, x, w, problem, bias, algorithm):
    assert_close(y, x, w, problem, bias, algorithm, ALGORITHMS[algorithm].rounding)


@pytest.mark.workshop
def test_compiled_forms_allocate_nothing_inside():
    """No kernel's machine code calls Numba's allocator, or counts references to an array, which costs more.

    Checked in a fresh process that compiles all anew. It comes first: what it compiles is kept, and the tests
    below need not compile it again.
    """
    script = """
import gc, sys
import numpy as np, convlab
from numba.core.dispatcher import Dispatcher
from numba.core.types import Array
from numba.core.typing.templates import _OverloadFunctionTemplate

from convlab.cpu import jit
from convlab.cpu.kernel_cache import KernelCache

KernelCache.load_overload = lambda *_: None  # of machine code that was kept there is no assembly

problem = convlab.ConvProblem(2, 9, 7, 4, 6, 3, 3, stride=(2, 1), padding=1, groups=2)
SIZES = "3, 3", "1, 1", "7, 7, 2", "3, 3, groups=4"
OTHERS = [f"convlab.ConvProblem(1, 9, 7, 4, 4, {sizes})" for sizes in SIZES]
for problem in (problem, *map(eval, OTHERS)):
    x, w = np.ones(problem.x_shape, "f4"), np.ones(problem.w_shape, "f4")
    for name in sys.argv[1:]:
        if not convlab.ALGORITHMS[name].supports(problem):
            convlab.plan(problem, w, algorithm=name, backend="cpu")(x)

@jit.njit(cache=False)
def allocates(n):
    return np.zeros(n).sum()

allocates(3)
kernels = [k for k in gc.get_objects() if isinstance(k, Dispatcher) and k.signatures]
kernels = [k for k in kernels if k.py_func.__module__.startswith(("convlab", "__main__"))]
assert len(kernels) >= len(sys.argv) > 1, kernels
for kernel in kernels:
    assembly = "".join(kernel.inspect_asm().values())
    assert assembly, kernel
    for runtime in ("NRT_MemInfo_alloc", "NRT_"):  # the second begins the names of all it has
        assert (runtime in assembly) == (kernel is allocates), kernel.__name__
    # Numba keeps what it has compiled of its own functions for whoever calls them next. So one that returns
    # an array must not be compiled for a kernel that does not count.
    for compiled in kernel.overloads.values():
        types = compiled.type_annotation
        for call, signature in types.calltypes.items():
            if getattr(call, "op", "") == "call" and isinstance(signature.return_type, Array):
                templates = getattr(types.typemap[call.func.name], "templates", ())
                assert kernel is allocates or not any(
                    issubclass(one, _OverloadFunctionTemplate) for one in templates
                ), (kernel.__name__, call)
"""
    subprocess.run([sys.executable, "-c", script, *share(ALGORITHMS)], check=True)


@sampled(28)
@form
@case
def test_agrees_with_the_reference(algorithm, backend, problem):
    x, w, bias = arrays(problem)
    if ALGORITHMS[algorithm].supports(problem):
        with pytest.raises(UnsupportedError, match=re.escape(ALGORITHMS[algorithm].supports(problem))):
            plan(problem, w, bias, algorithm=algorithm, backend=backend)
        return
    for threads in (1, 2):
        prepared = plan(problem, w, bias, algorithm=algorithm, backend=backend, threads=threads)
        close(prepared(x), x, w, problem, bias, algorithm)


@sampled(0)
@form
@seed(2024)
@settings(
    max_examples=examples(150), deadline=None, derandomize=False, suppress_health_check=list(HealthCheck)
)
@given(data=strategies.data())
def test_agrees_on_random_problems(algorithm, backend, data):
    problem = data.draw(problems(algorithm))
    x, w, bias = arrays(problem, seed=problem.macs)
    y = plan(problem, w, bias, algorithm=algorithm, backend=backend)(x)
    close(y, x, w, problem, bias, algorithm)


@sampled(28)
@form
@case
def test_workspace_is_what_the_model_says(algorithm, backend, problem):
    if ALGORITHMS[algorithm].supports(problem):
        pytest.skip("not served")
    _, w, _ = arrays(problem)
    for threads in (1, 2):
        prepared = plan(problem, w, algorithm=algorithm, backend=backend, threads=threads)
        assert sum(a.nbytes for a in prepared.workspace.values()) == prepared.cost.workspace_bytes
        assert prepared.packed.nbytes == prepared.cost.packed_bytes
        assert not np.may_share_memory(prepared.packed, w)
        assert prepared.cost.flops == ALGORITHMS[algorithm].flops(problem)


@in_turns
@pytest.mark.inside
@form
def test_a_run_allocates_nothing_else(algorithm, backend):
    # Big enough that a hidden copy of x, of the matrix or of y would stand out from the noise.
    small = {"N": 1, "H": 12, "W": 10, "C": 4, "K": 6, "R": 3, "S": 3, "padding": 1}
    large = {"N": 2, "H": 40, "W": 37, "C": 16, "K": 12, "R": 3, "S": 3, "padding": 1, "groups": 2}
    problem = ConvProblem(**(small if (algorithm, backend) == ("direct", "numpy") else large))
    if ALGORITHMS[algorithm].supports(problem):
        first = {"groups": 1, "R": 5, "S": 5, "stride": 2, "K": 24}
        others = ({"groups": 1}, {"R": 1, "S": 1, "padding": 0}, {"groups": 16, "K": 32}, first)
        problem = serving(algorithm, [ConvProblem(**large | other) for other in others])[0]
    x, w, _ = arrays(problem)
    out = np.empty(problem.y_shape, problem.dtype)
    prepared = plan(problem, w, algorithm=algorithm, backend=backend)
    prepared(x, out)  # compiles
    tracemalloc.start()
    prepared(x, out)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # NumPy's iterators buffer 8192 numbers at a time; every array of this problem is larger than that.
    slack = 9000 * problem.itemsize
    assert peak < slack
    if (algorithm, backend) != ("direct", "numpy"):
        assert min(problem.x_bytes, problem.y_bytes) > slack


@in_turns
@pytest.mark.inside
@form
def test_reads_and_writes_only_its_own_arrays(algorithm, backend):
    """Arrays stand between canaries: NaN around x and w, a mark around y."""
    for problem in serving(algorithm, CASES.values()):
        x, w, _ = arrays(problem)

        def fenced(values, fill):
            fence = np.full(values.size + 256, fill, values.dtype)
            inner = fence[128:-128].reshape(values.shape)
            inner[...] = values
            return fence, inner

        _, x_in = fenced(x, np.nan)
        _, w_in = fenced(w, np.nan)
        fence, y = fenced(np.zeros(problem.y_shape, problem.dtype), 77)
        plan(problem, w_in, algorithm=algorithm, backend=backend)(x_in, y)
        close(y, x, w, problem, None, algorithm)
        assert (fence[:128] == 77).all()
        assert (fence[-128:] == 77).all()


@form
def test_a_plan_runs_again_and_again(algorithm, backend):
    problem = serving(algorithm, (CASES["padding on one side"], *CASES.values()))[0]
    _, w, _ = arrays(problem)
    prepared = plan(problem, w, algorithm=algorithm, backend=backend)
    out = np.full(problem.y_shape, np.nan, problem.dtype)
    for trial in range(3):
        x = arrays(problem, seed=trial)[0]
        assert prepared(x, out) is out
        close(out, x, w, problem, None, algorithm)


@in_turns
@pytest.mark.inside
@form
def test_scratch_is_what_a_run_writes_before_it_reads_it(algorithm, backend):
    """Spoiled between two runs it changes no bit of the answer; zeros that are no scratch do."""
    declared = ALGORITHMS[algorithm].forms[backend].scratch
    harmless, harmful = set(), set()
    for problem in serving(algorithm, CASES.values()):
        x, w, _ = arrays(problem)
        for threads in (1, 2) if backend == "cpu" else (1,):
            prepared = plan(problem, w, algorithm=algorithm, backend=backend, threads=threads)
            expected = prepared(x)
            for name, array in prepared.workspace.items():
                if name not in declared and array.dtype.kind != "f":
                    continue  # a table: wrong places may lie outside of x
                kept = array.copy()
                array[...] = np.nan if array.dtype.kind == "f" else 0
                (harmless if np.array_equal(prepared(x), expected) else harmful).add(name)
                array[...] = kept
    assert harmful.isdisjoint(declared)
    assert harmless - harmful == set(declared), "what no run reads before it writes is declared"


@sampled(5)
@form
def test_inputs_of_every_kind(algorithm, backend):
    problem = serving(algorithm, (CASES["different strides"], *CASES.values()))[0]
    x, w, bias = arrays(problem)
    names = ("stride", "padding", "dilation", "groups")
    parameters = {name: getattr(problem, name) for name in names}
    strided = np.zeros((1, problem.H * 2, problem.W, problem.C * 2), "f4")[:, ::2, :, ::2]
    strided[...] = x
    backwards = x[:, ::-1].copy()[:, ::-1]
    frozen_x, frozen_w = x.copy(), np.asfortranarray(w)
    frozen_x.flags.writeable = frozen_w.flags.writeable = False
    for view in (strided, backwards, frozen_x, x.transpose(0, 2, 1, 3).copy().transpose(0, 2, 1, 3)):
        y = conv2d(view, frozen_w, bias, algorithm=algorithm, backend=backend, **parameters)
        close(y, x, w, problem, bias, algorithm)
        np.testing.assert_array_equal(view, x)


@form
def test_nan_and_infinity_go_where_ieee_sends_them(algorithm, backend):
    if ALGORITHMS[algorithm].mixing:
        pytest.skip("does not claim so")
    plain = ConvProblem(1, 6, 5, 2, 3, 3, 3)
    problem = serving(
        algorithm, [plain, ConvProblem(1, 6, 5, 2, 3, 1, 1), ConvProblem(1, 6, 5, 2, 2, 3, 3, groups=2)]
    )[0]
    x, w, _ = arrays(problem)
    x[0, 2, 2, 1], x[0, 5, 4, 0] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        y = conv2d(x, w, groups=problem.groups, algorithm=algorithm, backend=backend)
        expected = reference(x, w, problem)
    np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(y), np.isinf(expected))


@case
def test_scipy_agrees_with_the_reference(problem):
    from scipy.signal import correlate

    x, w, bias = (a.astype(np.float64) for a in arrays(problem))
    padded = np.pad(x, ((0, 0), *problem.padding, (0, 0)))
    holes = np.zeros((problem.K, *problem.extent, w.shape[3]))  # a dilated filter is one with holes
    holes[:, :: problem.dilation[0], :: problem.dilation[1]] = w
    y = np.empty(problem.y_shape)
    per_group = problem.C // problem.groups
    for n in range(problem.N):
        for k in range(problem.K):
            first = k // (problem.K // problem.groups) * per_group
            image = padded[n, :, :, first : first + per_group]
            full = correlate(image, holes[k], mode="valid", method="direct")[..., 0]
            y[n, :, :, k] = full[:: problem.stride[0], :: problem.stride[1]] + bias[k]
    np.testing.assert_allclose(reference(x, w, problem, bias), y, rtol=0, atol=1e-12)


@case
def test_torch_agrees_with_the_reference(problem):
    torch = pytest.importorskip("torch", reason="PyTorch, an optional oracle, is not installed")
    x, w, bias = (torch.from_numpy(a.astype(np.float64)) for a in arrays(problem))
    (top, bottom), (left, right) = problem.padding
    padded = torch.nn.functional.pad(x.permute(0, 3, 1, 2), (left, right, top, bottom))
    y = torch.nn.functional.conv2d(
        padded,
        w.permute(0, 3, 1, 2),
        bias,
        stride=problem.stride,
        dilation=problem.dilation,
        groups=problem.groups,
    )
    expected = reference(*(a.numpy() for a in (x, w)), problem, bias.numpy())
    np.testing.assert_allclose(y.permute(0, 2, 3, 1).numpy(), expected, rtol=0, atol=1e-12)


def test_the_tolerance_catches_a_lost_tap():
    """A limit that lets wrong answers through would be no limit."""
    for problem in CASES.values():
        x, w, _ = arrays(problem)
        y = reference(x, w, problem)
        clipped = w.copy()
        clipped[:, -1, -1, -1] = 0
        lost = np.abs(y - reference(x, clipped, problem)).max()
        assert lost == 0 or lost > 10 * tolerance(x, w, problem)


def test_the_tolerance_is_pinned():
    """On numbers of size 1: eight roundings of a sum of n terms, which is about sqrt(n) itself."""
    problem = CASES["plain"]
    ones = np.ones(problem.x_shape, "f4"), np.ones(problem.w_shape, "f4")
    assert tolerance(*ones, problem) == pytest.approx(8 * 2**-23 * problem.gemm[2])


def test_fast_arithmetic_keeps_nan_and_infinity():
    assert {"reassoc", "contract"} == FAST


def test_costs_are_exact_beyond_floats():
    problem = ConvProblem(1_000_001, 999, 997, 3 * 31, 3 * 37, 5, 7, padding=(2, 3), groups=3)
    assert problem.flops > 2**53
    for algorithm in ALGORITHMS.values():
        if algorithm.flops is DIRECT_FLOPS and not algorithm.supports(problem):
            assert algorithm.flops(problem) == problem.flops


@in_turns
@pytest.mark.inside
def test_a_changed_tile_is_not_hidden_by_the_cache(tmp_path):
    """Kernels are cached on disk; an edit of what they call must reach the next process."""
    package = tmp_path / "convlab"
    shutil.copytree(Path(convlab.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    script = (
        "import numpy as np, convlab; x = np.ones((1, 4, 4, 1), 'f4'); w = np.ones((1, 3, 3, 1), 'f4')\n"
        "print(convlab.conv2d(x, w, algorithm='im2row', backend='cpu').ravel())"
    )

    def run():
        command = [sys.executable, "-c", script]
        options = {"env": environment, "cwd": tmp_path, "capture_output": True, "text": True}
        return subprocess.run(command, check=True, **options).stdout

    assert run() == "[9. 9. 9. 9.]\n"
    kernels = sorted((tmp_path / "cache").rglob("*.nbc"))
    assert run() == "[9. 9. 9. 9.]\n"
    assert sorted((tmp_path / "cache").rglob("*.nbc")) == kernels  # found again, not compiled again
    called = package / "cpu" / "copy_run.py"
    called.write_text(called.read_text().replace("to, source_, args[4]", "to, source_, args[4].type(0)"))
    assert run() == "[0. 0. 0. 0.]\n"  # copy_run now copies nothing
