"""What only a GPU can show: every algorithm on it, arrays of other libraries, and what is refused there.

    python -m pytest -m gpu

needs Numba, pytest, hypothesis and SciPy; PyTorch and CuPy where they are installed.
"""

import numpy as np
import pytest
from cases import CASES, arrays, assert_close
from test_gradients import TABLES, by_definition, check, made, operands

from convlab import (
    ALGORITHMS,
    ArrayError,
    ConvProblem,
    ShapeError,
    WorkspaceError,
    bgrad,
    conv2d,
    plan,
    plan_dgrad,
    plan_wgrad,
    wgrad,
)
from convlab.algorithms.tensor_core import KINDS, rounded, tensor_core
from convlab.benchmark import device_roofline
from convlab.benchmark.gpu.ladders import ladders
from convlab.gpu.device import gpu_trouble
from convlab.machine.cuda_driver import find_gpus
from convlab.oracle import reference, tolerance

TROUBLE = gpu_trouble()  # without a GPU the driver says so, and Numba is not even imported
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(bool(TROUBLE), reason=str(TROUBLE))]

# Each kernel of each ladder, by its name there; a ladder is not even imported where none can run.
RUNGS = {} if TROUBLE else {name: one for ladder in ladders() for name, one in ladder.rungs().items()}
FORMS = [name for name, algorithm in ALGORITHMS.items() if "gpu" in algorithm.forms]
LAYERS = {
    "56x56": ConvProblem(2, 56, 56, 64, 64, 3, 3, padding=1),
    "strided": ConvProblem(3, 57, 43, 32, 96, 3, 3, stride=2, padding=1),
    "first": ConvProblem(2, 112, 96, 3, 64, 7, 7, stride=2, padding=3),
    "pointwise": ConvProblem(2, 28, 28, 128, 256, 1, 1),
    "depthwise": ConvProblem(2, 56, 40, 96, 96, 3, 3, padding=1, groups=96),
    "large picture": ConvProblem(1, 700, 900, 1, 1, 7, 7, padding=3),
    "many channels": ConvProblem(1, 7, 7, 512, 512, 3, 3, padding=1),
}


def close(y, x, w, problem, bias, algorithm):
    assert_close(y, x, w, problem, bias, algorithm, ALGORITHMS[algorithm].rounding)


# -- every algorithm ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", FORMS)
@pytest.mark.parametrize("layer", LAYERS)
def test_layers_of_real_size(algorithm, layer):
    """Many blocks, whole tiles and their tails: what the lane simulator would take hours for."""
    problem = LAYERS[layer]
    if ALGORITHMS[algorithm].supports(problem):
        pytest.skip("not served")
    x, w, _ = arrays(problem)
    prepared = plan(problem, w, algorithm=algorithm, backend="gpu")
    first = prepared(x)
    close(first, x, w, problem, None, algorithm)
    np.testing.assert_array_equal(prepared(x), first)  # what was in the workspace changes nothing


@pytest.mark.parametrize("inputs", KINDS)
@pytest.mark.parametrize("layer", LAYERS)
def test_tensor_cores(inputs, layer):
    """Held against the reference of the rounded numbers: then only the sums in float32 are left."""
    problem = LAYERS[layer]
    x, w, _ = arrays(problem)
    y = plan(problem, w, algorithm=tensor_core(inputs), backend="gpu")(x)
    seen = rounded(x, inputs), rounded(w, inputs)
    assert np.abs(y - reference(*seen, problem)).max() <= tolerance(*seen, problem)


@pytest.mark.parametrize("algorithm", FORMS)
@pytest.mark.parametrize("case", CASES)
def test_case_table(algorithm, case):
    problem = CASES[case]
    if ALGORITHMS[algorithm].supports(problem):
        pytest.skip("not served")
    x, w, bias = arrays(problem)
    close(plan(problem, w, bias, algorithm=algorithm, backend="gpu")(x), x, w, problem, bias, algorithm)


@pytest.mark.parametrize("inputs", KINDS)
def test_case_table_on_tensor_cores(inputs):
    algorithm = tensor_core(inputs)
    for case, problem in served(algorithm).items():
        x, w, bias = arrays(problem)
        y = plan(problem, w, bias, algorithm=algorithm, backend="gpu")(x)
        assert_close(y, rounded(x, inputs), rounded(w, inputs), problem, bias, f"{inputs}, {case}")


@pytest.mark.parametrize("rung", RUNGS)
def test_case_table_on_every_rung(rung):
    algorithm = RUNGS[rung]
    for case, problem in served(algorithm).items():
        x, w, bias = arrays(problem)
        y = plan(problem, w, bias, algorithm=algorithm, backend="gpu")(x)
        assert_close(y, x, w, problem, bias, f"{rung}, {case}", algorithm.rounding)


def served(algorithm):
    """Return those of the table that an algorithm serves; there is one."""
    found = {case: problem for case, problem in CASES.items() if not algorithm.supports(problem)}
    assert found
    return found


