"""Products of matrices and the copies before them, lane by lane: any size, and requests equal to formulas."""

import numpy as np
import pytest
from cases import arrays, assert_close
from effort import sampled
from lane_counts import count, traced, window

from convlab import ConvProblem, plan
from convlab.algorithms.im2col import gpu as columns
from convlab.algorithms.im2col import im2col
from convlab.algorithms.im2row import gpu as rows
from convlab.algorithms.im2row import im2row
from convlab.gpu.device import simulated
from convlab.gpu.gemm import matrix as gemm
from convlab.gpu.gemm import simple

pytestmark = pytest.mark.inside

PRODUCTS = {
    "odd": ConvProblem(1, 9, 2, 5, 19, 1, 1),
    "three over": ConvProblem(1, 1, 7, 7, 4, 1, 1),
    "groups of fours": ConvProblem(1, 4, 5, 16, 8, 1, 1, groups=2),
    "one by one": ConvProblem(1, 1, 1, 1, 1, 1, 1),
    "double precision": ConvProblem(1, 3, 6, 4, 8, 1, 1, dtype="float64"),
}
BLOCK = ConvProblem(1, 8, 8, 24, 64, 1, 1)  # one whole tile of 64 x 64, one and a half pieces
CASES = [(along, way) for along in "km" for way in gemm.WAYS if along + way != "mtuned"]


def multiply(problem, along, way):
    """Multiply, check the result, and return the trace."""
    x, w, _ = arrays(problem)
    a = x.reshape(problem.gemm[0], -1)
    with simulated() as device:
        y = device.empty(problem.y_shape, problem.dtype)
        a = device.put(a if along == "k" else a.T)
        gemm.multiply(problem, a, along, gemm.pack(problem, w), y, way)
    assert_close(y, x, w, problem, label=f"{along}, {way}")
    return device.traces[0]


@sampled(6)
@pytest.mark.parametrize(("along", "way"), CASES)
@pytest.mark.parametrize("product", PRODUCTS)
def test_every_way_multiplies_every_size(product, along, way):
    multiply(PRODUCTS[product], along, way)


def test_small_products_take_small_tiles_and_rows_the_tuned_ones():
    large = ConvProblem(1, 64, 64, 4, 64, 1, 1)
    for problem, along, kernel in ((BLOCK, "k", "product"), (BLOCK, "m", "shared_tile")):
        assert multiply(problem, along, None).kernel == kernel
    assert large.gemm[0] * large.gemm[1] >= gemm.FEW * simple.BLOCK**2


