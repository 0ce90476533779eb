"""Wrong inputs: each is answered by a ConvError that names the argument, the value and what was expected."""

import math
from dataclasses import replace

import numpy as np
import pytest
from effort import in_turns

import convlab.backends
import convlab.machine.facts
from convlab import (
    ALGORITHMS,
    ArrayError,
    ConvError,
    ConvProblem,
    ParameterError,
    ShapeError,
    UnsupportedError,
    WorkspaceError,
    autotune,
    col2im,
    conv2d,
    conv2d_nchw,
    figures,
    im2col,
    im2row,
    networks,
    plan,
)
from convlab.gpu import simulator
from convlab.lessons import reveal

X = np.ones((2, 8, 9, 4), np.float32)  # N, H, W, C
W = np.ones((6, 3, 5, 4), np.float32)  # K, R, S, C
BIAS = np.zeros(6, np.float32)
OUT_SHAPE = (2, 6, 5, 6)


def _out(**options):
    return np.zeros(OUT_SHAPE, **{"dtype": np.float32} | options)


class _Torch:
    """Something with a .numpy(), as a tensor has."""

    def numpy(self):
        return X


# name: (expected error, words of the message, arguments of conv2d)
CONV2D = {
    "x is a list": (ArrayError, ["x is a list", "NumPy array"], {"x": X.tolist()}),
    "x is a tensor": (ArrayError, ["x is a _Torch", "x.numpy()"], {"x": _Torch()}),
    "x is masked": (ArrayError, ["x is a MaskedArray"], {"x": np.ma.masked_array(X)}),
    "x is None": (ArrayError, ["x is a NoneType"], {"x": None}),
    "x is whole numbers": (ArrayError, ["x has dtype int64", "x.astype('float32')"], {"x": X.astype(int)}),
    "x is half precision": (ArrayError, ["x has dtype float16", "float32"], {"x": X.astype(np.float16)}),
    "x is complex": (ArrayError, ["x has dtype complex64"], {"x": X.astype(np.complex64)}),
    "x is objects": (ArrayError, ["x has dtype object"], {"x": X.astype(object)}),
    "x is byte-swapped": (ArrayError, ["byte-swapped float32"], {"x": X.astype(">f4")}),
    "x is one image": (ShapeError, ["x has 3 axes", "x[None]"], {"x": X[0]}),
    "x has five axes": (ShapeError, ["x has 5 axes", "(N, H, W, C)"], {"x": X[None]}),
    "x is empty": (ShapeError, ["x has N=0", "axis 0"], {"x": X[:0]}),
    "x has no rows": (ShapeError, ["x has H=0", "axis 1"], {"x": X[:, :0]}),
    "w is a list": (ArrayError, ["w is a list"], {"w": W.tolist()}),
    "w has another dtype": (ArrayError, ["w has dtype float64", "float32"], {"w": W.astype(float)}),
    "w has three axes": (ShapeError, ["w has 3 axes", "(K, R, S, C/groups)"], {"w": W[0]}),
    "w has no filters": (ShapeError, ["w has K=0", "axis 0"], {"w": W[:0]}),
    "w has other channels": (
        ShapeError,
        ["w has 3 input channels", "x has C=4", "with groups=1 they must be equal"],
        {"w": W[..., :3]},
    ),
    "w does not match groups": (ShapeError, ["w has 4", "C/groups = 2"], {"groups": 2}),
    "groups do not divide K": (ShapeError, ["groups=4", "K=6"], {"groups": 4, "w": W[..., :1]}),
    "groups is zero": (ParameterError, ["groups=0", ">= 1"], {"groups": 0}),
    "groups is a pair": (ParameterError, ["groups=(1, 1)", "tuple"], {"groups": (1, 1)}),
    "bias is a number": (ArrayError, ["bias is a float"], {"bias": 1.0}),
    "bias is too long": (ShapeError, ["bias has shape (7,)", "(K,) = (6,)"], {"bias": np.zeros(7, "f4")}),
    "bias has two axes": (ShapeError, ["bias has shape (1, 6)", "2 axes"], {"bias": BIAS[None]}),
    "bias has another dtype": (ArrayError, ["bias has dtype float64"], {"bias": np.zeros(6)}),
    "stride is zero": (ParameterError, ["stride=0", ">= 1"], {"stride": 0}),
    "stride is negative": (ParameterError, ["stride[1]=-2"], {"stride": (1, -2)}),
    "stride is a fraction": (ParameterError, ["stride=1.5", "float"], {"stride": 1.5}),
    "stride is three": (ParameterError, ["stride=(1, 1, 1)", "3 entries"], {"stride": (1, 1, 1)}),
    "stride is a truth value": (ParameterError, ["stride=True", "truth value"], {"stride": True}),
    "stride is a word": (ParameterError, ["stride='2'", "str"], {"stride": "2"}),
    "stride is None": (ParameterError, ["stride=None"], {"stride": None}),
    "padding is negative": (ParameterError, ["padding=-1", ">= 0"], {"padding": -1}),
    "padding is negative on one side": (
        ParameterError,
        ["padding[0] (vertical)[1]=-1"],
        {"padding": ((0, -1), (0, 0))},
    ),
    "padding is an unknown word": (ParameterError, ["padding='full'", '"same"'], {"padding": "full"}),
    "padding is torch's four": (ParameterError, ["padding=(1, 1, 1, 1)", "4 entries"], {"padding": (1,) * 4}),
    "dilation is zero": (ParameterError, ["dilation=0", ">= 1"], {"dilation": 0}),
    "dilation is too wide": (
        ShapeError,
        ["P would be", "filter covers 9 rows", "R=3, dilation 4", "8 (H=8"],
        {"dilation": 4},
    ),
    "filter is too wide": (ShapeError, ["Q would be", "S=5", "W=3"], {"x": X[:, :, :3].copy()}),
    "algorithm is unknown": (
        ParameterError,
        ["algorithm='winnograd'", "direct, im2row, im2col"],
        {"algorithm": "winnograd"},
    ),
    "algorithm is a list": (ParameterError, ["algorithm=['im2row']"], {"algorithm": ["im2row"]}),
    "algorithm is an array": (ParameterError, ["algorithm=array", "'auto'"], {"algorithm": np.ones(2)}),
    "backend is an array": (ParameterError, ["backend=array"], {"backend": np.ones(2)}),
    "stride is astronomic": (ParameterError, ["stride is above 2147483647"], {"stride": 2**70}),
    "padding is astronomic": (ParameterError, ["padding is above"], {"padding": 2**63}),
    "backend is unknown": (ParameterError, ["backend='tpu'", "numpy, cpu"], {"backend": "tpu"}),
    "out is a list": (ArrayError, ["out is a list"], {"out": []}),
    "out has the wrong shape": (
        ShapeError,
        ["out has shape (2, 6, 5, 5)", "(N, P, Q, K) = (2, 6, 5, 6)", "axis 3"],
        {"out": np.zeros((2, 6, 5, 5), "f4")},
    ),
    "out has another dtype": (ArrayError, ["out has dtype float64"], {"out": _out(dtype=float)}),
    "out is read-only": (
        ArrayError,
        ["out is read-only"],
        {"out": np.broadcast_to(np.float32(0), OUT_SHAPE)},
    ),
    "out is not contiguous": (ArrayError, ["out has strides", "C-contiguous"], {"out": _out(order="F")}),
    "out is x": (
        ArrayError,
        ["out shares memory with x"],
        {"x": X.copy(), "w": np.ones((4, 1, 1, 4), "f4"), "out": "x"},
    ),
    "out is w": (
        ArrayError,
        ["out shares memory with w"],
        {"x": np.ones((2, 1, 1, 2), "f4"), "w": np.ones((2, 1, 1, 2), "f4"), "out": "w"},
    ),
}


