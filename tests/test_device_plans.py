"""Plans on a device, in the lane simulator: arrays of both sides, memory, and what is refused."""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from cases import CASES, arrays, assert_close
from device_tools import Counting, Held, aligned, held
from effort import in_turns, sampled
from test_gpu_algorithms import FORMS

import convlab.machine.facts
from convlab import ALGORITHMS, ArrayError, ConvError, ConvProblem, ShapeError, WorkspaceError, conv2d, plan
from convlab.algorithms.tensor_core import KINDS, tensor_core
from convlab.gpu.device import Gpu, simulated, using
from convlab.gpu.simulated_gpu import Simulator
from convlab.gradients.api import bgrad, dgrad, wgrad
from convlab.gradients.transposed import conv_transpose2d
from convlab.machine import cuda_driver

PROBLEM = ConvProblem(2, 6, 7, 4, 6, 3, 5)
X, W, BIAS = arrays(PROBLEM)
Y = PROBLEM.y_shape


class Gradients:
    """A tensor that keeps gradients."""

    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad.")


# -- arrays of both sides ----------------------------------------------------------------------------------


def test_device_arrays_go_in_and_come_out_without_a_copy():
    x, out, device = held(X), held(np.zeros(Y, "f4")), Counting()
    with using(device):
        prepared = plan(PROBLEM, held(W), held(BIAS), backend="gpu", algorithm="direct")
        with device.counted() as into_out:
            assert prepared(x, out) is out
        with device.counted() as new:
            y = prepared(x)
        assert_close(conv2d(x, held(W), held(BIAS), algorithm="direct", backend="gpu"), X, W, PROBLEM, BIAS)
    assert into_out["bytes"] == 0
    assert new["bytes"] == PROBLEM.y_bytes
    assert_close(y, X, W, PROBLEM, BIAS)
    np.testing.assert_array_equal(out.array, y)


def test_numpy_arrays_go_in_and_come_out():
    out = np.full(Y, np.nan, "f4")
    with simulated():
        prepared = plan(PROBLEM, W, BIAS, backend="gpu", algorithm="direct")
        assert prepared(X[:, ::-1].copy()[:, ::-1], out) is out
        y = conv2d(X, W, BIAS, backend="gpu", threads=2)
    assert_close(out, X, W, PROBLEM, BIAS)
    assert_close(y, X, W, PROBLEM, BIAS)


def test_a_plan_keeps_its_device():
    with simulated() as device:
        prepared = plan(PROBLEM, W, BIAS, backend="gpu", algorithm="direct")
    assert prepared.device is device
    assert_close(prepared(X), X, W, PROBLEM, BIAS)
    assert len(device.traces) == 2  # the convolution, then the bias
    prepared.resize(N=1, H=9)
    assert_close(prepared(CHANGED), CHANGED, W, prepared.problem, BIAS)


@sampled(3)
@pytest.mark.parametrize("algorithm", FORMS)
def test_others_made_of_a_plan_keep_its_device(algorithm):
    problem = next(one for one in SMALL if not ALGORITHMS[algorithm].supports(one))
    x, w, bias = arrays(problem)
    with simulated():
        prepared = plan(problem, w, bias, backend="gpu", algorithm=algorithm)
    rounding = ALGORITHMS[algorithm].rounding
    assert_close(prepared.twin()(x), x, w, problem, bias, rounding=rounding)
    for other in w + 1, held(w + 1):
        assert_close(prepared.with_weights(other)(x), x, w + 1, problem, bias, rounding=rounding)
    assert_close(prepared(x), x, w, problem, bias, rounding=rounding)
    with pytest.raises(ShapeError, match="w has shape"):
        prepared.with_weights(held(w[:1].copy()))


CHANGED = np.random.default_rng(1).standard_normal((1, 9, 7, 4)).astype("f4")


SMALL = [
    ConvProblem(1, 5, 4, 4, 6, 3, 3, padding=1),
    ConvProblem(1, 5, 4, 4, 4, 3, 3, padding=1, groups=4),
    ConvProblem(1, 5, 4, 4, 6, 1, 1),
    ConvProblem(1, 5, 4, 4, 6, 5, 4, padding=2, stride=2),
]
EVERY = [*(ALGORITHMS[name] for name in FORMS), *map(tensor_core, KINDS)]


