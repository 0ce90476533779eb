"""The filter over a picture of one channel, lane by lane: any size, and the requests its rungs promise."""

import numpy as np
import pytest
from cases import arrays, assert_close
from effort import in_turns, sampled
from lane_counts import count, traced

from convlab import ConvProblem, plan
from convlab.algorithms.direct import gpu_filter, gpu_filter_lines, gpu_filter_patch
from convlab.errors import UnsupportedError
from convlab.gpu.device import simulated

pytestmark = pytest.mark.inside

SIZES = {
    "7x7": ConvProblem(1, 13, 40, 1, 1, 7, 7, padding=3),
    "odd": ConvProblem(2, 9, 11, 1, 1, 3, 5, padding=((1, 0), (2, 3))),
    "whole fours in, odd out": ConvProblem(1, 6, 12, 1, 1, 2, 4),
    "odd in, whole fours out": ConvProblem(1, 6, 9, 1, 1, 2, 2),
    "padding wider than the filter": ConvProblem(1, 4, 8, 1, 1, 3, 2, padding=(4, 5)),
    "one of everything": ConvProblem(1, 1, 1, 1, 1, 1, 1),
    "tall": ConvProblem(1, 20, 5, 1, 1, 15, 1, padding=(1, 0)),
    "a line below, and another picture": ConvProblem(2, 9, 12, 1, 1, 3, 3, padding=((0, 1), (0, 0))),
    "double precision": ConvProblem(1, 9, 12, 1, 1, 3, 3, padding=1, dtype="float64"),
}
rungs = pytest.mark.parametrize("rung", gpu_filter.RUNGS, ids=[rung.name for rung in gpu_filter.RUNGS])


def trace_of(rung, problem, traced=True):
    """Convolve with one rung, check the result, and return the trace."""
    x, w, bias = arrays(problem)
    with simulated(traced) as device:
        y = plan(problem, w, bias, algorithm=rung.algorithm("direct"), backend="gpu")(x)
    assert_close(y, x, w, problem, bias, rung.name)
    return device.traces[0]


@sampled(10)
@rungs
@pytest.mark.parametrize("size", SIZES)
def test_every_rung_serves_every_size(rung, size):
    problem = SIZES[size]
    if reason := rung.refuses(problem):  # the last one, lines that are no whole fours of float32
        assert rung is gpu_filter.RUNGS[-1]
        assert problem.W % 4 or problem.dtype == "float64", reason
        pytest.skip(reason)
    trace_of(rung, problem, traced=False)