@pytest.mark.parametrize(("error", "words", "changes"), CONV2D.values(), ids=CONV2D)
def test_conv2d(error, words, changes):
    arguments = {"x": X.copy(), "w": W.copy(), "bias": BIAS.copy()} | changes
    if isinstance(arguments.get("out"), str):
        arguments["out"], arguments["bias"] = arguments[arguments["out"]], None
    before = [(v, v.copy()) for v in arguments.values() if isinstance(v, np.ndarray)]
    with pytest.raises(error) as caught:
        conv2d(arguments.pop("x"), arguments.pop("w"), arguments.pop("bias"), **arguments)
    message = str(caught.value)
    assert isinstance(caught.value, ConvError)
    assert isinstance(caught.value, ValueError)
    for word in words:
        assert word in message
    assert "\n" not in message
    for array, copy in before:  # nothing has been touched
        np.testing.assert_array_equal(array, copy)


PROBLEM = ConvProblem(2, 8, 9, 4, 6, 3, 5)

PLAN = {
    "problem is a tuple": (ParameterError, ["problem is a tuple"], ((2, 8, 9, 4), W), {}),
    "problem is half precision": (
        ParameterError,
        ["dtype='float16'", "cost model only"],
        (ConvProblem(2, 8, 9, 4, 6, 3, 5, dtype="float16"), W),
        {},
    ),
    "w is another problem's": (
        ShapeError,
        ["w has shape (5, 3, 5, 4)", "(6, 3, 5, 4)", "axis 0 is 5 instead of 6"],
        (PROBLEM, W[:5]),
        {},
    ),
    "algorithm is a number": (ParameterError, ["algorithm=3"], (PROBLEM, W), {"algorithm": 3}),
    "backend is None": (ParameterError, ["backend=None"], (PROBLEM, W), {"backend": None}),
}


