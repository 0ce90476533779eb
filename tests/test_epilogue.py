"""Bias, residual and ReLU in the store: the same numbers as one after another, wherever y lies."""

import numpy as np
import pytest
from effort import sampled

from convlab import ALGORITHMS, ArrayError, ConvError, ConvProblem, ParameterError, plan
from convlab.gpu import simulated
from convlab.oracle import reference, tolerance
from convlab.plans.epilogue import EPILOGUES

PROBLEMS = {
    "3x3": ConvProblem(2, 9, 10, 6, 37, 3, 3, padding=1),
    "1x1": ConvProblem(1, 13, 11, 20, 40, 1, 1),
    "depthwise": ConvProblem(2, 9, 12, 35, 35, 3, 3, padding=1, groups=35),
    "groups": ConvProblem(1, 8, 9, 8, 22, 3, 3, padding=1, groups=2),
    "stride 2": ConvProblem(1, 11, 12, 5, 18, 3, 3, padding=1, stride=2),
    "filters of a channel": ConvProblem(1, 6, 7, 4, 12, 3, 3, groups=4),
}
CASES = [
    (kind, name, backend)
    for kind, problem in PROBLEMS.items()
    for name, one in ALGORITHMS.items()
    for backend in ("numpy", "cpu")
    if backend in one.forms and not one.supports(problem)
]


class Posed:
    """Arrays of a problem, and what an epilogue should make of them."""

    def __init__(self, problem, dtype="float32"):
        rng = np.random.default_rng(0)
        make = lambda shape: rng.standard_normal(shape).astype(dtype)  # noqa: E731
        self.problem = problem
        self.x, self.w, self.bias = make(problem.x_shape), make(problem.w_shape), make(problem.K)
        self.residual = make(problem.y_shape)
        self.conv = reference(self.x, self.w, problem)
        self.limit = 4 * tolerance(self.x, self.w, problem)

    def expected(self, epilogue):
        y = self.conv + self.bias
        y = y + self.residual if EPILOGUES[epilogue].adds else y
        return np.maximum(y, EPILOGUES[epilogue].floor)


@sampled(0)
@pytest.mark.parametrize(("kind", "name", "backend"), CASES)
def test_every_form_ends_as_asked(kind, name, backend):
    posed = Posed(PROBLEMS[kind])
    problem, limit = posed.problem, posed.limit * ALGORITHMS[name].rounding
    for epilogue in EPILOGUES:
        threads = (
            2 if epilogue == "add_relu" and backend == "cpu" else 1
        )  # to compile takes longer than to run
        made = plan(
            problem, posed.w, posed.bias, algorithm=name, backend=backend, threads=threads, epilogue=epilogue
        )
        expected = posed.expected(epilogue)
        more = {"residual": posed.residual} if EPILOGUES[epilogue].adds else {}
        whole = made(posed.x, **more)
        assert (np.abs(whole - expected) <= limit).all()
        wide = np.full((*problem.y_shape[:3], problem.K + 9), np.nan, np.float32)
        part = wide[..., 4 : 4 + problem.K]
        assert made(posed.x, part, **more) is part
        np.testing.assert_array_equal(part, whole)
        assert np.isnan(wide[..., :4]).all()
        assert np.isnan(wide[..., 4 + problem.K :]).all()
        wide[...] = np.nan
        assert made.bound(posed.x, part, **more)() is None
        np.testing.assert_array_equal(part, whole)
        if more:  # the residual may lie there too, or be the output itself
            part[...] = posed.residual
            np.testing.assert_array_equal(made(posed.x, residual=part), whole)
            made(posed.x, part, residual=part)
            np.testing.assert_array_equal(part, whole)
            both = np.concatenate((posed.residual, np.full_like(whole, np.nan)), axis=-1)
            added, part = both[..., : problem.K], both[..., problem.K :]
            np.testing.assert_array_equal(made(posed.x, part, residual=added), whole)
            np.testing.assert_array_equal(added, posed.residual)