@pytest.mark.parametrize("along", "km")
def test_requests_of_both_tiles_equal_the_formulas(along):
    """Every piece of a and of b is asked for once a block: by one number a thread, or by four."""
    problem = PRODUCTS["odd"]
    (M, N, K), row_b, thread = problem.gemm, 20, np.arange(256)
    a = b = y = 0
    for m0 in range(0, M, 16):
        for n0 in range(0, N, 16):
            i, j = thread // 16, thread % 16
            y += count(thread // 32, ((m0 + i) * N + n0 + j) * 4, (m0 + i < M) & (n0 + j < N))
            for k0 in range(0, K, 16):
                m, k = (m0 + i, k0 + j) if along == "k" else (m0 + j, k0 + i)
                at = m * K + k if along == "k" else k * M + m
                a += count(thread // 32, at * 4, (m < M) & (k < K))
                b += count(thread // 32, ((k0 + i) * row_b + n0 + j) * 4, (k0 + i < K) & (n0 + j < N))
    trace = multiply(problem, along, "shared")
    for array, kind, expected in (("a", "ld", a), ("b", "ld", b), ("y", "st", y)):
        np.testing.assert_array_equal(traced(trace, kind, array), expected, array)
    a = b = y = 0
    M, N, K = BLOCK.gemm
    for k0 in range(0, K, 16):
        m, k = (thread // 4, k0 + thread % 4 * 4) if along == "k" else (thread % 16 * 4, k0 + thread // 16)
        a += count(thread // 32, (m * K + k if along == "k" else k * M + m) * 4, k < K, 16)
        k, n = k0 + thread // 16, thread % 16 * 4
        b += count(thread // 32, (k * N + n) * 4, k < K, 16)
    for i in range(4):
        y += count(thread // 32, ((thread // 16 * 4 + i) * N + thread % 16 * 4) * 4, True, 16)
    trace = multiply(BLOCK, along, "registers")
    for array, kind, expected in (("a", "ld", a), ("b", "ld", b), ("y", "st", y)):
        np.testing.assert_array_equal(traced(trace, kind, array), expected, array)


def test_a_larger_tile_reads_less_and_registers_spare_shared_memory():
    trace = [multiply(BLOCK, "k", way) for way in gemm.WAYS[:2]]
    fetched = [traced(one, "ld", "a")[2] + traced(one, "ld", "b")[2] for one in trace]
    assert fetched[0] >= 4 * fetched[1]  # blocks of 16 x 16 fetch each number for 16 others, not for 64
    reads = [
        sum(site.lanes * site.size for site in one.sites() if (site.kind, site.space) == ("ld", "shared"))
        for one in trace
    ]
    M, N, _ = BLOCK.gemm
    assert reads == [M * N * 32 * 2 * 4, M * N * 32 * 4 // 2]  # bytes: two numbers each, and half a number


def test_numbers_are_written_down_columns_two_to_a_bank():
    trace = multiply(BLOCK, "k", "registers")
    for site in trace.sites():
        if site.space == "shared":
            twice = (site.kind, site.array) == ("st", "tile_a")
            assert site.wavefronts == (2 if twice else 1) * site.ideal_wavefronts, site


# -- the copies --------------------------------------------------------------------------------------------

COPIES = {
    "fours": ConvProblem(2, 5, 6, 8, 2, 3, 2, padding=((1, 0), (0, 2)), stride=(1, 2), groups=2),
    "one by one": ConvProblem(1, 5, 6, 3, 1, 2, 3, padding=1, dilation=(2, 1)),
}


@pytest.mark.parametrize("copy", COPIES)
def test_unfolding_asks_for_what_the_formulas_say(copy):
    problem = COPIES[copy]
    (M, _, taps), G, b = problem.gemm, problem.groups, 4
    x, _, _ = arrays(problem)
    channels, width = problem.C // G, G * taps
    vector = 4 if channels % 4 == 0 else 1
    with simulated() as device:
        matrix = rows.allocate(problem, 1)["rows"]
        rows.fill(problem, device.put(x), matrix)
        cols = columns.allocate(problem, 1)["cols"]
        columns.fill(problem, device.put(x), cols)
    np.testing.assert_array_equal(matrix, im2row(x, problem))
    np.testing.assert_array_equal(cols, im2col(x, problem))
    by_row, by_column = device.traces

    def pixel(m, r, s, c):
        n, p, q = m // (problem.P * problem.Q), m // problem.Q % problem.P, m % problem.Q
        row, col, inside = window(problem, p, q, r, s)
        return (((n * problem.H + row) * problem.W + col) * problem.C + c) * b, inside

    thread = np.arange(-(-M // rows.RUN) * width // vector)
    k, first = thread % (width // vector) * vector, thread // (width // vector) * rows.RUN
    g, r, s, c = np.unravel_index(k, (G, problem.R, problem.S, channels))
    loads = stores = 0
    for step in range(rows.RUN):
        m = first + step
        at, inside = pixel(m, r, s, g * channels + c)
        loads += count(thread // 32, at, inside & (m < M), vector * b)
        stores += count(thread // 32, (m * width + k) * b, m < M, vector * b)
    np.testing.assert_array_equal(traced(by_row, "ld", "x"), loads)
    np.testing.assert_array_equal(traced(by_row, "st", "rows"), stores)

    across = -(-M // columns.THREADS)
    thread = np.arange(problem.C * across * columns.THREADS)
    c, m = thread // (across * columns.THREADS), thread % (across * columns.THREADS)
    loads = stores = 0
    for r, s in np.ndindex(problem.R, problem.S):
        at, inside = pixel(m, r, s, c)
        loads += count(thread // 32, at, inside & (m < M))
        stores += count(thread // 32, (((c * problem.R + r) * problem.S + s) * M + m) * b, m < M)
    np.testing.assert_array_equal(traced(by_column, "ld", "x"), loads)
    np.testing.assert_array_equal(traced(by_column, "st", "cols"), stores)


@pytest.mark.parametrize("rung", rows.RUNGS, ids=[rung.name for rung in rows.RUNGS])
def test_every_rung_of_im2row(rung):
    problem = ConvProblem(1, 5, 4, 3, 6, 3, 2, padding=1)
    x, w, bias = arrays(problem)
    with simulated():
        y = plan(problem, w, bias, algorithm=rung.algorithm("im2row"), backend="gpu")(x)
    assert_close(y, x, w, problem, bias, rung.name)