@pytest.mark.parametrize(("error", "words", "arguments", "options"), PLAN.values(), ids=PLAN)
def test_plan(error, words, arguments, options):
    with pytest.raises(error) as caught:
        plan(*arguments, **options)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (X[:1], ["x has shape (1, 8, 9, 4)", "axis 0 is 1 instead of 2"]),
        (X.astype(np.float64), ["x has dtype float64", "expected float32"]),
        (X.transpose(0, 3, 1, 2), ["x has shape (2, 4, 8, 9)", "(N, H, W, C) = (2, 8, 9, 4)"]),
        (X[0], ["3 axes instead of 4"]),
    ],
)
def test_calling_a_plan(x, words):
    prepared = plan(PROBLEM, W)
    with pytest.raises(ConvError) as caught:
        prepared(x)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"N": 0}, ["N=0", ">= 1"]),
        ({"H": -3}, ["H=-3"]),
        ({"W": 2.0}, ["W=2.0", "float"]),
        ({"C": "3"}, ["C='3'", "str"]),
        ({"K": None}, ["K=None"]),
        ({"R": True}, ["R=True"]),
        ({"S": [3]}, ["S=[3]", "list"]),
        ({"S": 12}, ["Q would be -2", "S=12"]),
        ({"groups": 3}, ["groups=3", "C=4"]),
        ({"dtype": "int8"}, ["dtype='int8'", "float32"]),
        ({"dtype": None}, ["dtype=None"]),
        ({"padding": (1, (2, 3, 4))}, ["padding[1] (horizontal)", "3 entries"]),
        ({"padding": None}, ["padding=None"]),
        ({"H": 10**400}, ["H is above 2147483647"]),
        ({"dtype": "f4,,"}, ["dtype='f4,,'"]),
        ({"dilation": (1, 0)}, ["dilation[1]=0"]),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_problem(arguments, words):
    with pytest.raises(ConvError) as caught:
        ConvProblem(**{"N": 2, "H": 8, "W": 9, "C": 4, "K": 6, "R": 3, "S": 5} | arguments)
    for word in words:
        assert word in str(caught.value)


def _kernel(x):
    x[0, 0, 0, 0] = 1


MATRIX = np.ones((60, 60), np.float32)  # PROBLEM's: C*R*S by N*P*Q


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ConvProblem.of([1], W), ["x is a list"]),
        (lambda: im2row(X[..., :1], PROBLEM), ["x has shape (2, 8, 9, 1)", "axis 3 is 1 instead of 4"]),
        (lambda: im2col(X.repeat(2, 0), PROBLEM), ["axis 0 is 4 instead of 2"]),
        (lambda: im2col(X.tolist(), PROBLEM), ["x is a list"]),
        (lambda: col2im(MATRIX[1:], PROBLEM), ["cols has shape (59, 60)", "(C*R*S, N*P*Q) = (60, 60)"]),
        (lambda: ALGORITHMS["direct"].cost(PROBLEM, "tpu"), ["backend='tpu'"]),
        (lambda: networks.load(["vgg16"]), ["network=['vgg16']", "resnet18"]),
        (lambda: networks.load("vgg16")[99], ["no layer 99", "from 0 to 12"]),
        (lambda: networks.load("vgg16", batch=0), ["batch=0", "an integer above 0"]),
        (lambda: networks.load("vgg16")[np.ones(2)], ["no layer array"]),
        (lambda: networks.load_model("vgg16"), ["network='vgg16'", "resnet18, squeezenet1_0"]),
        (lambda: networks.load_model("resnet18", dtype="float16"), ["dtype='float16'", "float32, float64"]),
        (lambda: figures.photograph(4097), ["size=4097", "from 1 to 4096"]),
        (lambda: reveal(3, math.nan, "ms"), ["actual=nan", "a number"]),
        (lambda: ALGORITHMS["direct"].supports("conv1"), ["problem is a str, 'conv1'", "a ConvProblem"]),
        (lambda: ALGORITHMS["im2row"].cost(PROBLEM, threads=0), ["threads=0", "from 1 to 1024"]),
        (lambda: plan(PROBLEM, W).resize(H=np.ones(2)), ["H=array([1., 1.])"]),
        (lambda: simulator.run(_kernel, (1, 1.5), 32, X), ["grid=1.5", "an integer"]),
        (lambda: simulator.run(_kernel, 1, (32, 1, 1, 1), X), ["block=(32, 1, 1, 1)", "one to three"]),
        (
            lambda: simulator.run(_kernel, 1, 32, X, blocks=[3]),
            ["blocks=[3]", "no block (3, 0, 0)", "(1, 1, 1)"],
        ),
        (lambda: simulator.run(_kernel, 1, 32, X, shared_bytes=-1), ["shared_bytes=-1", "from 0 to"]),
        (lambda: simulator.run(_kernel, 1, 32, X.tolist()), ["x=[[[", "a NumPy array"]),
    ],
)
def test_other_doors(call, words):
    with pytest.raises(ConvError) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