@sampled(0)
@pytest.mark.parametrize(
    ("name", "backend"), [(name, backend) for kind, name, backend in CASES if kind == "3x3"]
)
def test_a_layer_may_write_beside_what_it_reads(name, backend):
    """DenseNet's layers do: each adds its channels to those that it read."""
    problem, posed = PROBLEMS["3x3"], Posed(PROBLEMS["3x3"])
    made = plan(problem, posed.w, posed.bias, algorithm=name, backend=backend, threads=2)
    wide = np.concatenate((posed.x, np.full(problem.y_shape, np.nan, np.float32)), axis=-1)
    x, out = wide[..., : problem.C], wide[..., problem.C :]
    np.testing.assert_array_equal(made(x, out), made(posed.x))
    np.testing.assert_array_equal(x, posed.x)
    with pytest.raises(ArrayError, match="out shares memory with x"):
        made(x, wide[..., problem.C - 1 : -1])


@sampled(0)
@pytest.mark.parametrize("name", ["indirect", "winograd_4x4", "implicit_gemm", "fft", "direct"])
def test_nan_stays_and_zeros_are_zeros(name):
    problem = ConvProblem(1, 6, 6, 3, 20, 3, 3, padding=1)
    posed = Posed(problem)
    made = plan(problem, posed.w, posed.bias, algorithm=name, backend="cpu", epilogue="add_relu")
    residual = posed.residual.copy()
    residual[0, 2, 3, 7] = np.nan
    residual[0, 0, 0] = -1000
    y = made(posed.x, residual=residual)
    assert np.isnan(y[0, 2, 3, 7])
    assert np.isnan(y).sum() == 1
    assert (y[0, 0, 0] == 0).all()


@sampled(0)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_bound_call_is_the_call(threads):
    problem = PROBLEMS["3x3"]
    posed = Posed(problem)
    for name in ("indirect", "fft"):
        made = plan(
            problem, posed.w, posed.bias, algorithm=name, backend="cpu", threads=threads, epilogue="add"
        )
        out = np.empty(problem.y_shape, np.float32)
        run = made.bound(posed.x, out, posed.residual)
        assert run() is None
        np.testing.assert_array_equal(out, made(posed.x, residual=posed.residual))
        posed.x *= 2
        run()
        np.testing.assert_array_equal(out, made(posed.x, residual=posed.residual))


def test_the_same_plan_with_another_epilogue():
    posed = Posed(PROBLEMS["1x1"])
    plain = plan(posed.problem, posed.w, posed.bias, backend="cpu")
    relu = plain.with_epilogue("relu")
    assert (plain.epilogue, relu.epilogue) == (None, "relu")
    assert plain.packed is relu.packed
    np.testing.assert_array_equal(relu(posed.x), np.maximum(plain(posed.x), 0))


@pytest.mark.parametrize("epilogue", EPILOGUES)
def test_on_a_device(epilogue):
    problem = ConvProblem(1, 5, 6, 4, 6, 3, 3, padding=1)
    posed = Posed(problem)
    more = {"residual": posed.residual} if EPILOGUES[epilogue].adds else {}
    with simulated():
        made = plan(problem, posed.w, posed.bias, algorithm="indirect", backend="gpu", epilogue=epilogue)
        y = made(posed.x, **more)
    assert (np.abs(y - posed.expected(epilogue)) <= posed.limit).all()


def test_what_is_refused():
    problem = PROBLEMS["1x1"]
    posed = Posed(problem)
    x, w, y = posed.x, posed.w, np.empty((1, 13, 11, 90), np.float32)
    with pytest.raises(ParameterError, match="epilogue='gelu'; expected one of relu, add, add_relu"):
        plan(problem, w, epilogue="gelu")
    plain, adds = plan(problem, w), plan(problem, w, epilogue="add")
    with pytest.raises(ParameterError, match="expected one of relu, add, add_relu"):
        plain.with_epilogue("sum")
    with pytest.raises(ParameterError, match="residual: this plan has epilogue=None"):
        plain(x, residual=posed.residual)
    with pytest.raises(ParameterError, match="residual is missing"):
        adds(x)
    with pytest.raises(ConvError, match=r"residual has shape \(1, 13, 11, 39\)"):
        adds(x, residual=posed.residual[..., 1:])
    with pytest.raises(ArrayError, match="out shares memory with residual"):
        adds(x, y[..., :40], residual=y[..., 1:41])
    for wrong in (y[..., 0:80:2], y[:, ::-1, :, :40], y[..., 39::-1]):
        with pytest.raises(ArrayError, match="has strides"):
            plain(x, wrong)
        with pytest.raises(ArrayError, match="residual has strides"):
            adds(x, residual=wrong)
