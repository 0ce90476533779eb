"""The gradients: the same sums as by definition, from every algorithm on every backend."""

import os
import re
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from cases import CASES, arrays, problems
from effort import examples, in_turns, sampled
from hypothesis import HealthCheck, given, seed, settings, strategies

import convlab.machine.facts
from convlab import (
    ALGORITHMS,
    ConvError,
    ConvProblem,
    IndexMap,
    Plan,
    bgrad,
    conv2d,
    conv_transpose2d,
    dgrad,
    nchw,
    plan_dgrad,
    plan_wgrad,
    wgrad,
)
from convlab.algorithms.implicit_gemm.reference import taken
from convlab.auto.ranking import ALIKE
from convlab.errors import ArrayError, ParameterError, ShapeError, UnsupportedError, WorkspaceError
from convlab.gradients import DGRAD, WGRAD, dgrad_flipped_gpu
from convlab.gradients.dgrad_subfilters import ZEROS_INSERTED
from convlab.gradients.index_maps import DgradMap
from convlab.gradients.phases import parts
from convlab.gradients.select import choose, predicted
from convlab.machine.memory import Memory
from convlab.oracle import WORST

TABLES, DOORS = {"dgrad": DGRAD, "wgrad": WGRAD}, {"dgrad": dgrad, "wgrad": wgrad}
FORMS = [(which, name, on) for which in TABLES for name in TABLES[which] for on in TABLES[which][name].forms]
FORMS = [one for one in FORMS if one[2] != "gpu"]  # those are in test_gpu_gradients.py
form = pytest.mark.parametrize(("which", "algorithm", "backend"), FORMS, ids=["-".join(f) for f in FORMS])
case = pytest.mark.parametrize("problem", CASES.values(), ids=CASES)
# A layer that no tile, no part and no phase divides, with more than a part of rows, and of columns.
LARGE = ConvProblem(4, 37, 29, 66, 23, 3, 3, stride=(2, 1), padding=((1, 0), (2, 1)))
SMALL = replace(LARGE, N=2, H=9, W=8, C=6, K=5)


def made(problem, seed=0):
    """Return random x, w and dy for a problem."""
    x, w, _ = arrays(problem, seed)
    dy = np.random.default_rng(seed + 1).standard_normal(problem.y_shape).astype(problem.dtype)
    return x, w, dy


def by_definition(problem, x, w, dy):
    """Return dx and dw in float64, tap by tap."""
    G, C, K = problem.groups, problem.C // problem.groups, problem.K // problem.groups
    x, w, dy = (array.astype(np.float64) for array in (x, w, dy))
    dx, dw = np.zeros(x.shape), np.zeros(w.shape)
    for r, s, g in product(range(problem.R), range(problem.S), range(G)):
        h = np.arange(problem.P) * problem.stride[0] + r * problem.dilation[0] - problem.padding[0][0]
        v = np.arange(problem.Q) * problem.stride[1] + s * problem.dilation[1] - problem.padding[1][0]
        p, q = np.flatnonzero((h >= 0) & (h < problem.H)), np.flatnonzero((v >= 0) & (v < problem.W))
        c, k = slice(g * C, (g + 1) * C), slice(g * K, (g + 1) * K)
        some, pixels = dy[:, p][:, :, q][..., k], x[:, h[p]][:, :, v[q]][..., c]
        dx[:, h[p][:, None], v[q], c] += np.einsum("npqk,kc->npqc", some, w[k, r, s])
        dw[k, r, s] += np.einsum("npqk,npqc->kc", some, pixels)
    return dx, dw


X_, W_, DY = made(LARGE)


@contextmanager
def recorded():
    """Record the forward plans that are made inside a ``with``."""
    plans = []

    class Recorded(Plan):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            plans.append(self)

    with mock.patch("convlab.gradients.dgrad_subfilters.Plan", Recorded):
        yield plans


def operands(which, problem, seed=0):
    """Return what a gradient takes, and an array for it."""
    x, w, dy = made(problem, seed)
    return ((dy, w), np.empty_like(x)) if which == "dgrad" else ((x, dy), np.empty_like(w))


def planned(which, problem, seed=0, **choices):
    """Return a plan of a gradient."""
    w = made(problem, seed)[1]
    return plan_dgrad(problem, w, **choices) if which == "dgrad" else plan_wgrad(problem, **choices)


