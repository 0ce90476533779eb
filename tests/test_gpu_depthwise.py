"""Depthwise, lane by lane: every patch and every vector, and requests equal to formulas."""

from dataclasses import replace

import numpy as np
import pytest
from cases import arrays, assert_close
from effort import sampled
from lane_counts import count, traced, window

from convlab import ConvProblem, plan
from convlab.algorithms.depthwise import gpu as depthwise
from convlab.gpu.device import simulated

pytestmark = pytest.mark.inside

WIDE = ConvProblem(2, 7, 9, 8, 8, 3, 2, padding=((1, 0), (2, 1)), groups=8)
STEPS = ConvProblem(1, 9, 8, 8, 8, 3, 3, padding=1, stride=(2, 1), groups=8)
DOUBLE = ConvProblem(1, 6, 7, 4, 4, 3, 3, padding=1, stride=(1, 2), groups=4, dtype="float64")


def trace_of(problem, patch, vector, seed=0):
    """Convolve with one kernel, check the result, and return the trace."""
    x, w, _ = arrays(problem, seed)
    with simulated() as device:
        y = device.empty(problem.y_shape, problem.dtype)
        depthwise.run_sliding(problem, device.put(x), depthwise.pack(problem, w), y, patch, vector)
    assert_close(y, x, w, problem, label=f"{patch}, {vector}")
    return device.traces[0]


@sampled(6)
@pytest.mark.parametrize("vector", [1, 4])
@pytest.mark.parametrize("patch", depthwise.PATCHES)
@pytest.mark.parametrize("problem", [WIDE, STEPS, DOUBLE], ids=["odd", "steps", "double precision"])
def test_every_patch(problem, patch, vector):
    trace_of(problem, patch, vector)


@pytest.mark.parametrize("rung", depthwise.RUNGS[::2], ids=[rung.name for rung in depthwise.RUNGS[::2]])
def test_two_filters_a_channel_and_every_kind_of_step(rung):
    """Four channels, yet no vectors of four: neighbouring filters share a channel."""
    sizes = {"padding": ((2, 0), (1, 1)), "stride": (2, 3), "dilation": (1, 2), "groups": 4}
    problem = ConvProblem(1, 7, 13, 4, 8, 3, 2, **sizes)
    x, w, bias = arrays(problem)
    with simulated(traced=False):
        y = plan(problem, w, bias, algorithm=rung.algorithm("depthwise"), backend="gpu")(x)
    assert_close(y, x, w, problem, bias, rung.name)


def test_requests_equal_the_formulas_at_the_shipped_size():
    """One block: 16 x 4 channels, 16 patches of 4 x 4 outputs, and some that reach beyond the picture."""
    problem, (rows, cols) = ConvProblem(1, 14, 15, 64, 64, 3, 3, padding=1, groups=64), (4, 4)
    thread = np.arange(256)
    v, tile_q, tile_p = thread % 16, thread // 16 % 4, thread // 64
    x = y = 0
    for line, u in np.ndindex(rows + 2, cols + 2):  # the pixels under a patch: each is asked for once
        row, col, inside = window(problem, tile_p * rows, tile_q * cols, line, u)
        x += count(thread // 32, ((row * problem.W + col) * problem.C + v * 4) * 4, inside, 16)
    for i, j in np.ndindex(rows, cols):
        p, q = tile_p * rows + i, tile_q * cols + j
        y += count(
            thread // 32, ((p * problem.Q + q) * 64 + v * 4) * 4, (p < problem.P) & (q < problem.Q), 16
        )
    w = sum(count(thread // 32, (tap * 64 + v * 4) * 4, True, 16) for tap in range(9))
    trace = trace_of(problem, (rows, cols), 4)
    for array, kind, expected in (("x", "ld", x), ("w", "ld", w), ("y", "st", y)):
        np.testing.assert_array_equal(traced(trace, kind, array), expected, array)
    assert x[2] == x[1] // 2  # every sector that a request touches is used whole: two lanes each
    assert x[1] * 4 < 2.25 * problem.P * problem.Q * 64


def test_every_rung_asks_less_of_the_memory_than_the_one_before(monkeypatch):
    monkeypatch.setattr(depthwise, "ENOUGH", 1)  # the large patch for a small picture, too
    problem = ConvProblem(1, 8, 8, 32, 32, 3, 3, padding=1, groups=32)
    x, w, bias = arrays(problem)
    requests, sectors = [], []
    for rung in depthwise.RUNGS:
        with simulated() as device:
            y = plan(problem, w, bias, algorithm=rung.algorithm("depthwise"), backend="gpu")(x)
        assert_close(y, x, w, problem, bias, rung.name)
        sites = [site for site in device.traces[0].sites() if site.space == "global"]
        requests.append(sum(site.requests for site in sites))
        sectors.append(sum(site.sectors for site in sites))
    assert requests[0] > 3 * requests[1] > 9 * requests[2], requests
    assert min(sectors[:2]) > 1.5 * sectors[2], sectors


def test_the_patch_suits_the_problem():
    mobilenet = ConvProblem(32, 56, 56, 128, 128, 3, 3, padding=1, groups=128)
    assert depthwise.choose(mobilenet) == ((4, 4), 4)
    assert depthwise.choose(mobilenet, aligned=False) == ((4, 4), 1)
    for steps in ({"dilation": (2, 1)}, {"stride": (1, 3)}):  # patches are for small steps
        assert depthwise.choose(replace(mobilenet, **steps)) == ((1, 1), 4)
    assert depthwise.choose(ConvProblem(1, 7, 7, 512, 512, 3, 3, padding=1, groups=512)) == ((1, 1), 4)
    assert depthwise.choose(ConvProblem(32, 28, 28, 96, 96, 7, 7, padding=3, groups=96)) == ((4, 4), 1)
    assert depthwise.choose(ConvProblem(1, 30, 30, 8, 8, 9, 9, groups=8)) is None
    assert "do not fit in the registers" in depthwise.RUNGS[2].refuses(ConvProblem(1, 9, 9, 1, 1, 9, 9))
