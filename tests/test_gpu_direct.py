"""The first kernels, lane by lane: right sums, and exactly the requests that their sentences promise."""

import numpy as np
import pytest
from cases import CASES, arrays, assert_close
from lane_counts import count, traced, window

from convlab import ConvProblem, conv2d, plan
from convlab.algorithms.direct import gpu, gpu_staged
from convlab.gpu.device import simulated

pytestmark = pytest.mark.inside

LAYER = ConvProblem(1, 5, 9, 6, 40, 3, 2, padding=((1, 0), (2, 1)), stride=(1, 2), groups=2)
NAMES = [rung.name for rung in gpu.RUNGS]
rungs = pytest.mark.parametrize("rung", gpu.RUNGS, ids=NAMES)


def trace_of(rung, problem):
    """Convolve with one rung, check the result, and return the trace."""
    x, w, bias = arrays(problem)
    with simulated() as device:
        y = plan(problem, w, bias, algorithm=rung.algorithm("direct"), backend="gpu")(x)
    assert_close(y, x, w, problem, bias, rung.name)
    return device.traces[0]


@rungs
@pytest.mark.parametrize("case", ["groups, dilation, strides", "batch, groups", "double precision, groups"])
def test_every_rung_computes_the_same(rung, case):
    trace_of(rung, CASES[case])