def served(which, algorithm, base=LARGE):
    """Return a problem like another one that an algorithm serves."""
    others = base, replace(base, stride=1, dilation=2), replace(base, groups=base.C, K=2 * base.C)
    return next(one for one in others if not TABLES[which][algorithm].supports(one))


def rounding_of(which, problem, algorithm="auto", backend="auto", **others):
    """Return how much more than plain sums tiles round, where a GPU's form takes them."""
    depthwise = not DGRAD["depthwise"].supports(problem)
    if (which, backend) != ("dgrad", "gpu") or DGRAD["flipped"].supports(problem):
        return 1.0
    if algorithm != "flipped" and (algorithm != "auto" or depthwise):
        return 1.0
    m = dgrad_flipped_gpu.tiles_for(problem)
    return ALGORITHMS[f"winograd_{m}x{m}"].rounding if m else 1.0


def check(which, problem, seed=0, **choices):
    """Compute a gradient, and hold it against the definition."""
    x, w, dy = made(problem, seed)
    with recorded() as plans:
        found = DOORS[which](problem, *operands(which, problem, seed)[0], **choices)
    expected = by_definition(problem, x, w, dy)[which == "wgrad"]
    M, filters, _ = problem.gemm
    terms, factors = (filters * problem.R * problem.S, (dy, w)) if which == "dgrad" else (M, (x, dy))
    size = terms * np.prod([np.sqrt(np.mean(np.square(one, dtype=np.float64))) for one in factors])
    rounding = max([p.algorithm.rounding for p in plans] or [rounding_of(which, problem, **choices)])
    limit = WORST * np.finfo(problem.dtype).eps * size * rounding
    assert (found.shape, found.dtype) == (expected.shape, problem.dtype)
    assert np.abs(found - expected).max() <= limit


@form
@sampled(8)
@case
def test_agrees_with_the_definition(which, algorithm, backend, problem):
    if refused := TABLES[which][algorithm].supports(problem):
        with pytest.raises(UnsupportedError, match=re.escape(refused)):
            DOORS[which](problem, *operands(which, problem)[0], algorithm=algorithm)
        return
    for threads in (1, 2):
        check(which, problem, algorithm=algorithm, backend=backend, threads=threads)


@sampled(1)
@form
@seed(2025)
@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=strategies.data())
def test_agrees_on_random_problems(which, algorithm, backend, data):
    problem = data.draw(problems("depthwise" if algorithm == "depthwise" else "direct"))
    if algorithm == "flipped":
        problem = replace(problem, stride=1)
    threads = data.draw(strategies.integers(1, 4))
    check(which, problem, problem.macs, algorithm=algorithm, backend=backend, threads=threads)


@sampled(3)
@form
def test_more_than_a_tile_and_a_part(which, algorithm, backend):
    check(which, served(which, algorithm), algorithm=algorithm, backend=backend, threads=3)


@sampled(1)
@case
def test_they_are_the_adjoints(problem):
    """<conv(x, w), dy> = <x, dgrad> = <w, wgrad>, whichever algorithm "auto" takes."""
    problem = replace(problem, dtype="float64")
    x, w, dy = made(problem)
    shaping = {name: getattr(problem, name) for name in ("stride", "padding", "dilation", "groups")}
    expected = np.vdot(conv2d(x, w, **shaping), dy)
    slack = 1e-12 * problem.macs
    assert np.vdot(x, dgrad(problem, dy, w)) == pytest.approx(expected, abs=slack)
    assert np.vdot(w, wgrad(problem, x, dy)) == pytest.approx(expected, abs=slack)


LAST_BIT = """
from dataclasses import replace
from test_gradients import LARGE, WGRAD, made, wgrad
few = replace(LARGE, C=2, K=90)  # columns of one tile: cut along the filters
for problem in (LARGE, few, replace(LARGE, C=64, K=64, groups=2), replace(LARGE, groups=66, K=66)):
    for dtype in ("float32", "float64"):
        problem = replace(problem, dtype=dtype)
        x, _, dy = made(problem)
        for name in (name for name, one in WGRAD.items() if not one.supports(problem)):
            found = [wgrad(problem, x, dy, algorithm=name, backend="cpu", threads=n) for n in (1, 1, 2, 3, 4)]
            assert len({array.tobytes() for array in found}) == 1, (name, problem)
"""