def test_requests_of_the_rungs_equal_the_formulas():
    problem = SIZES["odd"]
    N, H, W, _ = problem.x_shape
    (top, _), (left, _) = problem.padding
    P, Q, R, S = problem.P, problem.Q, problem.R, problem.S
    tx, ty, q0, p0, n = np.indices((32, 8, -(-Q // 32), -(-P // 8), N)).reshape(5, -1)
    p, q = 8 * p0 + ty, 32 * q0 + tx
    serves, warp = (p < P) & (q < Q), ((n * 100 + p0) * 100 + q0) * 8 + ty
    x = w = shared = 0
    for r, s in np.ndindex(R, S):
        row, col = p + r - top, q + s - left
        inside = serves & (row >= 0) & (row < H) & (col >= 0) & (col < W)
        x += count(warp, ((n * H + row) * W + col) * 4, inside)
        w += count(warp, (r * S + s) * 4, inside)
    naive, constant = trace_of(gpu_filter.RUNGS[0], problem), trace_of(gpu_filter.RUNGS[1], problem)
    np.testing.assert_array_equal(traced(naive, "ld", "x"), x)
    np.testing.assert_array_equal(traced(naive, "ld", "w"), w)
    np.testing.assert_array_equal(traced(constant, "ld", "x"), x)
    np.testing.assert_array_equal(traced(constant, "ld", "w"), 0)
    rows, cols = 8 + R - 1, 32 + S - 1
    for n in range(N):
        for p0 in range(0, P, 8):
            for q0 in range(0, Q, 32):
                cell = np.arange(rows * cols)
                row, col = p0 + cell // cols - top, q0 + cell % cols - left
                inside = (row >= 0) & (row < H) & (col >= 0) & (col < W)
                shared += count(cell // 32, ((n * H + row) * W + col) * 4, inside)
    np.testing.assert_array_equal(traced(trace_of(gpu_filter.RUNGS[2], problem), "ld", "x"), shared)


def test_requests_of_the_patch_equal_the_formula_at_the_shipped_size():
    """One block and a bit: 128 x 64 outputs of a 7x7 filter, 3 loads of four pixels for each line of them."""
    problem = ConvProblem(1, 70, 136, 1, 1, 7, 7, padding=((0, 0), (3, 0)))
    tall, _ = gpu_filter_patch.plan_for(problem)
    assert tall == 8
    tx, ty, block = np.indices((32, 8, 2)).reshape(3, -1)
    p, q, warp = ty * 8, block * 128 + tx * 4, block * 8 + ty
    serves, col, lines = (p < problem.P) & (q < problem.Q), q - 4, tall + 6  # three of padding: one unused
    inside = serves & (p + lines <= problem.H) & (col >= 0) & (col + 12 <= problem.W)
    x = y = 0
    for here in (inside, serves & ~inside):  # two ways through the program: requests of their own
        for line, load in np.ndindex(lines, 3):
            row, c = p + line, col + 4 * load
            x += count(
                warp, (row * problem.W + c) * 4, here & (row < problem.H) & (c >= 0) & (c < problem.W), 16
            )
    for i in range(tall):
        at = ((p + i) * problem.Q + q) * 4
        if problem.Q % 4 == 0:
            y += count(warp, at, serves & (p + i < problem.P), 16)
        else:
            y += sum(
                count(warp, at + 4 * j, serves & (p + i < problem.P) & (q + j < problem.Q)) for j in range(4)
            )
    trace = trace_of(gpu_filter.RUNGS[3], problem)
    np.testing.assert_array_equal(traced(trace, "ld", "x"), x)
    np.testing.assert_array_equal(traced(trace, "st", "y"), y)
    # A thread's 32 outputs stand on 14 lines of 10 pixels; it asks for 12 of each, and for no pixel twice.
    assert traced(trace, "ld", "x")[1] <= 42 * np.count_nonzero(serves)


def test_every_rung_asks_less_of_the_memory_than_the_one_before():
    def requests(rung, problem):
        sites = trace_of(gpu_filter.RUNGS[rung], problem).sites()
        return sum(site.requests for site in sites if site.space == "global")

    small, large = ConvProblem(1, 12, 36, 1, 1, 5, 5), ConvProblem(1, 34, 132, 1, 1, 3, 5)
    asked = [requests(rung, small) for rung in range(3)]
    assert asked[0] > 1.9 * asked[1] > 10 * asked[2], asked  # no weights; no pixel twice
    assert requests(2, large) > 2 * requests(3, large)  # four pixels a load


def test_a_filter_that_does_not_fit_is_left_to_another_rung():
    large = ConvProblem(1, 20, 40, 1, 1, 17, 17)
    assert "do not fit in the registers" in gpu_filter.RUNGS[3].algorithm("direct").supports(large)
    assert gpu_filter.rung_for(large).kernel is gpu_filter.shared
    trace_of(gpu_filter.RUNGS[2], ConvProblem(1, 17, 18, 1, 1, 17, 17))  # more weights than threads
    huge = ConvProblem(1, 200, 200, 1, 1, 150, 150)
    assert "49152 bytes of shared memory" in gpu_filter.RUNGS[2].algorithm("direct").supports(huge)
    assert gpu_filter.rung_for(huge).kernel is gpu_filter.naive
    strided = ConvProblem(1, 9, 9, 1, 1, 3, 3, stride=2)
    assert all("steps of 1" in rung.algorithm("direct").supports(strided) for rung in gpu_filter.RUNGS)
    assert gpu_filter.rung_for(SIZES["7x7"]).kernel is gpu_filter_lines.lines
    assert gpu_filter.rung_for(SIZES["odd"]).kernel is gpu_filter_patch.patch


@in_turns
def test_requests_of_the_lines_equal_the_formula():
    """Blocks and a bit on each axis: 16 bytes a lane, then two lanes more; a line that is done is stored."""
    problem = ConvProblem(1, 72, 140, 1, 1, 7, 7, padding=((0, 3), (3, 3)))
    trace, tall = trace_of(gpu_filter.RUNGS[4], problem), gpu_filter_lines.LEAST
    lane, line, block = np.indices((34, tall + 6, 2 * -(-problem.P // tall))).reshape(3, -1)
    tile_p, tile_q = block // 2, block % 2
    row, col = tall * tile_p + line, 128 * tile_q - 4 + 4 * lane
    served = line < np.minimum(tall, problem.P - tall * tile_p) + 6
    inside = served & (row < problem.H) & (col >= 0) & (col < problem.W)
    warp = (block * 70 + line) * 2 + lane // 32
    x = count(warp, (row * problem.W + col) * 4, inside, 16)
    p, q = row - 6, 128 * tile_q + 4 * lane
    y = count(warp, (p * problem.Q + q) * 4, (lane < 32) & served & (line >= 6) & (q < problem.Q), 16)
    np.testing.assert_array_equal(traced(trace, "ld", "x"), x)
    np.testing.assert_array_equal(traced(trace, "st", "y"), y)


@pytest.mark.parametrize(
    ("N", "P", "Q", "tall"),
    [(1, 4000, 4000, 61), (1, 224, 224, 16), (1, 9, 40, 16), (32, 224, 224, 16), (64, 4000, 4000, 128)],
)
def test_a_block_is_as_tall_as_leaves_no_multiprocessor_idle(N, P, Q, tall):
    """No taller than that all blocks are held at once, and no less: then some would have more to do."""
    problem = ConvProblem(N, P, Q, 1, 1, 7, 7, padding=3)
    with simulated() as device:
        assert gpu_filter_lines.tall_for(problem) == tall
        held = 16 * device.multiprocessors  # warps of 128 registers a thread
    if gpu_filter_lines.LEAST < tall < gpu_filter_lines.MOST:
        strips = N * -(-Q // gpu_filter_lines.ACROSS)
        assert strips * -(-P // tall) <= held < strips * -(-P // (tall - 1))


def test_lines_that_lie_badly_are_left_to_the_patch():
    """No copy of 16 bytes begins at an address that is no multiple of 16, whatever the picture's size."""
    problem = SIZES["7x7"]
    x, w, _ = arrays(problem)
    with simulated() as device:
        x_there = device.put(np.concatenate([np.zeros(1, np.float32), x.reshape(-1)]))[1:]
        y = device.empty(problem.y_shape, problem.dtype)
        gpu_filter_lines.run(problem, x_there.reshape(problem.x_shape), device.put(w), None, y, 1)
        assert device.traces[-1].kernel == "patch"
        assert_close(device.get(y), x, w, problem, None, "patch")


def test_an_older_gpu_has_no_copies_and_takes_the_patch():
    """Turing's machine code has no `cp.async`: ptxas refuses it."""
    problem = SIZES["7x7"]
    x, w, _ = arrays(problem)
    with simulated() as device:
        device.capability = 7, 5
        y = plan(problem, w, algorithm="direct", backend="gpu")(x)
        with pytest.raises(UnsupportedError, match=r"need compute capability 8\.0, and this GPU has 7\.5"):
            plan(problem, w, algorithm=gpu_filter.RUNGS[-1].algorithm("direct"), backend="gpu")
    assert [trace.kernel for trace in device.traces] == ["patch"]
    assert_close(y, x, w, problem, None, "patch")


def test_the_last_rung_says_what_its_lines_bring_beside_their_outputs():
    wider = 4 * (gpu_filter_patch.loads_for(7, 3) - 1)  # numbers of a line beside those under its outputs
    rung, across = gpu_filter.RUNGS[-1], gpu_filter_lines.ACROSS
    assert rung.traffic.endswith(f"fetched (1 + (R-1)/lines) * (1 + {wider}/{across}) times.")
    ends = f"{gpu_filter_lines.LEAST} to {gpu_filter_lines.MOST} lines"
    assert ends in rung.change
