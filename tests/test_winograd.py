"""Winograd's convolution: the matrices are exact, and the rounding errors are as large as published."""

from fractions import Fraction
from itertools import product

import numba
import numpy as np
import pytest
from cases import arrays, assert_close
from effort import examples, sampled
from hypothesis import given, settings
from hypothesis import strategies as st

from convlab import ALGORITHMS, ConvError, ConvProblem, UnsupportedError, plan
from convlab.algorithms.winograd.error import amplification, measured_error
from convlab.algorithms.winograd.tiles import BLOCK, transform_weights
from convlab.algorithms.winograd.transforms import POINTS, in_steps, operations, transforms
from convlab.cpu.assembly import loops, uncached
from convlab.cpu.jit import njit
from convlab.cpu.register_tile import tile_for
from convlab.cpu.small_matmul import Transform, both_sides, read, write
from convlab.oracle import reference

COLS = tile_for().cols
SIZES = (2, 4, 6)
size = pytest.mark.parametrize("m", SIZES)


def dot(matrix, vector):
    return [sum((a * b for a, b in zip(row, vector, strict=True)), Fraction(0)) for row in matrix]


def unit(length, i):
    return [Fraction(j == i) for j in range(length)]


def assert_exact(m, r, points):
    """Both sides are linear in d and in g: unit vectors prove them equal for all d and g."""
    AT, G, BT = transforms(m, points, r)
    n = m + r - 1
    for i, k in product(range(n), range(r)):
        d, g = unit(n, i), unit(r, k)
        y = dot(AT, [a * b for a, b in zip(dot(G, g), dot(BT, d), strict=True)])
        assert y == [sum(d[o + t] * g[t] for t in range(r)) for o in range(m)]


@size
def test_the_transforms_are_a_filter_exactly(m):
    assert_exact(m, 3, POINTS[m])


distinct = st.lists(st.fractions(-4, 4, max_denominator=6), min_size=2, max_size=7, unique=True)


@settings(max_examples=examples(50), deadline=None)
@given(points=distinct, data=st.data())
def test_any_distinct_points_will_do(points, data):
    r = data.draw(st.integers(1, len(points)))
    assert_exact(len(points) + 2 - r, r, points)


def test_the_matrices_of_the_paper():
    """Lavin & Gray print F(2, 3); a row of G and of BT may both be negated, and the last of AT and BT."""
    AT, G, BT = transforms(2)
    half = Fraction(1, 2)
    assert BT[:3] == ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0))
    assert list(G) == [(1, 0, 0), (half, half, half), (half, -half, half), (0, 0, 1)]
    assert [row[:3] for row in AT] == [(1, 1, 1), (0, 1, -1)]
    assert AT[1][3] * BT[3][1] == -1


@pytest.mark.parametrize("points", [(0, 1), (0, 1, 1), (0, 1, "2/2"), (0, 1, 2, 3)])
def test_points_must_be_distinct_and_enough(points):
    with pytest.raises(ConvError, match="3 distinct points"):
        transforms(2, points)


@pytest.mark.parametrize("wrong", [lambda: transforms(3), lambda: measured_error(3), lambda: transforms("2")])
def test_only_some_tiles_have_points_of_their_own(wrong):
    with pytest.raises(ConvError, match=r"^m=.*; expected (one of 2, 4, 6|an integer above 0)$"):
        wrong()


@size
@pytest.mark.parametrize("name", ["AT", "BT"])
def test_the_steps_multiply_to_the_matrix_and_save_work(m, name):
    matrix = getattr(transforms(m), name)
    steps = in_steps(matrix)
    for j in range(len(matrix[0])):
        column = unit(len(matrix[0]), j)
        for step in steps:
            column = dot(step, column)
        assert column == [row[j] for row in matrix]
    assert operations(steps) <= operations([matrix])
    assert m == 2 or operations(steps) < operations([matrix])


