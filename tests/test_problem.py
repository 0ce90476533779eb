"""ConvProblem: sizes, work, memory, and the taps that hit the picture."""

from itertools import pairwise

import numpy as np
import pytest
from cases import CASES, problems
from effort import examples
from hypothesis import given, settings

from convlab import ConvProblem
from convlab.algorithms import ALGORITHMS, Formula
from convlab.cpu.register_tile import tile_for
from convlab.support.aligned import aligned_empty
from convlab.support.units import bytes_text, count_text, ratio_text, time_text


def test_resnet_conv1_by_hand():
    problem = ConvProblem(1, 224, 224, 3, 64, 7, 7, stride=2, padding=3)
    assert (problem.P, problem.Q) == ((224 + 6 - 7) // 2 + 1, 112)
    assert problem.gemm == (112 * 112, 64, 7 * 7 * 3)
    assert problem.macs == 112 * 112 * 64 * 147 == 118_013_952
    assert problem.flops == 2 * problem.macs
    assert problem.x_bytes == 224 * 224 * 3 * 4
    assert problem.w_bytes == 64 * 147 * 4
    assert problem.y_bytes == 112 * 112 * 64 * 4


@settings(max_examples=examples(300), deadline=None)
@given(problem=problems())
def test_output_size_is_the_number_of_window_positions(problem):
    for out, size, axis in (("P", problem.H, 0), ("Q", problem.W, 1)):
        before, after = problem.padding[axis]
        padded, step, extent = size + before + after, problem.stride[axis], problem.extent[axis]
        assert getattr(problem, out) == len(range(0, padded - extent + 1, step))


@settings(max_examples=examples(300), deadline=None)
@given(problem=problems())
def test_inside_names_exactly_the_taps_that_hit_the_picture(problem):
    for r in range(problem.R):
        for s in range(problem.S):
            (p, q), (h, w) = problem.inside(r, s)
            for outs, ins, tap, axis, size, out in (
                (p, h, r, 0, problem.H, problem.P),
                (q, w, s, 1, problem.W, problem.Q),
            ):
                first, step = -problem.padding[axis][0] + tap * problem.dilation[axis], problem.stride[axis]
                pairs = [(o, first + o * step) for o in range(out) if 0 <= first + o * step < size]
                found = zip(range(out)[outs], range(size)[ins], strict=True)
                assert list(found) == pairs


def test_aligned_arrays_begin_at_a_cache_line():
    for shape, dtype in (((1,), "float32"), ((3, 5, 7), "float64"), ((2, 0), "float32")):
        array = aligned_empty(shape, dtype)
        assert (array.shape, array.dtype) == (shape, np.dtype(dtype))
        assert array.ctypes.data % 64 == 0 or not array.size
        assert array.flags.c_contiguous
        assert array.flags.writeable


def test_large_arrays_begin_apart_in_their_pages():
    arrays = [aligned_empty((64, 64, 4)) for _ in range(20)]
    starts = [array.ctypes.data % 2048 for array in arrays]
    assert all(start % 64 == 0 and 256 <= start <= 2048 - 256 for start in starts)  # NumPy's: near 0
    assert all(256 <= (one - next_one) % 2048 <= 2048 - 256 for one, next_one in pairwise(starts))


def test_same_padding_is_tensorflows():
    for size in range(1, 12):
        for stride in (1, 2, 3):
            for taps in (1, 2, 3, 5):
                problem = ConvProblem(1, size, size + 1, 1, 1, taps, 1, stride=stride, padding="same")
                assert -(-size // stride) == problem.P
                (top, bottom), _ = problem.padding
                assert 0 <= bottom - top <= 1


def test_same_and_valid_agree_with_numbers():
    same = ConvProblem(1, 8, 9, 1, 1, 3, 5, padding="same")
    assert same.padding == ((1, 1), (2, 2))
    assert ConvProblem(1, 8, 9, 1, 1, 3, 5, padding="valid") == ConvProblem(1, 8, 9, 1, 1, 3, 5)


def test_spellings_of_one_problem_are_equal():
    a = ConvProblem(1, 8, 9, 2, 2, 3, 3, stride=2, padding=1, dilation=1, dtype=np.float32)
    b = ConvProblem(
        *np.array([1, 8, 9, 2, 2, 3, 3]), stride=[2, 2], padding=((1, 1), [1, 1]), dilation=np.array([1, 1])
    )
    assert a == b
    assert hash(a) == hash(b)


def test_formulas_refuse_what_javascript_would_not_share():
    for bad in ("N ** 2", "x", "N // 2", "__import__('os')", "N if H else W"):
        with pytest.raises((ValueError, SyntaxError)):
            Formula(bad)(CASES["wide image"])


def test_formula_is_shown_as_it_is_computed():
    formula = Formula("ceil(N*P*Q / 4) * max(R, S) * b")
    problem = CASES["wide image"]
    pixels = problem.N * problem.P * problem.Q
    assert formula(problem) == -(-pixels // 4) * max(problem.R, problem.S) * 4
    assert str(formula) == "ceil(N·P·Q / 4) × max(R, S) × b"


def test_parts_of_a_formula_may_use_those_before_them():
    formula = Formula("tiles * b", {"step": "max(4-R, 1)", "tiles": "N*ceil(P/step)"})
    problem = ConvProblem(2, 11, 9, 1, 1, 2, 1)
    assert formula(problem) == 2 * 5 * 4
    assert str(formula) == "tiles × b"
    assert formula.javascript.endswith(
        "const step = max(4-R, 1); const tiles = N*ceil(P/step); return Math.round(tiles * b);"
    )
    for wrong in ({"a": "c", "c": "N"}, {"a": "a"}, {"a": "N // 2"}):
        with pytest.raises(ValueError, match="in formula"):
            Formula("a", wrong)(problem)


def test_rows_of_the_register_tile_that_fits_best():
    """`tiled` times what `tile_for` computes: in whole numbers, in fractions and in floating point."""
    for rows in (1, 4, 5, 9, 16, 27, 45, 49, 50, 100, 3136):
        problem = ConvProblem(rows, 1, 1, 1, 1, 1, 1)
        height = tile_for(rows=rows).rows
        taken = len(range(0, rows, height)) * (4.5 if height == 4 else height)
        for text in ("2*tiled(N)", "2*tiled(3*N/3)"):
            assert Formula(text)(problem) == Formula(text).quick(problem) == 2 * taken, (text, rows)
    assert "const tiled" in Formula("2 * tiled(N)").javascript
    assert "const tiled" not in Formula("2 * N").javascript


@pytest.mark.parametrize("problem", CASES.values(), ids=CASES)
def test_traffic_is_at_least_every_array_once(problem):
    compulsory = problem.x_bytes + problem.w_bytes + problem.y_bytes
    assert ALGORITHMS["direct"].cost(problem).bytes_moved == compulsory
    for algorithm in ("im2row", "im2col"):
        cost = ALGORITHMS[algorithm].cost(problem)
        assert cost.bytes_moved == compulsory + 2 * cost.workspace_bytes
        assert cost.intensity == problem.flops / cost.bytes_moved


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0, "0 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (7225344, "6.89 MiB"), (10 * 2**30, "10.0 GiB")),
        *(
            (1023.6, "1.00 KiB"),
            (1023.4 * 1024, "1023 KiB"),
            (1_048_575, "1.00 MiB"),
            (2**40 - 1, "1.00 TiB"),
        ),
        *((15 * 2**60, "15.0 EiB"), (2000 * 2**60, "2000 EiB")),
    ],
)
def test_bytes_text(value, text):
    assert bytes_text(value) == text


def test_count_and_time_text():
    assert count_text(1_813_561_344) == "1.81 G"
    assert count_text(7) == "7"
    assert [count_text(n) for n in (999, 999_499, 999_999)] == ["999", "999 k", "1.00 M"]
    assert time_text(0.0123) == "12.3 ms"
    assert time_text(3.2e-6) == "3.20 µs"
    assert [time_text(t) for t in (0.9994, 0.9996, 75)] == ["999 ms", "1.00 s", "75.0 s"]


def test_ratio_text():
    ratios = {
        0: "0.00×",
        0.001: "< 0.01×",
        0.0625: "0.06×",
        0.96: "0.96×",
        9: "9.0×",
        99.94: "99.9×",
        278.4: "278×",
    }
    assert {value: ratio_text(value) for value in ratios} == ratios