def test_requests_of_naive_and_coalesced_equal_the_formulas():
    problem, b = LAYER, LAYER.itemsize
    N, P, Q, K = problem.y_shape
    filters, channels = K // problem.groups, problem.C // problem.groups
    thread = np.arange(N * P * Q * K)
    orders = {  # which output a thread has: (n, k, p, q) with q fastest, (n, p, q, k) with k fastest
        "one thread per output": np.unravel_index(thread, (N, K, P, Q)),
        "coalesced": np.unravel_index(thread, (N, P, Q, K)),
    }
    for rung in gpu.RUNGS[:2]:
        if rung.name == "coalesced":
            n, p, q, k = orders[rung.name]
        else:
            n, k, p, q = orders[rung.name]
        expected = {"x": 0, "w": 0, "y": count(thread // 32, (((n * P + p) * Q + q) * K + k) * b, True)}
        for r, s, c in np.ndindex(problem.R, problem.S, channels):
            row, col, inside = window(problem, p, q, r, s)
            pixel = ((n * problem.H + row) * problem.W + col) * problem.C
            expected["x"] += count(thread // 32, (pixel + k // filters * channels + c) * b, inside)
            tap = (r * problem.S + s) * channels + c
            if rung.name == "coalesced":  # (g, r, s, c, f)
                at = (k // filters * problem.R * problem.S * channels + tap) * filters + k % filters
            else:  # (k, r, s, c)
                at = k * problem.R * problem.S * channels + tap
            expected["w"] += count(thread // 32, at * b, inside)
        trace = trace_of(rung, problem)
        for array, kind in (("x", "ld"), ("w", "ld"), ("y", "st")):
            np.testing.assert_array_equal(
                traced(trace, kind, array), expected[array], f"{rung.name}, {array}"
            )


def test_requests_of_staged_equal_the_formulas():
    """A patch of rows x cols pixels under each tile, all of it asked for once; weights once a block."""
    problem, b = ConvProblem(1, 5, 9, 5, 40, 3, 2, padding=1), 4
    rung, (tile_p, tile_q), lanes = gpu.RUNGS[2], gpu_staged.TILE, gpu_staged.LANES
    rows, cols = tile_p + problem.R - 1, tile_q + problem.S - 1
    assert gpu_staged.chunk_of(problem) == problem.C  # one piece: all channels at once
    cell = np.arange(rows * cols * problem.C)
    row, col, c = np.unravel_index(cell, (rows, cols, problem.C))
    weight = np.arange(problem.R * problem.S * problem.C * lanes)
    x = w = y = shared = 0
    for p0 in range(0, problem.P, tile_p):
        for q0 in range(0, problem.Q, tile_q):
            for k0 in range(0, problem.K, lanes):
                h, v = p0 + row - 1, q0 + col - 1
                inside = (h >= 0) & (h < problem.H) & (v >= 0) & (v < problem.W)
                x += count(cell // 32, ((h * problem.W + v) * problem.C + c) * b, inside)
                filters = weight % lanes + k0
                w += count(weight // 32, (weight // lanes * problem.K + filters) * b, filters < problem.K)
                for p in range(p0, min(p0 + tile_p, problem.P)):
                    for q in range(q0, min(q0 + tile_q, problem.Q)):
                        k = np.arange(k0, min(k0 + lanes, problem.K))
                        y += count(0, ((p * problem.Q + q) * problem.K + k) * b, True)
                shared += tile_p * tile_q * problem.R * problem.S * problem.C
    trace = trace_of(rung, problem)
    np.testing.assert_array_equal(traced(trace, "ld", "x"), x)
    np.testing.assert_array_equal(traced(trace, "ld", "w"), w)
    np.testing.assert_array_equal(traced(trace, "st", "y"), y)
    for array in ("patch", "weights"):  # one pixel for a whole warp, or 32 weights in a row: no conflict
        reads = [s for s in trace.sites() if (s.kind, s.array) == ("ld", array)]
        assert sum(site.requests for site in reads) == shared
        assert sum(site.wavefronts for site in reads) == shared


def test_every_rung_asks_for_fewer_sectors_than_the_one_before():
    problem = ConvProblem(1, 4, 4, 8, 32, 3, 3, padding=1)
    traces, totals = [], []
    for rung in gpu.RUNGS:
        traces.append(trace_of(rung, problem))
        totals.append(sum(site.sectors for site in traces[-1].sites() if site.space == "global"))
    assert totals[0] > 2 * totals[1] > 8 * totals[2], totals
    x, y = traced(traces[0], "ld", "x"), traced(traces[1], "st", "y")
    assert x[1] > 0.9 * x[2]  # nearly a sector for every lane: its channel fills one
    assert y[2] == 4 * y[0]  # 32 filters side by side: four full sectors


def test_staged_in_pieces_of_the_channels_and_refused_where_it_cannot_be():
    problem = ConvProblem(1, 5, 6, 7, 33, 3, 3, padding=1, stride=(2, 1))
    x, w, _ = arrays(problem)
    small = 2 * 9 * gpu_staged.LANES * problem.itemsize  # two channels of the weights
    assert gpu_staged.chunk_of(problem, shared=small) == 2
    with simulated() as device:
        y = device.empty(problem.y_shape, problem.dtype)
        packed = gpu.RUNGS[2].pack(problem, w)
        gpu_staged.run_staged(problem, device.put(x), packed, {}, y, 1, shared=small)
    assert_close(y, x, w, problem)
    large = ConvProblem(1, 20, 20, 1, 1, 15, 15)
    assert "does not fit in shared memory" in gpu.RUNGS[2].algorithm("direct").supports(large)


def test_a_picture_of_one_channel_goes_to_the_filter_and_all_else_to_coalesced():
    for problem, kernel in (
        (ConvProblem(1, 6, 8, 1, 1, 3, 3), "lines"),
        (ConvProblem(1, 6, 7, 1, 1, 3, 3), "patch"),
        (ConvProblem(1, 12, 12, 1, 1, 11, 11, dtype="float64"), "shared"),
        (ConvProblem(1, 6, 8, 1, 1, 3, 3, stride=2), "direct"),
        (ConvProblem(1, 6, 8, 1, 2, 3, 3), "direct"),
    ):
        x, w, _ = arrays(problem)
        with simulated(False) as device:
            y = conv2d(x, w, stride=problem.stride, algorithm="direct", backend="gpu")
        assert device.traces[0].kernel == kernel
        assert_close(y, x, w, problem)
