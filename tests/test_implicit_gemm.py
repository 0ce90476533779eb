"""The matrix that is never stored: its index maps, its blocks, and the walk by three deltas."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from cases import CASES, arrays, assert_close, problems
from effort import examples, sampled
from hypothesis import given, settings
from hypothesis import strategies as st

from convlab import (
    ALGORITHMS,
    ConvError,
    ConvProblem,
    ParameterError,
    ShapeError,
    im2row,
    implicit_gemm,
    plan,
)
from convlab.algorithms.implicit_gemm import blocked, gather
from convlab.algorithms.precomputed_gemm.offsets import BLOCK_C, deltas, in_walking_order, tables, walk
from convlab.cpu.product_tile import tile_of
from convlab.index_map import LAYOUTS, IndexMap
from convlab.machine import facts
from convlab.oracle import reference

case = pytest.mark.parametrize("problem", CASES.values(), ids=CASES)
layout = pytest.mark.parametrize("layout", LAYOUTS)


def cells(problem):
    """Return all m (M, 1) and all k (taps,) of one group."""
    M, _, taps = problem.gemm
    return np.arange(M)[:, None], np.arange(taps)


# -- index maps --------------------------------------------------------------------------------------------


@case
@layout
def test_rows_and_columns_name_every_pixel_and_tap_once(problem, layout):
    index, (m, k) = IndexMap(problem, layout), cells(problem)
    channels = problem.C // problem.groups
    pixels = np.stack(np.broadcast_arrays(*index.pixel(m[:, 0])), axis=1)
    assert [tuple(p) for p in pixels] == list(np.ndindex(problem.y_shape[:3]))  # in the order of y
    taps = np.stack(np.broadcast_arrays(*index.tap(k)), axis=1)
    assert sorted(tuple(t) for t in taps) == list(np.ndindex(problem.R, problem.S, channels))


@case
@layout
def test_outputs_and_weights_are_each_reached_once(problem, layout):
    index, (m, k) = IndexMap(problem, layout), cells(problem)
    n = np.arange(problem.K // problem.groups)
    groups = range(problem.groups)
    outputs = np.concatenate([index.y_at(m, n, g).ravel() for g in groups])
    assert sorted(outputs) == list(range(int(np.prod(problem.y_shape))))
    weights = np.concatenate([index.w_at(n[:, None], k, g).ravel() for g in groups])
    assert sorted(weights) == list(range(int(np.prod(problem.w_shape))))


@case
@layout
def test_the_map_multiplies_to_the_convolution(problem, layout):
    """Nothing but the map, in all layouts: gather A, gather w, multiply, scatter into y."""
    x, w, _ = (a.astype(np.float64) for a in arrays(problem))
    axes_x, axes_w, axes_y = LAYOUTS[layout]
    to = {"NHWC": (0, 1, 2, 3), "NCHW": (0, 3, 1, 2), "KRSC": (0, 1, 2, 3), "RSCK": (1, 2, 3, 0)}
    to["KCRS"], from_y = to["NCHW"], {"NPQK": (0, 1, 2, 3), "NKPQ": (0, 2, 3, 1)}[axes_y]
    there_x, there_w = (np.ascontiguousarray(a.transpose(to[b])) for a, b in ((x, axes_x), (w, axes_w)))
    index, (m, k) = IndexMap(problem, layout), cells(problem)
    n = np.arange(problem.K // problem.groups)
    y = np.full(np.prod(problem.y_shape), np.nan)
    for g in range(problem.groups):
        a = gather(there_x, index, m[:, 0], k, g)  # (M, taps)
        b = there_w.ravel()[index.w_at(n[:, None], k, g)]  # (filters, taps)
        y[index.y_at(m, n, g)] = a @ b.T
    shape = tuple({"N": problem.N, "P": problem.P, "Q": problem.Q, "K": problem.K}[axis] for axis in axes_y)
    np.testing.assert_allclose(y.reshape(shape).transpose(from_y), reference(x, w, problem), atol=1e-11)


@case
def test_the_gathered_matrix_is_im2rows(problem):
    x = arrays(problem)[0]
    index, (m, k) = IndexMap(problem), cells(problem)
    groups = [gather(x, index, m[:, 0], k, g) for g in range(problem.groups)]
    np.testing.assert_array_equal(np.hstack(groups), im2row(x, problem))


def test_cells_small_enough_to_count_by_hand():
    index = IndexMap(ConvProblem(2, 5, 9, 2, 4, 3, 1, padding=(1, 0), stride=(2, 1)))
    assert index.pixel(9) == (0, 1, 0)
    assert index.pixel(27) == (1, 0, 0)  # P*Q = 3*9 pixels an image
    assert index.tap(5) == (2, 0, 1)
    assert index.source(9, 5) == (0, 3, 0, 1)
    assert index.x_at(9, 5) == (3 * 9 + 0) * 2 + 1
    assert index.x_at(0, 0) == -1
    assert IndexMap(index.problem, "nchw_fchw").tap(5) == (2, 0, 1)  # 5 = (1 * 3 + 2) * 1 + 0
    assert IndexMap(index.problem, "nchw_fchw").tap(1) == (1, 0, 0)
    with pytest.raises(ParameterError, match="layout='nhcw'; expected one of nhwc_krsc"):
        IndexMap(index.problem, "nhcw")
    with pytest.raises(ParameterError, match="expected one of nhwc_krsc"):
        IndexMap(index.problem, ["nhwc_krsc"])


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint16, np.uint64, np.int32])
def test_no_index_wraps_whatever_integers_it_is_given_in(kind):
    """Neither as an array nor as a number; the picture is so large that places need 32 bits."""
    index = IndexMap(ConvProblem(1, 300, 300, 70, 99, 3, 3, padding=2))
    m, k = np.arange(100), np.arange(90, 100)
    with np.errstate(over="raise"):
        for at, other in ((index.x_at, k), (index.y_at, k), (index.w_at, k)):
            wanted = at(m[:, None], other)
            np.testing.assert_array_equal(at(m[:, None].astype(kind), other.astype(kind)), wanted)
            assert at(kind(99), kind(99)) == wanted[-1, -1]


def square_map(problem, m, k):
    """Return (p, q, r, s) as the Wave tutorial's map has them: the extents of the width for the height."""
    p, q = m % (problem.P * problem.Q) % problem.Q, m % (problem.P * problem.Q) // problem.Q
    r, s = k // problem.C % problem.S, k // problem.C // problem.S
    return p, q, r, s