@sampled(3)
@pytest.mark.parametrize("algorithm", EVERY, ids=lambda one: one.name)
def test_no_copy_is_made_and_another_size_is_served(algorithm):
    problem = next(one for one in SMALL if not algorithm.supports(one))
    x, w, bias = arrays(problem)
    out = held(np.full(problem.y_shape, np.nan, x.dtype))
    with using(Counting()) as device:
        prepared = plan(problem, held(w), held(bias), algorithm=algorithm, backend="gpu")
        with device.counted() as run:
            assert prepared(held(x), out) is out
        assert run["bytes"] == 0
        assert_close(out.array, x, w, problem, bias, rounding=algorithm.rounding)
        prepared.resize(N=2, H=problem.H + 3)
        problem = prepared.problem
        x = arrays(problem)[0]
        assert_close(prepared(x), x, w, problem, bias, rounding=algorithm.rounding)


MALFORMED = {
    "no dict": None,
    "a list": [],
    "no shape": {"shape": None},
    "a size that is no integer": {"shape": (2, 6, 7, 4.0)},
    "a size below zero": {"shape": (2, 6, 7, -4)},
    "no type": {"typestr": None},
    "a type that there is not": {"typestr": "nonsense"},
    "an address alone": {"data": 4096},
    "no address": {"data": ("4096", False)},
    "an address below zero": {"data": (-16, False)},
    "strides of another length": {"strides": (4,)},
    "strides that are none": {"strides": 7},
}


@pytest.mark.parametrize("changes", MALFORMED.values(), ids=MALFORMED)
def test_what_describes_itself_wrongly_is_refused(changes):
    whole = changes is None or isinstance(changes, list)
    x = SimpleNamespace(__cuda_array_interface__=changes) if whole else held(X, **changes)
    with (
        simulated(),
        pytest.raises(ArrayError, match=r"^x has a __cuda_array_interface__ .* expected a dict"),
    ):
        conv2d(x, W, backend="gpu", algorithm="direct")


# -- memory ------------------------------------------------------------------------------------------------


BIG = ConvProblem(1, 512, 512, 64, 8, 3, 3, padding=1)


def test_what_does_not_fit_is_refused_before_anything_is_taken(monkeypatch):
    w, device = np.ones(BIG.w_shape, "f4"), Counting()
    needed = ALGORITHMS["direct"].cost(BIG, "gpu").packed_bytes + BIG.y_bytes
    monkeypatch.setattr(convlab.machine.facts, "memory_at_hand", lambda: 1 << 60)
    with using(device):
        monkeypatch.setattr(device, "free", lambda: needed)
        plan(BIG, w, algorithm="direct", backend="gpu")
        monkeypatch.setattr(device, "free", lambda: needed - 1)
        with device.counted() as taken, pytest.raises(WorkspaceError) as caught:
            plan(BIG, w, algorithm="direct", backend="gpu")
        assert taken["bytes"] == 0
        assert re.search(r"needs 8\.02 MiB \(.*output 8\.00 MiB\) and .* of device memory", str(caught.value))
        assert "make the picture, or its padding, smaller" in str(caught.value)
        x = np.ones(BIG.x_shape, "f4")
        with pytest.raises(WorkspaceError, match=r"a copy of x 64\.0 MiB") as caught:
            conv2d(x, w, padding=1, algorithm="direct", backend="gpu")
        assert "output 8.00 MiB" in str(caught.value)
        with monkeypatch.context() as patch:  # what is there already takes nothing; another size may
            patch.setattr(device, "free", lambda: needed)
            prepared = plan(BIG, w, algorithm="direct", backend="gpu")
            with pytest.raises(WorkspaceError, match="of device memory are free"):
                prepared.resize(N=2)
            assert prepared.problem == BIG


# -- what is refused ---------------------------------------------------------------------------------------