@pytest.mark.inside
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("backend", ["numpy", "cpu"])
def test_a_plan_is_its_own(algorithm, backend):
    """What the caller changes after `plan` changes nothing, and no output may lie inside the plan."""
    candidates = (
        ConvProblem(1, 3, 3, 1, 1, 1, 1),
        ConvProblem(1, 3, 3, 1, 1, 3, 3, padding=1),
        ConvProblem(1, 3, 3, 1, 1, 5, 5, padding=2, stride=2),
    )
    problem = next(p for p in candidates if not ALGORITHMS[algorithm].supports(p))
    x, w, bias = np.ones(problem.x_shape, "f4"), np.ones(problem.w_shape, "f4"), np.ones(1, "f4")
    prepared = plan(problem, w, bias, algorithm=algorithm, backend=backend)
    expected = prepared(x)
    w[...], bias[...] = 7, 7
    np.testing.assert_array_equal(prepared(x), expected)
    for array in (x, *prepared.workspace.values()):
        if array.nbytes >= problem.y_bytes:
            start = array.reshape(-1).view("u1")[: problem.y_bytes]
            with pytest.raises(ArrayError, match="out shares memory with"):
                prepared(x, start.view("f4").reshape(problem.y_shape))


X_NCHW, W_NCHW = (np.ascontiguousarray(array.transpose(0, 3, 1, 2)) for array in (X, W))
OUT_NCHW = (2, 6, 6, 5)  # N, K, P, Q

# name: (expected error, words of the message, arguments of conv2d_nchw); axes are those of the arrays given
NCHW = {
    "x is one image": (ShapeError, ["x has 3 axes", "(N, C, H, W)"], {"x": X_NCHW[0]}),
    "x is NHWC": (ShapeError, ["w has 4 input channels (axis 1)", "x has C=8 (axis 1)"], {"x": X}),
    "x is masked": (ArrayError, ["x is a MaskedArray"], {"x": np.ma.masked_array(X_NCHW)}),
    "x is a list": (ArrayError, ["x is a list"], {"x": X_NCHW.tolist()}),
    "x has no columns": (ShapeError, ["x has W=0 on axis 3"], {"x": X_NCHW[..., :0]}),
    "w is masked": (ArrayError, ["w is a MaskedArray"], {"w": np.ma.masked_array(W_NCHW)}),
    "w has other channels": (
        ShapeError,
        ["w has 3 input channels (axis 1)", "x has C=4 (axis 1)"],
        {"w": W_NCHW[:, :3]},
    ),
    "w does not match groups": (ShapeError, ["w has 4", "(axis 1)", "C/groups = 2"], {"groups": 2}),
    "out is NHWC": (
        ShapeError,
        ["out has shape (2, 6, 5, 6)", "(N, K, P, Q) = (2, 6, 6, 5)"],
        {"out": _out()},
    ),
    "out is x": (
        ArrayError,
        ["out shares memory with x"],
        {"x": np.ones((1, 4, 3, 3), "f4"), "w": np.ones((4, 4, 1, 1), "f4"), "bias": None, "out": "x"},
    ),
}


@pytest.mark.parametrize(("error", "words", "changes"), NCHW.values(), ids=NCHW)
def test_nchw_door(error, words, changes):
    arguments = {"x": X_NCHW, "w": W_NCHW, "bias": BIAS} | changes
    if isinstance(arguments.get("out"), str):
        arguments["out"] = arguments["x"]
    with pytest.raises(error) as caught:
        conv2d_nchw(**arguments)
    for word in words:
        assert word in str(caught.value)


def test_nchw_door_writes_into_out():
    out = np.full(OUT_NCHW, np.nan, np.float32)
    assert conv2d_nchw(X_NCHW, W_NCHW, BIAS, out=out) is out
    np.testing.assert_array_equal(out, conv2d_nchw(X_NCHW, W_NCHW, BIAS))