@pytest.mark.parametrize("algorithm", FORMS)
def test_workspace_is_what_the_model_says(algorithm):
    for problem in (*LAYERS.values(), *CASES.values()):
        if not ALGORITHMS[algorithm].supports(problem):
            prepared = plan(problem, arrays(problem)[1], algorithm=algorithm, backend="gpu")
            taken = sum(array.nbytes for array in prepared.workspace.values())
            assert taken == prepared.cost.workspace_bytes
            assert prepared.packed.nbytes == prepared.cost.packed_bytes


@pytest.mark.parametrize("algorithm", FORMS)
def test_resize(algorithm):
    for problem in LAYERS.values():
        if not ALGORITHMS[algorithm].supports(problem):
            _, w, bias = arrays(problem)
            prepared = plan(problem, w, bias, algorithm=algorithm, backend="gpu")
            prepared.resize(N=1, H=problem.H + 5)
            x = arrays(prepared.problem)[0]
            close(prepared(x), x, w, prepared.problem, bias, algorithm)


# -- the gradients -----------------------------------------------------------------------------------------

GRADIENTS = [(which, name) for which, table in TABLES.items() for name in table if "gpu" in table[name].forms]
gradient = pytest.mark.parametrize(
    ("which", "algorithm"), GRADIENTS, ids=["-".join(one) for one in GRADIENTS]
)


@gradient
@pytest.mark.parametrize("layer", LAYERS)
def test_gradients_of_layers_of_real_size(which, algorithm, layer):
    """As by definition, and the same bits whatever lies in the workspace."""
    problem = LAYERS[layer]
    if TABLES[which][algorithm].supports(problem):
        pytest.skip("not served")
    check(which, problem, algorithm=algorithm, backend="gpu")
    (one, other), _ = operands(which, problem)
    if which == "dgrad":
        prepared, given = plan_dgrad(problem, other, algorithm=algorithm, backend="gpu"), (one,)
    else:
        prepared, given = plan_wgrad(problem, algorithm=algorithm, backend="gpu"), (one, other)
    assert len({prepared(*given).tobytes() for _ in range(3)}) == 1
    copies = problem.w_bytes if which == "dgrad" else 0
    taken = sum(array.nbytes for array in prepared.workspace.values())
    assert taken + copies == prepared.cost.workspace_bytes


@gradient
def test_gradients_over_the_case_table(which, algorithm):
    for problem in served(TABLES[which][algorithm]).values():
        check(which, problem, algorithm=algorithm, backend="gpu")


def test_gradients_of_arrays_of_the_device(library):
    put, get = library
    x, w, dy = made(PROBLEM)
    dx, dw = by_definition(PROBLEM, x, w, dy)
    out = put(np.full(PROBLEM.w_shape, np.nan, "f4"))
    assert wgrad(PROBLEM, put(x), put(dy), backend="gpu", out=out) is out
    np.testing.assert_allclose(get(out), dw, atol=2e-2)
    prepared = plan_dgrad(PROBLEM, w, backend="gpu")
    prepared.update(put(2 * w))
    np.testing.assert_allclose(prepared(put(dy)).copy_to_host(), 2 * dx, atol=1e-2)
    np.testing.assert_array_equal(bgrad(put(dy)).copy_to_host(), bgrad(dy))


# -- arrays of other libraries -----------------------------------------------------------------------------


def numba_arrays():
    from convlab.gpu.numba_cuda import cuda

    return cuda.to_device, lambda array: array.copy_to_host()


def torch_arrays():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch finds no GPU")
    return lambda array: torch.from_numpy(array).cuda(), lambda tensor: tensor.cpu().numpy()


def cupy_arrays():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    return cupy.asarray, cupy.asnumpy


LIBRARIES = {"numba": numba_arrays, "torch": torch_arrays, "cupy": cupy_arrays}


@pytest.fixture(params=LIBRARIES)
def library(request):
    """Return (put, get) of a library: to the device, and back."""
    return LIBRARIES[request.param]()


def address(array):
    return array.__cuda_array_interface__["data"][0]


PROBLEM = LAYERS["strided"]


def test_arrays_of_the_device_go_in_and_come_out(library):
    put, get = library
    x, w, bias = arrays(PROBLEM)
    prepared = plan(PROBLEM, put(w), put(bias), backend="gpu")
    y = prepared(put(x))
    assert address(y)
    assert_close(y.copy_to_host(), x, w, PROBLEM, bias)
    out = put(np.full(PROBLEM.y_shape, np.nan, "f4"))
    before = address(out)
    assert prepared(put(x), out) is out
    assert address(out) == before
    assert_close(get(out), x, w, PROBLEM, bias)
    y = conv2d(put(x), put(w), put(bias), stride=2, padding=1, backend="gpu")
    assert_close(y.copy_to_host(), x, w, PROBLEM, bias)


def test_the_result_can_be_used_by_other_libraries():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch finds no GPU")
    x, w, _ = arrays(PROBLEM)
    y = plan(PROBLEM, w, backend="gpu")(torch.from_numpy(x).cuda())
    seen = torch.as_tensor(y, device="cuda")
    assert seen.data_ptr() == address(y)
    assert_close(seen.cpu().numpy(), x, w, PROBLEM)