def stays_inside(problem, *places):
    extents = problem.P, problem.Q, problem.R, problem.S
    return all(place.max() < extent for place, extent in zip(places, extents, strict=True))


@pytest.mark.parametrize(
    ("sizes", "right"),
    [
        ({"H": 5, "W": 5, "R": 2, "S": 2}, True),  # the only kind of shape it is tested with
        ({"H": 5, "W": 9, "R": 2, "S": 2}, False),
        ({"H": 5, "W": 5, "R": 3, "S": 1}, False),
    ],
)
def test_a_map_that_swaps_the_extents_serves_squares_only(sizes, right):
    problem = ConvProblem(N=2, C=3, K=1, **sizes)
    m, k = (a.ravel() for a in cells(problem))
    assert stays_inside(problem, *square_map(problem, m, k)) == right
    (_, p, q), (r, s, _) = IndexMap(problem).pixel(m), IndexMap(problem).tap(k)
    assert stays_inside(problem, p, q, r, s)


# -- blocks ------------------------------------------------------------------------------------------------

sizes = st.integers(1, 70)


@sampled(0)
@settings(deadline=None, max_examples=examples(150))
@given(problem=problems(), m=sizes, n=sizes, k=sizes)
def test_no_block_size_changes_the_answer(problem, m, n, k):
    x, w, _ = arrays(problem)
    blocks = {"block_m": m, "block_n": n, "block_k": k}
    assert_close(implicit_gemm(x, w, problem, **blocks, backend="numpy"), x, w, problem, label=str(blocks))
    blocks["block_n"] = n * tile_of(problem).cols
    assert_close(implicit_gemm(x, w, problem, **blocks, backend="cpu"), x, w, problem, label=str(blocks))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_blocks_of_a_layer_with_more_filters_channels_and_pixels_than_a_block(threads):
    problem = ConvProblem(2, 14, 13, 96, 150, 3, 3, padding=1, stride=(1, 2))
    (x, w, _), cols = arrays(problem), tile_of(problem).cols
    for blocks in ((None, None, None), (5, 2 * cols, 100), (1, cols, 1000), (1000, None, 7)):
        prepared = plan(problem, w, algorithm=blocked(*blocks), backend="cpu", threads=threads)
        assert prepared.cost.workspace_bytes == prepared.workspace["scratch"].nbytes
        assert_close(prepared(x), x, w, problem, label=str(blocks))