@in_turns
@pytest.mark.inside
@pytest.mark.parametrize("threads", ["1", "4"])
def test_weights_gradient_is_the_same_to_the_last_bit(threads):
    """From run to run, and for any number of threads: cut along columns, filters or channels."""
    there = os.environ | {"NUMBA_NUM_THREADS": threads}
    subprocess.run([sys.executable, "-c", LAST_BIT], check=True, env=there, cwd=Path(__file__).parent)


def test_parts_add_in_the_order_of_the_one_long_sum():
    whole, in_parts = (wgrad(LARGE, X_, DY, algorithm=name, backend="cpu") for name in ("im2row", "parts"))
    np.testing.assert_array_equal(whole, in_parts)


# -- memory ------------------------------------------------------------------------------------------------


def held(thing):
    """Return the bytes of all arrays of a workspace, or of what was packed."""
    if isinstance(thing, Plan):
        return held([thing.packed, thing._w, thing.workspace])
    if isinstance(thing, dict | list | tuple):
        return sum(map(held, thing.values() if isinstance(thing, dict) else thing))
    return 0 if thing is None else thing.nbytes


@form
@sampled(4)
@case
def test_memory_is_what_the_model_says(which, algorithm, backend, problem):
    chosen = TABLES[which][algorithm]
    if chosen.supports(problem):
        pytest.skip("not served")
    for threads in (1, 2):
        plan = planned(which, problem, algorithm=algorithm, backend=backend, threads=threads)
        its = chosen.forms[backend]
        shapes = its.shapes(problem, threads)
        assert {name: array.shape for name, array in plan.workspace.items()} == shapes
        cost = plan.cost
        assert held([plan.workspace, plan.packed]) == cost.workspace_bytes + cost.packed_bytes
        assert chosen.workspace_bytes(problem, backend, threads) == cost.workspace_bytes
        if which == "dgrad":
            plan.update(made(problem)[1])
            assert held([plan.workspace, plan.packed]) == cost.workspace_bytes + cost.packed_bytes