@njit(cache=False)
def _into(transform, x, outside, inside, y, width):
    n, m, lanes = transform.inputs, transform.outputs, width
    cells = read(transform, x, 0, n * lanes, lanes, inside, outside, width)
    write(transform, both_sides(transform, cells), y, 0, m * lanes, lanes, m, m, width)


@sampled(1)
@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_a_transform_reads_what_lies_in_the_picture_and_no_channel_beyond(lanes):
    """Vectors of 16 bytes, as on ARM, have a path of their own: `lanes` of float64 and of float32."""
    BT, rng = transforms(2).BT, np.random.default_rng(0)
    dtype = "float64" if lanes == 2 else "float32"
    transform, matrix = Transform(in_steps(BT), lanes, dtype), np.array(BT, dtype)
    for width in range(1, lanes + 1):
        x = rng.standard_normal((4, 4, width)).astype(dtype)
        y = np.full(16 * width + 64, 77, dtype)
        seen = x.copy()
        x[0], seen[0] = np.nan, 0  # a line above the picture
        x[:, 3], seen[:, 3] = np.nan, 0  # a column beside it
        _into(transform, x.reshape(-1), np.zeros(lanes, dtype), (1, 4, 0, 3), y, width)
        expected = np.einsum("ia,abc,jb->ijc", matrix, seen, matrix)
        np.testing.assert_allclose(y[: 16 * width].reshape(4, 4, width), expected, atol=1e-5)
        assert (y[16 * width :] == 77).all()


@size
def test_fewer_multiplications(m):
    problem = ConvProblem(1, 48, 48, 256, 256, 3, 3, padding=1)
    gain = problem.flops / ALGORITHMS[f"winograd_{m}x{m}"].flops(problem)
    products_alone = 9 * m * m / (m + 2) ** 2
    assert 0.9 * products_alone < gain < products_alone


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ({"R": 5, "S": 5}, "the filter is 5x5; winograd_4x4 needs 3x3"),
        ({"R": 1}, "the filter is 1x3; winograd_4x4 needs 3x3"),
        ({"stride": (1, 2)}, r"the stride is \(1, 2\); winograd_4x4 needs 1"),
        ({"dilation": (2, 1)}, r"the dilation is \(2, 1\); winograd_4x4 needs 1"),
    ],
)
def test_refuses_with_a_reason(sizes, reason):
    problem = ConvProblem(**{"N": 1, "H": 9, "W": 9, "C": 2, "K": 2, "R": 3, "S": 3} | sizes)
    with pytest.raises(UnsupportedError, match=reason):
        plan(problem, arrays(problem)[1], algorithm="winograd_4x4")


@sampled(0)
@size
@pytest.mark.parametrize("backend", ["numpy", "cpu"])
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    "sizes",
    [
        {"H": m * 2 + 3, "W": m * 3 + 2}
        for m in (2, 4, 5)  # tiles that fit, that hang over
    ]
    + [
        {"H": 3, "W": 20, "C": 1, "K": 1},
        {"H": 20, "W": 3, "C": 33, "K": COLS + 1},
        {"N": 2, "H": 17, "W": 15, "C": 17, "K": 5 * COLS + 5},
        {"N": 3, "H": 32, "W": 31, "C": 6, "K": 4, "groups": 2},  # more than one block of tiles
        {"H": 11, "W": 13, "C": 40, "K": 8 * COLS, "groups": 2, "padding": ((5, 0), (0, 4))},
        {"H": 13, "W": 13, "C": 24, "K": 70, "padding": 1, "dtype": "float64"},
        {"H": 7, "W": 7, "C": 20, "K": 40, "padding": 1},  # few tiles: a register tile of another height
        {"H": 14, "W": 14, "C": 20, "K": 40, "padding": 1, "dtype": "float64"},
    ],
    ids=str,
)
def test_tiles_blocks_and_edges(m, backend, threads, sizes):
    problem = ConvProblem(**{"N": 1, "C": 5, "K": 3, "R": 3, "S": 3} | sizes)
    x, w, bias = arrays(problem)
    algorithm = ALGORITHMS[f"winograd_{m}x{m}"]
    prepared = plan(problem, w, bias, algorithm=algorithm.name, backend=backend, threads=threads)
    for array in prepared.workspace.values():
        if array.shape[0] == threads and backend == "cpu":
            array[...] = np.nan  # nothing is read that was not written in this run
    assert_close(prepared(x), x, w, problem, bias, rounding=algorithm.rounding)