@pytest.mark.parametrize("backend", ["numpy", "cpu"])
@pytest.mark.parametrize("name", ["block_m", "block_n", "block_k"])
@pytest.mark.parametrize("wrong", [0, -4, 2.0, "8", True])
def test_blocks_that_are_none_are_refused(backend, name, wrong):
    problem = CASES["plain"]
    x, w, _ = arrays(problem)
    with pytest.raises(ParameterError, match=f"{name}={wrong!r}; expected an integer above 0"):
        implicit_gemm(x, w, problem, backend=backend, **{name: wrong})


def test_a_block_that_cuts_a_panel_is_refused_where_there_are_panels():
    problem = CASES["more filters than a tile"]
    x, w, _ = arrays(problem)
    cols = tile_of(problem).cols
    assert_close(implicit_gemm(x, w, problem, block_n=cols + 1), x, w, problem)
    with pytest.raises(ParameterError, match=f"block_n={cols + 1}; on backend='cpu' .* multiple of {cols}"):
        implicit_gemm(x, w, problem, block_n=cols + 1, backend="cpu")


def test_arrays_that_do_not_fit_are_refused():
    problem = CASES["plain"]
    x, w, _ = arrays(problem)
    with pytest.raises(ShapeError, match="w has shape"):
        implicit_gemm(x, w[:, :2], problem)
    with pytest.raises(ShapeError, match="x has shape"):
        implicit_gemm(x[:, :2], w, problem)


def test_the_scratch_does_not_grow_with_the_layer():
    layer = {"C": 512, "K": 512, "R": 3, "S": 3, "padding": 1}
    small, large = (
        ALGORITHMS["implicit_gemm"].workspace_bytes(ConvProblem(1, n, n, **layer)) for n in (14, 224)
    )
    assert small == large < 256 << 10
    matrix = ALGORITHMS["im2row"].workspace_bytes(ConvProblem(1, 224, 224, **layer))
    assert matrix > 1000 * large