@in_turns
@pytest.mark.inside
@form
def test_a_run_allocates_nothing_else(which, algorithm, backend):
    problem = served(which, algorithm)
    arguments, out = operands(which, problem)
    plan = planned(which, problem, algorithm=algorithm, backend=backend)
    if algorithm in (
        "flipped",
        "subfilters",
    ):  # what a forward plan allocates is the business of test_plan_memory.py
        plan.packed = [lambda lines, pixels: pixels.fill(0) for _ in plan.packed]
    given = arguments[:1] if which == "dgrad" else arguments
    plan(*given, out)  # compiles
    tracemalloc.start()
    plan(*given, out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    slack = 3 * 9000 * problem.itemsize  # NumPy's iterators buffer 8192 numbers of each array
    assert peak < slack < min(problem.x_bytes, problem.y_bytes)


def test_memory_that_does_not_suffice_is_refused_first(monkeypatch):
    problem = ConvProblem(8, 128, 128, 32, 32, 3, 3, padding=1)  # a matrix of 144 MiB
    x, w, dy = made(problem)
    monkeypatch.setattr(convlab.machine.facts, "memory_at_hand", lambda: 100 << 20)
    out = np.full(problem.x_shape, 7, np.float32)
    with pytest.raises(WorkspaceError, match=r"algorithm='col2im' needs .*matrix 144 MiB.* would fit"):
        dgrad(problem, dy, w, algorithm="col2im", backend="cpu", out=out)
    assert (out == 7).all()
    with pytest.raises(WorkspaceError, match=r"algorithm='im2row' needs .*; parts would fit"):
        wgrad(problem, x, dy, algorithm="im2row", backend="cpu")
    wgrad(problem, x, dy, backend="cpu")
    monkeypatch.setattr(convlab.machine.facts, "memory_at_hand", lambda: 1 << 20)
    with pytest.raises(WorkspaceError, match="no algorithm would fit"):
        dgrad(problem, dy, w, backend="cpu")
    with pytest.raises(WorkspaceError, match="x with lines of zeros"):
        conv_transpose2d(x, w, dilation=2, output_padding=1)


@case
def test_subfilters_multiply_by_no_inserted_zero(problem):
    """Along each axis: the pairs of a pixel and a tap that meet a line of dy, or the border beyond."""
    met = problem.N * problem.C * problem.K // problem.groups
    for axis, (size, taps) in enumerate(zip((problem.H, problem.W), (problem.R, problem.S), strict=True)):
        stride, step, (before, _) = problem.stride[axis], problem.dilation[axis], problem.padding[axis]
        pairs = [(h % stride, *divmod(h + before - r * step, stride)) for h, r in np.ndindex(size, taps)]
        reached = {phase for phase, p, rest in pairs if not rest and 0 <= p < problem.y_shape[1 + axis]}
        met *= sum(phase in reached and not rest for phase, _, rest in pairs)
    assert DGRAD["subfilters"].macs(problem) == met <= ZEROS_INSERTED(problem)
    assert DGRAD["col2im"].macs(problem) == problem.macs
    _, w, dy = made(problem)
    with recorded() as plans:
        dgrad(problem, dy, w, algorithm="subfilters", backend="numpy")
    assert sum(plan.problem.macs for plan in plans) == met


def test_stride_two_saves_three_quarters():
    problem = ConvProblem(1, 56, 56, 64, 128, 3, 3, stride=2, padding=1)
    assert 4 * DGRAD["subfilters"].macs(problem) == ZEROS_INSERTED(problem)
    assert sorted(part.problem.w_shape[1:3] for part in parts(problem)) == [(1, 1), (1, 2), (2, 1), (2, 2)]


@in_turns
@sampled(0)
def test_inserting_zeros_gives_the_same():
    problem = replace(LARGE, stride=(2, 3), dtype="float64")
    _, w, dy = made(problem)
    sizes = [(n - 1) * s + 1 for n, s in zip(dy.shape[1:3], problem.stride, strict=True)]
    apart = np.zeros((problem.N, *sizes, problem.K))
    apart[:, ::2, ::3] = dy
    full = replace(problem, stride=1, H=sizes[0] + problem.R - 2, W=sizes[1] + problem.S - 4)
    assert full.y_shape == apart.shape
    dx = dgrad(full, apart, w, algorithm="flipped")
    np.testing.assert_allclose(dgrad(problem, dy, w)[:, : full.H, : full.W], dx, atol=1e-11)


def test_pixels_that_no_tap_reaches_are_zero():
    problem = ConvProblem(1, 9, 9, 2, 3, 3, 2, stride=4, dilation=2)
    _, w, dy = made(problem)
    dx = dgrad(problem, dy, w, out=np.full(problem.x_shape, np.nan, np.float32))
    assert (dx[:, 1::2] == 0).all()
    assert dx[:, ::2, ::2].any()


# -- the doors ---------------------------------------------------------------------------------------------


def test_auto_follows_its_rule():
    """Where nothing is predicted."""
    first, depthwise = {"C": 3}, {"C": 23, "groups": 23}
    dgrads = {"subfilters": ({}, depthwise), "flipped": ({"stride": 1},), "col2im": (first,)}
    wgrads = {"parts": ({}, first), "depthwise": (depthwise,)}
    for which, rule in (("dgrad", dgrads), ("wgrad", wgrads)):
        for name, change in ((name, one) for name, changes in rule.items() for one in changes):
            chosen = choose(replace(LARGE, **change), which, "auto", "numpy", 1, Memory())
            assert chosen.algorithm.name == name
            assert chosen.why == "it is the first by the rule of backend 'numpy'"


@pytest.mark.parametrize("which", TABLES)
def test_auto_takes_what_is_predicted_to_be_the_fastest(which):
    first = ConvProblem(8, 56, 56, 3, 64, 7, 7, stride=2, padding=3)
    plain, strided = (ConvProblem(8, 28, 28, 64, 64, 3, 3, stride=s, padding=1) for s in (1, 2))
    depthwise = replace(plain, K=128, C=128, groups=128)
    expected = {"dgrad": ("col2im", "flipped", "indirect", "flipped"), "wgrad": (*["parts"] * 3, "depthwise")}
    for problem, name in zip((first, plain, strided, depthwise), expected[which], strict=True):
        seconds = predicted(problem, which)
        here = {name: one for name, one in TABLES[which].items() if "cpu" in one.forms}
        assert seconds.keys() == {name for name, one in here.items() if not one.supports(problem)}
        chosen = choose(problem, which, "auto", "cpu", 1, Memory())
        assert chosen.algorithm.name == name
        assert seconds[name] <= ALIKE * min(seconds.values())
        assert "predict" in chosen.why


def test_what_is_alike_is_chosen_by_its_workspace(monkeypatch):
    monkeypatch.setattr("convlab.gradients.select.predicted", lambda *_: {"im2row": 1.0, "parts": 1.02})
    chosen = choose(LARGE, "wgrad", "auto", "cpu", 1, Memory())
    assert chosen.algorithm.name == "parts"
    assert "of the 2 predicted" in chosen.why
    monkeypatch.setattr("convlab.gradients.select.predicted", lambda *_: {"im2row": 1.0, "parts": 1.2})
    assert choose(LARGE, "wgrad", "auto", "cpu", 1, Memory()).algorithm.name == "im2row"


def test_without_speeds_auto_follows_its_rule(monkeypatch):
    monkeypatch.setattr("convlab.gradients.select.predicted", mock.Mock(side_effect=ConvError("no file")))
    chosen = choose(LARGE, "dgrad", "auto", "cpu", 1, Memory())
    assert (chosen.algorithm.name, "for no file" in chosen.why) == ("subfilters", True)


def test_arrays_may_lie_as_they_like():
    x, w, dy = (np.asfortranarray(array) for array in (X_, W_, DY))
    np.testing.assert_array_equal(dgrad(LARGE, dy, w), dgrad(LARGE, DY, W_))
    np.testing.assert_array_equal(wgrad(LARGE, x, dy), wgrad(LARGE, X_, DY))


def test_gradient_of_the_bias():
    np.testing.assert_allclose(bgrad(DY), DY.astype(np.float64).sum((0, 1, 2)), rtol=1e-6)
    assert bgrad(DY).dtype == np.float32


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"dy": DY[..., 1:]}, ShapeError, r"dy has shape .*expected \(N, P, Q, K\) = .*axis 3 is 22"),
        ({"dy": DY.astype("f8")}, ArrayError, "dy has dtype float64; expected float32"),
        ({"w": W_.astype("f8")}, ArrayError, "w has dtype float64; expected float32"),
        ({"algorithm": "flipped"}, UnsupportedError, r"the stride is \(2, 1\); flipped needs 1; subfilters"),
        ({"algorithm": "parts"}, ParameterError, "algorithm='parts'; expected 'auto' or one of .*flipped, "),
        ({"out": X_.astype("f8")}, ArrayError, "out has dtype float64"),
        ({"out": DY.copy()}, ShapeError, r"out has shape .*expected \(N, H, W, C\)"),
        ({"out": X_, "dy": X_.reshape(-1)[: DY.size].reshape(DY.shape)}, ArrayError, "shares memory with dy"),
        ({"problem": replace(LARGE, dtype="float16")}, ParameterError, "for the cost model only"),
    ],
    ids=range(9),
)
def test_what_is_wrong_is_named(change, kind, message):
    with pytest.raises(kind, match=message):
        dgrad(**{"problem": LARGE, "dy": DY, "w": W_} | change)