@pytest.mark.parametrize("algorithm", ["implicit_gemm", "fft"])
def test_a_call_is_in_order_with_a_side_stream_of_pytorch(algorithm):
    """There x is written late; then, at once, y is read and x is written over."""
    put, get = torch_arrays()
    import torch

    problem, side = LAYERS["56x56"], torch.cuda.Stream()
    x, w, _ = arrays(problem)
    prepared, source, there = plan(problem, w, algorithm=algorithm, backend="gpu"), put(x), put(0 * x)
    prepared(source)  # compiled, so that the calls below lie close together
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(100_000_000)  # cycles
        there.copy_(source)
        y = torch.as_tensor(prepared(there), device="cuda").clone()
        there.zero_()
    side.synchronize()
    close(get(y), x, w, problem, None, algorithm)


def test_arrays_of_the_device_are_not_changed(library):
    put, get = library
    x, w, _ = arrays(PROBLEM)
    there = put(x)
    plan(PROBLEM, w, backend="gpu")(there)
    np.testing.assert_array_equal(get(there), x)


def test_numpy_arrays_on_both_sides():
    x, w, bias = arrays(PROBLEM)
    out = np.full(PROBLEM.y_shape, np.nan, "f4")
    assert conv2d(x, w, bias, stride=2, padding=1, backend="gpu", out=out) is out
    assert_close(out, x, w, PROBLEM, bias)


# -- what is refused ---------------------------------------------------------------------------------------


def test_wrong_arrays_of_the_device(library):
    put, _ = library
    x, w, _ = arrays(PROBLEM)
    prepared, out = plan(PROBLEM, w, backend="gpu"), put(np.zeros(PROBLEM.y_shape, "f4"))
    with pytest.raises(ShapeError, match=r"axis 0 is 1 instead of 3; plan.resize"):
        prepared(put(x[:1].copy()))
    with pytest.raises(ArrayError, match="x has dtype float64"):
        prepared(put(x.astype("f8")))
    with pytest.raises(ArrayError, match="x has strides"):
        prepared(put(np.repeat(x, 2, axis=2))[:, :, ::2])
    with pytest.raises(ArrayError, match="expected both on one side"):
        prepared(put(x), np.zeros(PROBLEM.y_shape, "f4"))
    with pytest.raises(ArrayError, match="expected both on one side"):
        prepared(x, out)
    with pytest.raises(ArrayError, match="it lies on a GPU, where backend='gpu' runs"):
        conv2d(put(x), w)
    square = ConvProblem(1, 8, 8, 4, 4, 1, 1)
    there = put(arrays(square)[0])
    with pytest.raises(ArrayError, match="out shares memory with x"):
        plan(square, arrays(square)[1], backend="gpu")(there, there)


def test_a_tensor_that_keeps_gradients_is_refused():
    put, _ = torch_arrays()
    x, w, _ = arrays(PROBLEM)
    with pytest.raises(ArrayError, match="requires grad"):
        plan(PROBLEM, w, backend="gpu")(put(x).requires_grad_())


def test_an_array_of_another_device_is_refused():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one GPU")
    x, w, _ = arrays(PROBLEM)
    with pytest.raises(ArrayError, match="x lies on another device"):
        plan(PROBLEM, w, backend="gpu")(torch.from_numpy(x).to("cuda:1"))


def test_what_does_not_fit_on_the_device_is_refused_before_anything_is_taken():
    from convlab.gpu.device import Gpu

    whole = find_gpus()[0].memory  # what is free changes: other tests run at the same time
    images = whole // (64 * 64 * 64 * 4) + 1  # as many as would fill it with y alone
    problem = ConvProblem(images, 64, 64, 1, 64, 1, 1)
    with pytest.raises(WorkspaceError, match=r"of device memory are free; .*make the batch N smaller"):
        plan(problem, np.ones(problem.w_shape, "f4"), backend="gpu")
    with pytest.raises(WorkspaceError, match="the GPU has no room for another"):
        Gpu().empty(whole + (1 << 30), np.uint8)
    assert 0 < Gpu().free() < whole


# -- the kernels of the benchmark --------------------------------------------------------------------------


def test_the_clock_and_the_roofs():
    """They are positive, and no more than any machine could have: a clock of another unit would show."""
    from convlab.benchmark.gpu import roofs
    from convlab.benchmark.gpu.clock import EventClock
    from tools.bench_gpu.facts import gpu_facts

    found = roofs.measure(EventClock(), gpu_facts()["multiprocessors"], rounds=3)
    assert 1e10 < found.flops < 1e16
    assert 1e9 < found.copy < 1e14
    assert found.copy < 4 * found.l2
    assert 1e-8 < found.empty < 1e-3


def test_a_notebook_draws_the_roofs_of_this_gpu():
    source, line = device_roofline()
    assert source.startswith("measured here")
    assert 1e10 < line.adds.rate < 1e16
    assert [roof.name for roof in line.memories] == ["L2", "memory"]