def test_the_cases_above_fill_more_than_one_block():
    assert BLOCK < 3 * 5 * 5  # the images of 32 x 31, in the largest tiles


# -- how exact it is ---------------------------------------------------------------------------------------


def worst_error(name, C):
    """Return max |error| / rms(y) in float32 on 26x26 pixels, 64 filters scaled as He et al. do."""
    problem = ConvProblem(1, 26, 26, C, 64, 3, 3, padding=1)
    rng = np.random.default_rng(7)
    x = rng.standard_normal(problem.x_shape).astype(np.float32)
    w = (rng.standard_normal(problem.w_shape) * np.sqrt(2 / (9 * C))).astype(np.float32)
    y = reference(x, w, problem)
    return np.abs(plan(problem, w, algorithm=name, backend="cpu")(x) - y).max() / np.sqrt(np.mean(y**2))


@pytest.mark.parametrize("C", [64, 256, 512])
def test_the_error_grows_with_the_tile(C):
    plain, *tiles = [worst_error(name, C) for name in ("im2row", *(f"winograd_{m}x{m}" for m in SIZES))]
    assert tiles[0] < 2 * plain  # 2x2 is as exact as a plain sum
    assert 5 * plain < tiles[1] < tiles[2]  # 4x4 loses more than a digit, 6x6 a little more
    assert tiles[2] < 2e-4  # orders published for 4x4 and 6x6: 1e-5 to 1e-4


@sampled(0)
def test_the_error_of_4x4_is_rounding_and_nothing_else():
    problem = ConvProblem(1, 26, 26, 64, 64, 3, 3, padding=1, dtype="float64")
    x, w, _ = arrays(problem)
    y = plan(problem, w, algorithm="winograd_4x4")(x)
    assert np.abs(y - reference(x, w, problem)).max() < 1e-11


@size
def test_the_amplification_foretells_the_error(m):
    """Measured where it was derived: one channel, numbers of size 1, weights that were not rounded."""
    rng = np.random.default_rng(3)
    d, g = rng.standard_normal((2000, m + 2, m + 2)), rng.standard_normal((2000, 3, 3))
    AT, G, BT = (np.array(matrix, np.float64) for matrix in transforms(m))
    M = (BT @ d @ BT.T) * (G @ g @ G.T)
    noise = rng.standard_normal(M.shape) * 1e-3  # a relative error of every product
    errors = AT @ (M * noise) @ AT.T  # 9 products of size 1 make an output of size 3
    assert np.sqrt((errors**2).mean(0)).max() / 3 / 1e-3 == pytest.approx(amplification(m), rel=0.25)


def test_larger_points_are_worse():
    assert amplification(4) < amplification(4, (0, 1, -1, 3, -3)) < amplification(4, (0, 1, 2, 3, 4))


@size
def test_weights_are_rounded_once(m):
    problem = ConvProblem(1, 8, 8, 3, 4, 3, 3)
    _, w, _ = arrays(problem)
    U = transform_weights(m, problem, w)  # (n*n, groups, K, C)
    G = transforms(m).G
    for e, (i, j) in enumerate(product(range(m + 2), repeat=2)):
        exact = sum(
            G[i][r] * G[j][s] * Fraction(float(w[1, r, s, 2])) for r, s in product(range(3), repeat=2)
        )
        assert U[e, 0, 1, 2] == pytest.approx(float(exact), rel=2**-23, abs=1e-12)