# -- index maps --------------------------------------------------------------------------------------------


@sampled(6)
@case
def test_index_maps_reach_what_the_definition_multiplies(problem):
    """A product of matrices whose cells the maps look up is the gradient."""
    problem = replace(problem, N=min(problem.N, 2), dtype="float64")
    x, w, dy = made(problem)
    (M, K, taps), C, dx, dw = problem.gemm, problem.C // problem.groups, np.empty_like(x), np.empty_like(w)
    for g in range(problem.groups):
        index, k, c = DgradMap(problem), np.arange(K), np.arange(C)
        m, j = np.arange(problem.N * problem.H * problem.W)[:, None], np.arange(problem.R * problem.S * K)
        product = taken(dy, index.dy_at(m, j, g)) @ taken(w, index.w_at(c, j[:, None], g))
        dx.reshape(-1)[index.dx_at(m, c, g)] = product
        forward, i, m = IndexMap(problem), np.arange(taps), np.arange(M)
        a, b = taken(dy, forward.y_at(m, k[:, None], g)), taken(x, forward.x_at(m[:, None], i, g))
        dw.reshape(-1)[forward.w_at(k[:, None], i, g)] = a @ b
    for found, expected in zip((dx, dw), by_definition(problem, x, w, dy), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_index_map_takes_plain_integers_and_refuses_others():
    index = DgradMap(LARGE)
    assert index.pixel(37 * 29 + 30) == (1, 1, 1)
    assert index.tap(23 * 3 + 5) == (1, 0, 5)
    assert index.source(0, 0) == (0, -1, 2, 0)  # h=0 lies half way between the first two lines
    with pytest.raises(ParameterError, match="m=-1"):
        index.pixel(-1)
    with pytest.raises(ParameterError, match=r"j=1\.5"):
        index.tap(1.5)


# -- costs -------------------------------------------------------------------------------------------------


@form
def test_costs_are_what_must_be_done_at_least(which, algorithm, backend):
    problem = served(which, algorithm)
    cost = TABLES[which][algorithm].cost(problem, backend, 2)
    assert cost.flops == 2 * TABLES[which][algorithm].macs(problem)
    assert cost.bytes_moved >= problem.x_bytes + problem.w_bytes + problem.y_bytes
    assert cost.packed_bytes >= (problem.w_bytes if which == "dgrad" else 0)
    assert cost.intensity == cost.flops / cost.bytes_moved
    assert planned(which, problem, algorithm=algorithm, backend=backend, threads=2).cost == cost


def test_bytes_by_hand():
    """A 3x3 layer with one of everything else: 25 pixels, 9 outputs, a matrix of 9 x 9."""
    problem = ConvProblem(1, 5, 5, 1, 1, 3, 3, dtype="float64")
    once, matrix = 25 + 9 + 9, 81
    expected = {
        ("dgrad", "col2im"): once + 2 * matrix,
        ("dgrad", "implicit_gemm"): 25 * 9 + 9 + 25,  # of each pixel nine taps of dy
        ("wgrad", "im2row"): once + 2 * matrix,
        ("wgrad", "parts"): matrix + 9 + 9,
    }
    for (which, name), numbers in expected.items():
        assert TABLES[which][name].cost(problem, "cpu").bytes_moved == 8 * numbers, name


# -- plans -------------------------------------------------------------------------------------------------


@sampled(4)
@form
def test_a_plan_does_what_the_door_does(which, algorithm, backend):
    problem = served(which, algorithm, SMALL)
    arguments, out = operands(which, problem)
    plan = planned(which, problem, algorithm=algorithm, backend=backend)
    given = arguments[:1] if which == "dgrad" else arguments
    for _ in range(2):  # what a run left behind does not matter
        for array in plan.workspace.values():
            array.fill(np.nan)
        assert plan(*given, out) is out
        np.testing.assert_array_equal(
            out, DOORS[which](problem, *arguments, algorithm=algorithm, backend=backend)
        )
    assert (plan.algorithm.name, plan.backend, plan.why) == (algorithm, backend, "it was asked for")


@pytest.mark.parametrize(("algorithm", "backend"), [form[1:] for form in FORMS if form[0] == "dgrad"])
def test_new_weights_take_the_place_of_the_old(algorithm, backend):
    problem = served("dgrad", algorithm, SMALL)
    (dy, w), _ = operands("dgrad", problem)
    plan = plan_dgrad(problem, np.zeros_like(w), algorithm=algorithm, backend=backend)
    old, new = plan.packed, w.copy()
    assert not plan(dy).any()
    plan.update(new)
    new[...] = np.nan  # it was copied
    expected = dgrad(problem, dy, w, algorithm=algorithm, backend=backend)
    np.testing.assert_array_equal(plan(dy), expected)
    plan.packed = old  # what a call that began before goes on with
    assert not plan(dy).any()
    with pytest.raises(ShapeError, match="w has shape"):
        plan.update(w[1:])


def test_dy_is_looked_at_again_beside_weights_of_another_size():
    """Once dy was seen beside small weights; beside large ones the sums of a transform overflow."""
    problem = ConvProblem(1, 56, 56, 64, 64, 3, 3, padding=1)
    (dy, w), _ = operands("dgrad", problem)
    plan = plan_dgrad(problem, w, backend="cpu")
    assert plan.packed[0].algorithm.mixing, "a transform was to be chosen"
    plan(dy)
    plan.update(2 * w)
    plan(dy)  # nothing to be said
    plan.update(w * np.float32(1e18))
    with pytest.warns(RuntimeWarning, match="dy has numbers as large as .* would overflow"):
        plan(dy * np.float32(1e18))


@form
def test_two_calls_at_once_share_no_workspace(which, algorithm, backend):
    """The first call stops before its form runs, the second overtakes it."""
    problem = served(which, algorithm, SMALL)
    plan = planned(which, problem, algorithm=algorithm, backend=backend)
    its, used = plan._form, []

    def run(problem, given, packed, workspace, out, threads):
        used.append(workspace)
        if len(used) == 1:
            plan(*given)
        its.run(problem, given, packed, workspace, out, threads)

    arguments, _ = operands(which, problem)
    given = arguments[:1] if which == "dgrad" else arguments
    expected = plan(*given)
    plan._form = replace(its, run=run)
    np.testing.assert_array_equal(plan(*given), expected)
    first, second = ({name: array.ctypes.data for name, array in one.items()} for one in used)
    assert first.keys() == second.keys()
    assert all(first[name] != second[name] for name in first if used[0][name].size)
    assert len(plan._idle) == 2
    plan(*given)
    assert any(one is used[2] for one in plan._idle)


def test_weights_that_a_transform_would_spread_take_another_convolution():
    problem = ConvProblem(2, 28, 28, 64, 64, 3, 3, padding=1)
    (dy, w), _ = operands("dgrad", problem)
    plan = plan_dgrad(problem, w, algorithm="flipped", backend="cpu")
    assert plan.packed[0].algorithm.mixing
    w[0, 0, 0, 5] = np.nan
    plan.update(w)
    assert not plan.packed[0].algorithm.mixing
    lost = np.isnan(plan(dy))
    assert lost[..., 5].any()
    assert not lost[..., :5].any()


def test_pixels_that_a_transform_would_spread_are_seen():
    """By a door that has them at hand; a plan says it at its first call."""
    problem = ConvProblem(2, 28, 28, 64, 64, 3, 3, padding=1)
    (dy, w), _ = operands("dgrad", problem)
    dy[0, 20, 20, 0] = np.inf
    plan = plan_dgrad(problem, w, algorithm="flipped", backend="cpu")
    said = r"this plan chose winograd_\w+ by itself, and dy holds .* algorithm='implicit_gemm' does not mix"
    with pytest.warns(RuntimeWarning, match=said) as caught:
        plan(dy)
    assert caught[0].filename == __file__  # the line that called the plan
    found = dgrad(problem, dy, w, algorithm="flipped", backend="cpu")
    assert np.isfinite(found).sum() == found.size - 9 * problem.C


def test_threads_call_a_plan_at_once():
    plan = plan_dgrad(LARGE, W_), plan_wgrad(LARGE)
    expected = plan[0](DY), plan[1](X_, DY)
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(plan[i % 2], *((X_, DY) if i % 2 else (DY,))) for i in range(16)]
    for i, call in enumerate(calls):
        np.testing.assert_array_equal(call.result(), expected[i % 2])