# -- the walk ----------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=examples(200))
@given(problem=problems(most_macs=10**6), block_c=st.integers(1, 6), data=st.data())
def test_walking_by_deltas_leads_where_the_index_map_leads(problem, block_c, data):
    rows, channels = data.draw(st.integers(1, 8)), problem.C // problem.groups
    index, M = IndexMap(problem), problem.gemm[0]
    table = tables(problem, rows)
    assert table["starts"].shape == (-(-M // rows) * rows,)
    assert table["masks"].shape == (-(-M // rows), problem.R * problem.S)
    for group in range(problem.groups):
        seen = []
        for c, r, s, distance in walk(problem, block_c):
            k = (r * problem.S + s) * channels + c
            for m, start in enumerate(table["starts"]):
                hit = table["masks"][m // rows, r * problem.S + s] >> (m % rows) & 1
                at = start + distance + group * channels
                assert index.x_at(min(m, M - 1), k, group) == (at if hit else -1)
            seen += range(k, k + min(block_c, channels - c))
        assert sorted(seen) == list(range(problem.gemm[2]))  # every column of A, once


@settings(deadline=None, max_examples=examples(100))
@given(problem=problems(most_macs=10**6), block_c=st.integers(1, 6))
def test_three_deltas_are_all_there_are(problem, block_c):
    steps = [b[3] - a[3] for a, b in pairwise(walk(problem, block_c))]
    next_s, next_r, next_c = deltas(problem, block_c)
    turn = problem.R * problem.S
    for i, step in enumerate(steps, 1):
        assert step == (next_c if i % turn == 0 else next_r if i % problem.S == 0 else next_s)


@pytest.mark.parametrize("backend", ["numpy", "cpu"])
@pytest.mark.parametrize(
    "problem",
    [
        ConvProblem(1, 6, 5, BLOCK_C * 2 + 9, 5, 3, 2, padding=1),
        ConvProblem(2, 5, 6, BLOCK_C * 6, 6, 2, 3, padding=(0, 2), groups=3, dilation=2),
    ],
)
def test_channels_of_several_blocks(backend, problem):
    x, w, _ = arrays(problem)
    for threads in (1, 2):
        prepared = plan(problem, w, algorithm="precomputed_gemm", backend=backend, threads=threads)
        assert sum(a.nbytes for a in prepared.workspace.values()) == prepared.cost.workspace_bytes
        assert_close(prepared(x), x, w, problem)


def test_weights_lie_in_the_order_of_the_walk():
    problem = ConvProblem(1, 4, 4, 10, 4, 2, 3, groups=2)
    w = np.arange(np.prod(problem.w_shape), dtype=np.float32).reshape(problem.w_shape)
    packed = in_walking_order(problem, w, block_c=2)
    for group in range(2):
        expected = [w[group * 2 : group * 2 + 2, r, s, c : c + 2] for c, r, s, _ in walk(problem, 2)]
        np.testing.assert_array_equal(packed[group], np.hstack(expected))


def test_the_tables_are_smaller_than_the_indirection_buffer():
    problem = ConvProblem(1, 56, 56, 64, 64, 3, 3, padding=1)
    sizes = {name: ALGORITHMS[name].workspace_bytes(problem) for name in ("precomputed_gemm", "indirect")}
    assert sizes["precomputed_gemm"] < sizes["indirect"] / 3


@pytest.mark.parametrize("backend", ["numpy", "cpu"])
@pytest.mark.parametrize("integer", [int, np.uint8, np.int8, np.int64])
def test_numpys_integers_do_not_wrap(integer, backend):
    problem = ConvProblem(2, 20, 19, 8, 40, 3, 3, padding=1)
    rng = np.random.default_rng(0)
    x = rng.standard_normal(problem.x_shape).astype("f4")
    w = rng.standard_normal(problem.w_shape).astype("f4")
    y = implicit_gemm(x, w, problem, block_m=integer(100), block_k=integer(36), backend=backend)
    assert_close(y, x, w, problem)
    for huge in (2**64, 10**30):
        y = implicit_gemm(
            x, w, problem, block_m=huge, block_n=huge - huge % 960, block_k=huge, backend=backend
        )
        assert_close(y, x, w, problem)


def test_blocks_of_your_own_pass_the_same_checks(monkeypatch):
    problem = ConvProblem(1, 200, 200, 8, 8, 3, 3, padding=1)
    x, w = np.ones(problem.x_shape, "f4"), np.ones(problem.w_shape, "f4")
    with pytest.raises(ConvError, match="problem is a str"):
        implicit_gemm(x, w, "x")
    with pytest.raises(ConvError, match="cost model only"):
        implicit_gemm(x, w, replace(problem, dtype="float16"))
    monkeypatch.setattr(facts, "memory_at_hand", lambda: 4 << 20)
    with pytest.raises(ConvError, match="memory are free"):
        implicit_gemm(x, w, problem, block_m=10**6, block_k=10**6, backend="cpu")