@size
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_fast_form_packs_the_same_numbers(m, dtype):
    """Two groups of 63 filters, so the last panel is not full; and more channels than go at a time."""
    from convlab.cpu.gemm import empty_panels, put

    problem = ConvProblem(1, 8, 8, 42, 126, 3, 3, groups=2, dtype=dtype)
    w = arrays(problem)[1]
    U = transform_weights(m, problem, w)  # (n*n, groups, K/groups, C/groups)
    length = len(U) * 21
    cols = tile_for(dtype).cols
    expected = empty_panels(2, 63, length, w.dtype, cols)
    put(expected, length, U.transpose(1, 2, 0, 3).reshape(2, 63, length), cols)
    packed = ALGORITHMS[f"winograd_{m}x{m}"].forms["cpu"].pack(problem, w)
    np.testing.assert_allclose(packed, expected, rtol=np.finfo(dtype).eps, atol=1e-15)  # of doubles of size 1


def test_the_laboratory_measures_what_the_library_does():
    """The error laboratory rounds as the fast form does, so their errors are of one size."""
    for m in SIZES:
        ratio = measured_error(m, C=64) / worst_error(f"winograd_{m}x{m}", 64)
        assert 1 / 4 < ratio < 4
        assert measured_error(m, dtype="float64") < 1e-12
        assert measured_error(m, dtype="float16") > 1000 * measured_error(m)
    assert measured_error(1) < measured_error(4)
    assert measured_error(4, (0, 1, -1, "1/2", -2)) < measured_error(4) < measured_error(4, (0, 1, 2, 3, 4))
    assert measured_error(4, (0, 1, 1000, 2000, 3000), dtype="float16") == np.inf


def test_weights_are_fetched_ahead_of_their_use(monkeypatch):
    """Every loop over products asks for the weights of the next place, and keeps its sums in registers."""
    problem, called = ConvProblem(1, 9, 9, 16, 16, 3, 3), []
    x, w = np.ones(problem.x_shape, np.float32), np.ones(problem.w_shape, np.float32)
    monkeypatch.setattr(
        "convlab.algorithms.winograd.cpu.parallel_for", lambda *given: called.append((given[3], given[5:]))
    )
    plan(problem, w, algorithm="winograd_2x2", backend="cpu")(x)
    ((kernel, arguments),) = called
    fresh = uncached(kernel)
    fresh.compile(tuple(numba.typeof(argument) for argument in (0, 9, 0, 16, *arguments)))
    found = [loop for loop in loops(fresh.inspect_asm(fresh.signatures[0])) if loop.on_vectors]
    rows = arguments[0].rows
    assert sorted({loop.on_vectors % rows for loop in found}) == [0]
    assert 2 <= len(found) <= 4, "of the wide tile and of the narrow one; of each two where LLVM unrolls it"
    for loop in found:
        assert loop.prefetches > 0
        assert loop.spills == 0


@size
def test_a_nan_is_lost_as_notebook_06_says(m):
    """The compiled transforms skip zeros: 2x2 tiles lose what the definition loses, larger ones more."""
    problem = ConvProblem(1, 9, 11, 1, 1, 3, 3)
    x, w, _ = arrays(problem)
    compiled, plain, zeros = (
        plan(problem, w, algorithm=name, backend=backend)
        for name, backend in (
            (f"winograd_{m}x{m}", "cpu"),
            ("direct", "numpy"),
            (f"winograd_{m}x{m}", "numpy"),
        )
    )
    further = 0
    for h, col in product(range(problem.H), range(problem.W)):
        bad = x.copy()
        bad[0, h, col] = np.nan
        lost, by_definition, whole = (np.isnan(run(bad)) for run in (compiled, plain, zeros))
        assert (lost >= by_definition).all()
        assert (whole >= lost).all()
        further += (lost > by_definition).sum()
    assert (further == 0) == (m == 2)