def test_another_workspace_is_refused_if_there_is_no_memory(monkeypatch):
    problem = ConvProblem(4, 64, 64, 32, 32, 3, 3, padding=1)
    _, w, dy = made(problem)
    plan = plan_dgrad(problem, w, algorithm="col2im", backend="cpu")
    monkeypatch.setattr(convlab.machine.facts, "memory_at_hand", lambda: 1 << 20)
    plan(dy)
    plan._idle.clear()
    with pytest.raises(WorkspaceError, match=r"a call of this plan beside another one needs .* let one wait"):
        plan(dy)


def test_what_a_plan_is_given_is_looked_at():
    plan = plan_dgrad(LARGE, W_, algorithm="col2im", backend="cpu")
    with pytest.raises(ShapeError, match=r"dy has shape .*expected \(N, P, Q, K\)"):
        plan(X_)
    with pytest.raises(ArrayError, match="out shares memory with matrix"):
        plan(DY, plan.workspace["matrix"].reshape(-1)[: X_.size].reshape(X_.shape))
    with pytest.raises(ShapeError, match=r"x has shape .*expected \(N, H, W, C\)"):
        plan_wgrad(LARGE)(DY, DY)


# -- transposed convolution --------------------------------------------------------------------------------


def scattered(x, w, stride, padding, more, dilation, groups):
    """Return the transposed convolution in float64: every pixel adds its filters to the output."""
    (N, H, W, C), (_, R, S, K) = x.shape, w.shape
    (top, bottom), (left, right) = padding
    P, Q = (
        (n - 1) * s + d * (t - 1) + 1 for n, s, d, t in zip((H, W), stride, dilation, (R, S), strict=True)
    )
    y = np.zeros((N, P + more[0], Q + more[1], groups * K))
    for n, h, v, c, r, s in np.ndindex(N, H, W, C, R, S):
        g = c // (C // groups)
        at = h * stride[0] + r * dilation[0], v * stride[1] + s * dilation[1]
        y[n, at[0], at[1], g * K : (g + 1) * K] += np.float64(x[n, h, v, c]) * w[c, r, s]
    return y[:, top : y.shape[1] - bottom, left : y.shape[2] - right]