# name: (error, words of the message, arguments of conv2d that are not the usual)
REFUSED = {
    "x of another dtype": (
        ArrayError,
        ["x has dtype float16", "float32"],
        lambda: {"x": held(X.astype("f2"))},
    ),
    "x byte-swapped": (ArrayError, ["byte-swapped float32"], lambda: {"x": held(X.astype(">f4"))}),
    "x of five axes": (ShapeError, ["x has 5 axes"], lambda: {"x": held(X[None])}),
    "x empty": (ShapeError, ["x has N=0"], lambda: {"x": held(X[:0])}),
    "x with gaps": (
        ArrayError,
        ["x has strides", "C-contiguous"],
        lambda: {"x": Held(aligned((2, 12, 7, 4))[:, ::2])},
    ),
    "x of PyTorch's order": (
        ArrayError,
        ["x has strides", "no copy is made unasked"],
        lambda: {"x": Held(aligned((2, 4, 6, 7)).transpose(0, 2, 3, 1))},
    ),
    "x askew": (
        ArrayError,
        ["x begins 4 bytes after a multiple of 16"],
        lambda: {"x": Held(aligned(X.shape, at=4))},
    ),
    "x with a mask": (ArrayError, ["x has a mask"], lambda: {"x": held(X, mask=held(X))}),
    "x with gradients": (ArrayError, ["x is a Gradients", "requires grad"], lambda: {"x": Gradients()}),
    "x a list": (ArrayError, ["x is a list", "NumPy array"], lambda: {"x": X.tolist()}),
    "w of another dtype": (ArrayError, ["w has dtype float64"], lambda: {"w": held(W.astype("f8"))}),
    "w with gaps": (ArrayError, ["w has strides"], lambda: {"w": Held(aligned((12, 3, 5, 4))[::2])}),
    "w with other channels": (ShapeError, ["w has 3 input channels"], lambda: {"w": held(W[..., :3])}),
    "bias too long": (ShapeError, ["bias has shape (7,)"], lambda: {"bias": held(np.zeros(7, "f4"))}),
    "bias a number": (ArrayError, ["bias is a float"], lambda: {"bias": 1.0}),
    "out on the other side": (
        ArrayError,
        ["out is a ndarray, and x lies on a device"],
        lambda: {"out": np.zeros(Y, "f4")},
    ),
    "x on the other side": (
        ArrayError,
        ["out lies on a device, and x is a NumPy array"],
        lambda: {"x": X, "out": held(np.zeros(Y, "f4"))},
    ),
    "out of another shape": (
        ShapeError,
        ["out has shape (1, 4, 3, 6)", "axis 0 is 1 instead of 2"],
        lambda: {"out": held(np.zeros((1, *Y[1:]), "f4"))},
    ),
    "out of another dtype": (ArrayError, ["out has dtype float64"], lambda: {"out": held(np.zeros(Y))}),
    "out read-only": (
        ArrayError,
        ["out is read-only"],
        lambda: {"out": held(np.zeros(Y, "f4"), data=(64, True))},
    ),
    "out with gaps": (ArrayError, ["out has strides"], lambda: {"out": Held(aligned((4, *Y[1:]))[::2])}),
    "out a list": (ArrayError, ["out is a list"], lambda: {"out": []}),
}


@pytest.mark.parametrize(("error", "words", "changes"), REFUSED.values(), ids=REFUSED)
def test_refused(error, words, changes):
    given = {"x": held(X), "w": held(W), "bias": held(BIAS)} | changes()
    device = Counting()
    with using(device), pytest.raises(error) as caught:
        conv2d(given.pop("x"), given.pop("w"), given.pop("bias"), backend="gpu", **given)
    assert isinstance(caught.value, ConvError)
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)
    assert device.taken == 0


def test_an_array_of_another_device_is_refused(monkeypatch):
    x = held(X)
    with simulated() as device:
        prepared = plan(PROBLEM, W, backend="gpu", algorithm="direct")
        there = x.__cuda_array_interface__["data"][0]
        monkeypatch.setattr(device, "holds", lambda pointer: pointer != there)
        for run in (lambda: prepared(x), lambda: conv2d(x, W, backend="gpu")):
            with pytest.raises(ArrayError, match="x lies on another device"):
                run()


