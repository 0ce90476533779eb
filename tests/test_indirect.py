"""The indirection buffer: laid out as XNNPACK does, and made anew only where it must be."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from cases import CASES, arrays, assert_close
from effort import examples, in_turns, sampled
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from convlab import (
    ALGORITHMS,
    ConvError,
    ConvProblem,
    ParameterError,
    UnsupportedError,
    WorkspaceError,
    conv2d,
    plan,
)
from convlab.algorithms.indirect import buffer, indirection_buffer
from convlab.algorithms.indirect.cpu import WORTH_ASKING
from convlab.cpu import gemm
from convlab.cpu.tile_size import tile_for


@pytest.mark.parametrize("problem", CASES.values(), ids=CASES)
@pytest.mark.parametrize("rows", [1, 4, 7])
def test_every_entry_is_the_place_of_its_pixel(problem, rows):
    buffer = indirection_buffer(problem, rows)
    M = problem.P * problem.Q
    assert buffer.shape == (-(-M // rows), problem.R * problem.S, rows)
    assert buffer.dtype == np.int32
    (top, _), (left, _) = problem.padding
    for (i, t, j), place in np.ndenumerate(buffer):
        p, q = divmod(min(i * rows + j, M - 1), problem.Q)
        r, s = divmod(t, problem.S)
        h = p * problem.stride[0] + r * problem.dilation[0] - top
        w = q * problem.stride[1] + s * problem.dilation[1] - left
        inside = 0 <= h < problem.H and 0 <= w < problem.W
        assert place == ((h * problem.W + w) * problem.C if inside else -1)


@pytest.mark.parametrize("problem", CASES.values(), ids=CASES)
def test_leaving_out_tiles_leaves_the_others(problem):
    whole = indirection_buffer(problem, 3)
    for first in range(len(whole) + 1):
        np.testing.assert_array_equal(indirection_buffer(problem, 3, first), whole[first:])


def test_places_that_no_entry_can_hold_are_refused():
    """As the algorithm does; an entry of 4 bytes would begin anew below 0."""
    step = 2**15  # four output pixels
    widest = ConvProblem(1, 2**16 - 1, 2**15, 1, 1, 1, 1, stride=step)
    assert indirection_buffer(widest).tolist() == [[[0]], [[2**30]]]
    for problem in (replace(widest, H=2**16), ConvProblem(1, 2**16, 2**16, 1, 1, 1, 1, stride=step)):
        assert ALGORITHMS["indirect"].supports(problem)
        with pytest.raises(UnsupportedError, match=r"problem: one image has .* numbers, the offsets reach"):
            indirection_buffer(problem)


def test_no_more_tiles_are_left_out_than_there_are():
    with pytest.raises(ParameterError, match="first=22; expected an integer from 0 to 21"):
        indirection_buffer(CASES["one pixel of padding"], 3, 22)


@pytest.mark.parametrize("problem", CASES.values(), ids=CASES)
@pytest.mark.parametrize("rows", [1, 4, 7])
def test_taps_that_go_together_lie_side_by_side(problem, rows):
    """For all pixels of a tile, or on padding for all. Of other tiles one pixel at least tears them apart."""
    table = indirection_buffer(problem, rows).reshape(-1, problem.R, problem.S, rows)
    runs = buffer.runs_of(problem, rows)
    assert (runs.shape, runs.dtype) == (table.shape[:1], np.int32)
    for lines, run in zip(table, runs, strict=True):
        before, after = lines[:, :-1], lines[:, 1:]
        beside = (after == before + problem.C) & (before >= 0) | (after == -1) & (before == -1)
        assert run in (1, problem.S)
        if run > 1:
            assert problem.groups == 1
            assert beside.all()
        elif problem.S > 1 and problem.groups == 1 and (lines >= 0).any(axis=(0, 1)).all():
            assert not beside.all()


def test_one_entry_serves_all_channels_groups_and_images():
    sizes = {"H": 9, "W": 7, "R": 3, "S": 3, "padding": 1}
    few, many = (
        ConvProblem(1, C=1, K=1, **sizes),
        ConvProblem(5, C=64, K=8, groups=4, **sizes),
    )
    size = {p: ALGORITHMS["indirect"].workspace_bytes(p) for p in (few, many)}
    assert size[many] - size[few] == 4 * 3 * (16 - 1)  # zeros: a line of taps, the channels of a group


sizes = st.integers(3, 30)


def tiles_that_hold(old, new, rows):
    """Return how many tiles, from the first on, read the same pixels whether the picture is old or new.

    Window by window and tap by tap, from the definition: every tap of theirs lies above both lower edges.
    """
    if old.W != new.W:
        return 0
    lowest, last = min(old.H, new.H), min(old.P * old.Q, new.P * new.Q) - 1
    for i in range(min(len(indirection_buffer(p, rows)) for p in (old, new))):
        for m in range(i * rows, (i + 1) * rows):
            below = m // new.Q * new.stride[0] - new.padding[0][0] + (new.R - 1) * new.dilation[0]
            if m > last or below >= lowest:
                return i
    return i + 1


@settings(deadline=None, max_examples=examples(200))
@given(st.data())
def test_resize_keeps_what_still_holds_and_nothing_else(data):
    problem = ConvProblem(
        N=data.draw(st.integers(1, 2)),
        H=data.draw(sizes),
        W=data.draw(sizes),
        C=data.draw(st.integers(1, 3)),
        K=2,
        R=data.draw(st.integers(1, 3)),
        S=data.draw(st.integers(1, 3)),
        stride=(data.draw(st.integers(1, 4)), data.draw(st.integers(1, 2))),
        padding=((data.draw(st.integers(0, 4)), data.draw(st.integers(0, 4))), (1, 0)),
        dilation=(1, 1),
    )
    w = arrays(problem)[1]
    for backend in ("numpy", "cpu"):
        prepared = plan(problem, w, algorithm="indirect", backend=backend)
        for _ in range(2):
            before, table = prepared.problem, prepared.workspace["offsets"]
            change = data.draw(st.sampled_from(["N", "H", "W"]))
            size = data.draw(sizes if change != "N" else st.integers(1, 4))
            with patch.object(buffer, "indirection_buffer", wraps=indirection_buffer) as build:
                said = prepared.resize(**{change: size})
            after = prepared.problem
            fresh = plan(after, w, algorithm="indirect", backend=backend)
            np.testing.assert_array_equal(prepared.workspace["offsets"], fresh.workspace["offsets"])
            assert prepared.cost.workspace_bytes == sum(a.nbytes for a in prepared.workspace.values())
            if (before.H, before.W) == (after.H, after.W):
                assert said == "nothing"
                assert not build.called
                assert prepared.workspace["offsets"] is table
            else:
                (built,) = build.call_args_list
                kept = built.kwargs["first"]
                assert kept == tiles_that_hold(before, after, table.shape[2])
                tiles = -(-after.P * after.Q // table.shape[2])
                assert said == {0: "all", tiles: "nothing"}.get(kept, "part")
            x = arrays(after)[0]
            assert_close(prepared(x), x, w, after)


def test_resize_says_what_the_algorithm_needs():
    problem = ConvProblem(1, 56, 56, 8, 8, 3, 3, padding=1)
    w = arrays(problem)[1]
    prepared = plan(problem, w, algorithm="indirect", backend="cpu")
    buffer = prepared.workspace["offsets"]
    prepared(arrays(problem, seed=1)[0])
    assert prepared.workspace["offsets"] is buffer
    assert prepared.resize(N=32) == "nothing"
    assert prepared.workspace["offsets"] is buffer
    assert prepared.resize(H=64) == "part"
    assert prepared.resize(H=56) == "part"
    assert prepared.resize(W=57) == "all"
    assert prepared.resize(H=56, W=57, N=32) == "nothing"


@sampled(6)
@pytest.mark.parametrize("backend", ["numpy", "cpu"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_any_plan_can_be_resized(algorithm, backend):
    problem = next(p for p in CASES.values() if not ALGORITHMS[algorithm].supports(p))
    w = arrays(problem)[1]
    prepared = plan(problem, w, algorithm=algorithm, backend=backend)
    for change in ({"N": 2}, {"H": problem.H + 3}, {"W": problem.W + 1}, {}):
        prepared.resize(**change)
        x = arrays(prepared.problem)[0]
        assert_close(prepared(x), x, w, prepared.problem, rounding=ALGORITHMS[algorithm].rounding)
    assert prepared.resize() == "nothing"


def test_a_wrong_resize_changes_nothing():
    problem = CASES["plain"]
    x, w, _ = arrays(problem)
    prepared = plan(problem, w, algorithm="indirect")
    for wrong in ({"H": 1}, {"W": 0}, {"N": 2.5}, {"H": 1 << 30, "N": 1 << 30}):
        with pytest.raises(ConvError):
            prepared.resize(**wrong)
        assert prepared.problem is problem
    assert_close(prepared(x), x, w, problem)


def test_another_size_is_refused_and_the_way_out_is_named():
    problem = CASES["plain"]
    _, w, _ = arrays(problem)
    prepared = plan(problem, w, algorithm="indirect")
    taller = np.zeros((2, problem.H + 2, problem.W, problem.C), "f4")
    with pytest.raises(ConvError, match=r"plan\.resize\(N=2, H=11, W=7\)"):
        prepared(taller)
    with pytest.raises(ConvError) as told:
        prepared(np.zeros((1, problem.H, problem.W, problem.C + 1), "f4"))
    assert "resize" not in str(told.value)


def test_offsets_that_need_more_than_four_bytes_are_refused():
    problem = ConvProblem(1, 1 << 15, 1 << 15, 4, 1, 1, 1)
    assert "offsets" in ALGORITHMS["indirect"].supports(problem)


def test_no_way_out_is_named_that_does_not_lead_out():
    problem = CASES["plain"]
    prepared = plan(problem, arrays(problem)[1], algorithm="indirect")
    with pytest.raises(ConvError) as told:
        prepared(np.zeros((1, 2, 2, problem.C), "f4"))  # smaller than the filter
    assert "resize" not in str(told.value)


def test_a_resize_that_is_interrupted_leaves_the_plan_whole(monkeypatch):
    problem = ConvProblem(1, 9, 7, 3, 4, 3, 3, padding=1)
    x, w, _ = arrays(problem)
    for algorithm in ("fft", "im2row", "indirect"):
        prepared = plan(problem, w, algorithm=algorithm, backend="cpu")

        def interrupted(*arguments):
            raise MemoryError

        form = replace(
            prepared._form, allocate=interrupted, resize=interrupted if algorithm == "indirect" else None
        )
        monkeypatch.setattr(prepared, "_form", form)
        with pytest.raises(WorkspaceError):
            prepared.resize(H=30)
        assert_close(prepared(x), x, w, problem, rounding=ALGORITHMS[algorithm].rounding)


@pytest.mark.parametrize("channels", [WORTH_ASKING - 1, WORTH_ASKING])
def test_taps_that_lie_on_padding_for_whole_tiles(channels):
    """Long taps are left out there, short ones add their zeros."""
    problem = ConvProblem(2, 4, 9, 2 * channels, 6, 5, 3, padding=(4, 1), groups=2)
    x, w, _ = arrays(problem)
    prepared = plan(problem, w, algorithm="indirect", backend="cpu")
    assert (prepared.workspace["offsets"] < 0).all(axis=2).any()
    assert_close(prepared(x), x, w, problem)


@in_turns
@pytest.mark.inside
@settings(max_examples=examples(30), deadline=None)
@given(st.data())
def test_groups_that_lie_side_by_side(data):
    """Any number of them, whole vectors or not, in steps and on padding; and the same by way of another."""
    draw = data.draw
    dtype = draw(st.sampled_from(["float32", "float64"]))
    channels = draw(st.sampled_from([size for size in (1, 2, 4, 8, 16) if size <= tile_for(dtype).lanes]))
    groups = draw(st.integers(2, 80 // channels))
    sizes = draw(st.fixed_dictionaries({name: st.integers(1, 9) for name in "NHW"}))
    taps = draw(st.fixed_dictionaries({name: st.integers(1, 3) for name in "RS"}))
    steps = {name: draw(st.tuples(st.integers(1, 3), st.integers(1, 3))) for name in ("stride", "dilation")}
    steps["padding"] = draw(st.tuples(*[st.tuples(st.integers(0, 3), st.integers(0, 3))] * 2))
    C = groups * channels
    try:
        problem = ConvProblem(**sizes, C=C, K=C, **taps, **steps, groups=groups, dtype=dtype)
    except ConvError:
        reject()
    x, w, bias = arrays(problem)
    prepared = plan(problem, w, bias, algorithm="indirect", backend="cpu", threads=draw(st.integers(1, 2)))
    assert len(prepared.packed) == 1, "one product"
    right = conv2d(x, w, bias, **steps, groups=groups, algorithm="precomputed_gemm", backend="cpu")
    np.testing.assert_allclose(prepared(x), right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("C", "K", "groups"), [(6, 6, 2), (8, 16, 4), (16, 8, 4), (64, 64, 2), (16, 16, 1)])
def test_groups_that_do_not(C, K, groups):
    """Of three channels, of more filters than channels or fewer, of more than a vector; and a single one."""
    problem = ConvProblem(1, 5, 6, C, K, 3, 3, padding=1, groups=groups)
    x, w, _ = arrays(problem)
    prepared = plan(problem, w, algorithm="indirect", backend="cpu")
    assert len(prepared.packed) == groups
    assert_close(prepared(x), x, w, problem)


@in_turns
@pytest.mark.inside
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("algorithm", "R"), [("indirect", 3), ("pointwise", 1), ("im2row", 3)])
def test_weights_that_are_asked_for_early_are_the_same(monkeypatch, algorithm, R, threads):
    """Several panels, the last one narrow, and several blocks of pixels: the requests change no bit."""
    problem = ConvProblem(2, 9, 11, 8, 83, R, R, padding=R // 2)
    x, w, _ = arrays(problem)
    outputs = []
    for far in (gemm.FAR, 0):
        monkeypatch.setattr(gemm, "FAR", far)
        outputs.append(plan(problem, w, algorithm=algorithm, backend="cpu", threads=threads)(x))
    assert gemm.asked_for(w) == 0
    assert np.array_equal(*outputs)
    assert_close(outputs[0], x, w, problem)