# -- memory ------------------------------------------------------------------------------------------------

BIG = ConvProblem(1, 512, 512, 64, 8, 3, 3, padding=1)  # its im2row matrix takes 576 MiB


def _with_memory(monkeypatch, amount):
    monkeypatch.setattr(convlab.machine.facts, "memory_at_hand", lambda: amount)

    def forbidden(*arguments, **options):
        raise AssertionError("something was allocated")

    for name in ("zeros", "empty", "ascontiguousarray"):
        monkeypatch.setattr(np, name, forbidden)


def test_a_matrix_that_does_not_fit_is_refused_before_it_is_allocated(monkeypatch):
    w = np.ones(BIG.w_shape, np.float32)
    _with_memory(monkeypatch, 300 << 20)
    with pytest.raises(WorkspaceError) as caught:
        plan(BIG, w, algorithm="im2row", backend="cpu")
    for words in (
        "algorithm='im2row'",
        "workspace 576 MiB",
        "300 MiB of memory are free",
        "free; direct, implicit_gemm, precomputed_gemm, indirect, ",
    ):
        assert words in str(caught.value)


@in_turns
@pytest.mark.inside
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_limit_is_exact(monkeypatch, algorithm):
    """A plan is made with exactly the bytes it needs, and refused with one byte less."""
    first_layer = {"R": 5, "S": 5, "stride": 2}
    others = ({}, {"R": 1, "S": 1, "padding": 0}, {"groups": 64, "K": 64}, first_layer)
    problems = [replace(BIG, **other) for other in others]
    problem = next(p for p in problems if not ALGORITHMS[algorithm].supports(p))
    w, x = np.ones(problem.w_shape, np.float32), np.ones(problem.x_shape, np.float32)
    cost = ALGORITHMS[algorithm].cost(problem, "cpu")
    kept = problem.w_bytes if ALGORITHMS[algorithm].forms["cpu"].pack_key else 0  # to pack it anew
    with_output = cost.workspace_bytes + cost.packed_bytes + kept + problem.y_bytes
    monkeypatch.setattr(convlab.machine.facts, "memory_at_hand", lambda: with_output)
    plan(problem, w, algorithm=algorithm, backend="cpu")
    monkeypatch.setattr(convlab.machine.facts, "memory_at_hand", lambda: with_output - 1)
    with pytest.raises(WorkspaceError):
        plan(problem, w, algorithm=algorithm, backend="cpu")
    # An output that is there already need not be allocated; a copy of x that is not contiguous must.
    out = np.empty(problem.y_shape, np.float32)
    steps = {"stride": problem.stride, "padding": problem.padding, "groups": problem.groups}
    options = steps | {"algorithm": algorithm, "out": out}
    conv2d(x, w, backend="cpu", **options)
    with pytest.raises(WorkspaceError, match=r"a contiguous copy of x 64\.0 MiB"):
        conv2d(x.swapaxes(1, 2), w, backend="cpu", **options)


def test_when_nothing_fits_it_says_so(monkeypatch):
    w = np.ones(BIG.w_shape, np.float32)
    _with_memory(monkeypatch, 1 << 20)
    with pytest.raises(WorkspaceError, match="make the picture, or its padding, smaller"):
        plan(BIG, w)


def test_auto_takes_what_fits(monkeypatch):
    w = np.ones(BIG.w_shape, np.float32)
    monkeypatch.setattr(convlab.machine.facts, "memory_at_hand", lambda: 300 << 20)
    made = plan(BIG, w, backend="numpy")
    assert made.algorithm.name == "precomputed_gemm"  # the next quickest in NumPy, not the last resort
    assert "the best that fits into the memory; im2row does not, though it is the rule" in made.why
    monkeypatch.setattr(convlab.machine.facts, "memory_at_hand", lambda: None)  # cannot be known
    assert plan(BIG, w, backend="numpy").algorithm.name == "im2row"


def test_without_numba(monkeypatch):
    monkeypatch.setattr(convlab.backends, "numba_trouble", lambda: "Numba needs another NumPy")
    assert plan(PROBLEM, W).backend == "numpy"
    assert ALGORITHMS["im2row"].cost(PROBLEM).packed_bytes == PROBLEM.w_bytes
    with pytest.raises(UnsupportedError, match=r"needs Numba \(Numba needs another NumPy\)"):
        plan(PROBLEM, W, backend="cpu")
    with pytest.raises(UnsupportedError, match="needs Numba"):
        autotune(PROBLEM)