@in_turns
@settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=strategies.data())
def test_transposed_convolution_scatters(data):
    def some(low, high):
        return data.draw(strategies.integers(low, high))

    groups = some(1, 2)
    x = np.random.default_rng(0).standard_normal((some(1, 2), some(1, 4), some(1, 5), groups * some(1, 2)))
    w = np.random.default_rng(1).standard_normal((x.shape[3], some(1, 3), some(1, 3), some(1, 3)))
    stride, dilation = ((some(1, 3), some(1, 3)) for _ in range(2))
    padding = tuple((some(0, 2), some(0, 2)) for _ in range(2))
    more = tuple(some(0, max(pair) - 1) for pair in zip(stride, dilation, strict=True))
    expected = scattered(x, w, stride, padding, more, dilation, groups)
    shaping = {"stride": stride, "padding": padding, "output_padding": more, "dilation": dilation}
    shaping["groups"] = groups
    if not expected.size:
        with pytest.raises(ShapeError, match=r"[PQ] would be -?\d+: the windows cover"):
            conv_transpose2d(x, w, **shaping)
        return
    bias = np.arange(float(expected.shape[3]))
    out = np.empty(expected.shape)
    assert conv_transpose2d(x, w, bias, **shaping, out=out) is out
    np.testing.assert_allclose(out, expected + bias, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"output_padding": 2}, r"output_padding\[0\]=2; expected less than the stride \(2\) or the dil"),
        ({"output_padding": (0, 3), "dilation": (1, 3)}, r"output_padding\[1\]=3"),
        ({"padding": "same"}, "padding='same'; expected numbers"),
        ({"stride": 1 << 30}, rf"P would be \d+; expected {(1 << 31) - 1} at most"),
        ({"padding": 9}, "P would be -12: the windows cover 6 pixels, the padding takes 9 . 9 away"),
        ({"groups": 3}, "groups=3 does not divide C=4"),
        ({"w": np.ones((3, 2, 2, 1), "f4")}, r"w has 3 input channels \(axis 0\), x has C=4"),
        ({"w": np.ones((4, 2, 2, 1))}, "w has dtype float64; expected float32"),
        ({"bias": np.ones(2, "f4")}, r"bias has shape \(2,\); expected \(K,\) = \(5,\)"),
    ],
    ids=range(9),
)
def test_what_is_wrong_with_a_transposed_convolution_is_named(change, message):
    given = {"x": np.ones((1, 3, 3, 4), "f4"), "w": np.ones((4, 2, 2, 5), "f4"), "stride": 2} | change
    with pytest.raises(ConvError, match=message):
        conv_transpose2d(**given)


@settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(problem=problems())
def test_agrees_with_autograd(problem):
    functions = pytest.importorskip("torch.nn.functional")
    problem = replace(problem, dtype="float64")
    x, w, dy = made(problem)
    tensor = pytest.importorskip("torch").tensor
    tx, tw, tdy = (tensor(nchw.to_nchw(one), requires_grad=True) for one in (x, w, dy))
    bias, ((top, bottom), (left, right)) = tensor(np.ones(problem.K), requires_grad=True), problem.padding
    shaping = {name: getattr(problem, name) for name in ("stride", "dilation", "groups")}
    functions.conv2d(functions.pad(tx, (left, right, top, bottom)), tw, bias, **shaping).backward(tdy)
    shaping["padding"] = tuple((size - 1) // 2 for size in problem.extent)
    shaping["output_padding"] = tuple(int(n) - 1 for n in np.maximum(problem.stride, problem.dilation))
    back = functions.conv_transpose2d(tdy, tw, **shaping).detach()
    y = conv_transpose2d(dy, w, **shaping)
    found = dgrad(problem, dy, w), wgrad(problem, x, dy), y
    for ours, theirs in zip(found, (tx.grad, tw.grad, back), strict=True):
        np.testing.assert_allclose(nchw.to_nchw(ours), theirs.numpy(), atol=1e-10)
    np.testing.assert_allclose(bgrad(dy), bias.grad.numpy(), atol=1e-10)