@pytest.mark.parametrize("algorithm", FORMS)
def test_out_may_not_share_memory_with_anything(algorithm):
    problem = next(one for one in CASES.values() if not ALGORITHMS[algorithm].supports(one))
    _, w, bias = arrays(problem)
    size, out = problem.itemsize, np.zeros(problem.y_shape, problem.dtype)
    x = held(np.zeros(problem.x_shape, problem.dtype))
    first = x.__cuda_array_interface__["data"][0]
    with simulated():
        prepared = plan(problem, w, bias, backend="gpu", algorithm=algorithm)
        last = first + problem.x_bytes - size
        before = -(-(first - problem.y_bytes + size) // 16) * 16  # its last number may be x's first
        for start in {first, last // 16 * 16, before}:
            if start + problem.y_bytes > first:
                with pytest.raises(ArrayError, match="out shares memory with x"):
                    prepared(x, held(out, data=(start, False)))
        others = {"packed": prepared.packed, "bias": prepared.bias, **prepared.workspace}
        begins = {name: array.__array_interface__["data"][0] for name, array in others.items()}
        for start in begins.values():
            if start % 16 == 0:  # they may be neighbours: out lies on several then, and one of them is named
                ends = start + problem.y_bytes
                met = [name for name, at in begins.items() if start < at + others[name].nbytes and at < ends]
                with pytest.raises(ArrayError, match=f"out shares memory with ({'|'.join(met)});"):
                    prepared(x, held(out, data=(start, False)))


def test_what_is_added_may_not_be_written_over():
    """On a device y is complete before anything is added to it."""
    residual = held(np.zeros(Y, "f4"))
    with simulated():
        adds = plan(PROBLEM, W, BIAS, backend="gpu", algorithm="direct", epilogue="add")
        with pytest.raises(ArrayError, match="out shares memory with residual"):
            adds(held(X), residual, residual=residual)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (X[:1], ["x has shape (1, 6, 7, 4)", "axis 0 is 1 instead of 2", "plan.resize(N=1, H=6, W=7)"]),
        (X[..., :3], ["axis 3 is 3 instead of 4"]),
        (X.astype("f8"), ["x has dtype float64; expected float32 ("]),
    ],
)
@pytest.mark.parametrize("side", [held, np.array])
def test_calling_a_plan(x, words, side):
    with simulated():
        prepared = plan(PROBLEM, W, backend="gpu", algorithm="direct")
    with pytest.raises(ConvError) as caught:
        prepared(side(x))
    for word in words:
        assert word in str(caught.value)


def test_other_backends_say_where_the_array_lies():
    for backend in ("auto", "cpu", "numpy"):
        with pytest.raises(ArrayError, match="x is a Held; expected a NumPy array; it lies on a GPU, where"):
            conv2d(held(X), W, backend=backend)
    with pytest.raises(ArrayError, match="x is a Gradients"):
        conv2d(Gradients(), W)


# -- the GPU, without one ----------------------------------------------------------------------------------


class Driver:
    """Stands in for Numba's CUDA where only the words matter that it is asked with."""

    def __init__(self):
        self.cleared = 0
        self.deallocations = SimpleNamespace(clear=self.clear)

    def clear(self):
        self.cleared += 1

    def current_context(self):
        return self

    def get_memory_info(self):
        return 1000 * self.cleared, 5000

    def get_current_device(self):
        return SimpleNamespace(id=1)

    def to_device(self, array):
        return self.device_array(array.shape, array.dtype)

    def device_array(self, shape, dtype):
        return "an array", shape, np.dtype(dtype)

    def from_cuda_array_interface(self, interface, owner):
        assert interface["strides"] is None
        return owner


def test_how_the_gpu_is_asked(monkeypatch):
    monkeypatch.setattr("convlab.gpu.numba_cuda.cuda", Driver())
    assert Gpu().empty(7, "f4")[0] == "an array"
    x = Held(aligned((1, 4, 4, 2))[:, ::2], strides=(128, 64, 8, 4))
    assert Gpu().adopt(x) is x
    assert Gpu().free() == 1000  # what Numba has put by is given back first
    for home, held_here in ((0, False), (1, True), (None, True)):
        monkeypatch.setattr(cuda_driver, "home_of", lambda pointer, home=home: home)
        assert Gpu().holds(64) is held_here


class Streams(Driver):
    """Writes down what is put on which stream; the default one of kernels is 0."""

    def __init__(self, own=False):
        super().__init__()
        self.config, self.log = SimpleNamespace(CUDA_PER_THREAD_DEFAULT_STREAM=own), []

    def external_stream(self, number):
        return number

    def event(self, timing):
        assert not timing  # which would cost time
        return SimpleNamespace(
            record=lambda stream=0: self.log.append(f"mark in {stream}"),
            wait=lambda stream=0: self.log.append(f"{stream} waits"),
        )

    def from_cuda_array_interface(self, interface, owner):
        assert interface["stream"] is None  # the host waits for nothing
        return super().from_cuda_array_interface(interface, owner)


class Tensor:
    """PyTorch's, on the device: it does not say which stream it is written on."""

    device, __cuda_array_interface__ = "cuda:0", {"shape": (3,), "typestr": "<f4", "data": (64, False)}


def described_on(stream):
    return SimpleNamespace(__cuda_array_interface__=Tensor.__cuda_array_interface__ | {"stream": stream})


@pytest.mark.parametrize(
    ("stream", "own", "waits"),
    [(None, False, False), (1, False, False), (1, True, True), (2, True, False), (7, False, True)],
)
def test_kernels_and_the_stream_of_an_array_wait_for_each_other(monkeypatch, stream, own, waits):
    """CuPy says that its arrays are written on the default stream: for that nobody has to wait."""
    monkeypatch.setattr("convlab.gpu.numba_cuda.cuda", driver := Streams(own))
    array = described_on(stream)
    assert Gpu().adopt(array) is array
    assert driver.log == [f"mark in {stream}", "0 waits"] * waits
    driver.log.clear()
    Gpu().hand_back(array, array)
    assert driver.log == ["mark in 0", f"{stream} waits"] * waits
    assert array.__cuda_array_interface__["stream"] == stream


@pytest.mark.parametrize("stream", [0, 9])
def test_pytorch_is_asked_for_the_stream_of_a_tensor(monkeypatch, stream):
    """Its own description says nothing of it, also inside ``with torch.cuda.stream(side):``."""
    on = {"cuda:0": SimpleNamespace(cuda_stream=stream)}
    torch = SimpleNamespace(Tensor=Tensor, cuda=SimpleNamespace(current_stream=on.__getitem__))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr("convlab.gpu.numba_cuda.cuda", driver := Streams())
    Gpu().adopt(Tensor())
    Gpu().hand_back(Tensor())
    assert driver.log == ["mark in 9", "0 waits", "mark in 0", "9 waits"] * (stream == 9)


class Noting(Simulator):
    """Notes what its kernels take and give back."""

    def __init__(self):
        super().__init__(traced=False)
        self.log = []

    def adopt(self, array):
        self.log.append("adopt")
        return super().adopt(array)

    def launch(self, *arguments):
        self.log.append("launch")
        super().launch(*arguments)

    def hand_back(self, *arrays):
        self.log.append(arrays)


def test_arrays_are_handed_back_after_the_last_launch():
    device, x, out = Noting(), held(X), held(np.zeros(Y, "f4"))
    log = device.log
    with using(device):
        prepared = plan(PROBLEM, W, BIAS, backend="gpu", algorithm="direct")
        prepared(x, out)
        assert log == ["adopt", "adopt", "launch", "launch", (x, out)]  # the convolution, then the bias
        log.clear()
        prepared(x)
        assert log == ["adopt", "launch", "launch", (x,)]
        log.clear()
        prepared(X)
        assert log == ["launch", "launch"]  # NumPy's arrays are on no stream


@pytest.mark.inside
@in_turns
def test_what_gradients_take_is_handed_back_too():
    device, x, w, dy = Noting(), held(X), held(W), held(np.zeros(Y, "f4"))
    offset = np.ones(X.shape[3], "f4")
    with using(device):
        for compute, last in (
            (lambda: dgrad(PROBLEM, dy, w, backend="gpu"), [(w,), (dy,)]),
            (lambda: wgrad(PROBLEM, x, dy, backend="gpu"), [(x, dy)]),
            (lambda: bgrad(dy), [(dy,)]),
            (lambda: conv_transpose2d(dy, w, offset, backend="gpu", out=x), [(w,), (dy, x), (x,)]),
        ):
            device.log.clear()
            compute()
            assert [one for one in device.log if isinstance(one, tuple)] == last
            assert isinstance(device.log[-1], tuple), "no kernel comes after it"
