"""Depthwise convolution: edges of tiles, multipliers, and padding that the common table does not reach."""

import numpy as np
import pytest
from cases import arrays, assert_close
from effort import in_turns, sampled

from convlab import ConvProblem, plan
from convlab.algorithms import ALGORITHMS
from convlab.algorithms.depthwise.cpu import _launch, allocate, as_called, pack
from convlab.algorithms.depthwise.cpu_kernel import depthwise_part, taps_inside
from convlab.cpu.assembly import hottest_loop
from convlab.cpu.epilogue import output
from convlab.cpu.partition import partition
from convlab.cpu.register_tile import tile_for
from convlab.cpu.sliding_window import window_for, window_tile

SMALL = {"N": 1, "H": 5, "R": 3, "S": 3, "padding": 1}


def check(problem, threads=1):
    x, w, bias = arrays(problem)
    for backend in ("numpy", "cpu"):
        y = plan(problem, w, bias, algorithm="depthwise", backend=backend, threads=threads)(x)
        assert_close(y, x, w, problem, bias, f"{backend}, {problem}")


@in_turns
@pytest.mark.inside
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_every_width_of_the_picture(stride, dtype):
    """From one pixel, less than a tile, to several tiles with some whole ones in the middle."""
    for W in range(1, 41):
        check(ConvProblem(W=W, C=3, K=3, groups=3, stride=stride, dtype=dtype, **SMALL))


@pytest.mark.inside
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_number_of_channels(dtype):
    """Nothing but a left-over, whole vectors, whole tiles, and a left-over of one vector or two."""
    for C in range(1, 71):
        check(ConvProblem(W=9, C=C, K=C, groups=C, dtype=dtype, **SMALL))


@sampled(0)
@pytest.mark.parametrize("multiplier", [1, 2, 3, 5, 16, 33])
@pytest.mark.parametrize("C", [1, 2, 17])
def test_filters_share_a_channel(multiplier, C):
    sizes = {"W": 16, "C": C, "K": C * multiplier, "groups": C} | SMALL
    check(ConvProblem(**sizes))
    check(ConvProblem(**sizes | {"stride": (2, 1), "dilation": (1, 2), "padding": ((0, 1), (2, 0)), "N": 2}))


@sampled(0)
@pytest.mark.parametrize(
    "sizes",
    [
        {"padding": 4},
        {"padding": ((9, 0), (0, 8)), "stride": (1, 2)},
        {"padding": ((0, 7), (9, 1)), "dilation": (2, 3)},
        {"padding": 5, "R": 1, "S": 1},
        {"padding": (0, 30), "H": 3},
        {"padding": (6, 6), "stride": 13},
    ],
    ids=str,
)
def test_padding_larger_than_the_filter(sizes):
    for multiplier in (1, 2):
        check(ConvProblem(**SMALL | {"W": 20, "C": 5, "K": 5 * multiplier, "groups": 5} | sizes))


@sampled(0)
@pytest.mark.parametrize("threads", [2, 3, 8])
def test_threads_share_lines_or_channels(threads):
    check(ConvProblem(2, 9, 11, 40, 40, 3, 3, padding=1, groups=40), threads)
    check(ConvProblem(1, 3, 11, 70, 70, 3, 3, groups=70), threads)  # one line: cut along the channels
    check(ConvProblem(1, 3, 11, 9, 18, 3, 3, groups=9), threads)
    check(ConvProblem(1, 3, 11, 70, 140, 3, 3, groups=70), threads)


@pytest.mark.parametrize(
    ("lines", "threads", "by_lines"),
    # Two lines go together: 7 pairs for two threads are 8 lines and 6, for four threads 4, 4, 4 and 2.
    [(14, 2, True), (28, 2, True), (7, 2, True), (14, 4, True), (7, 3, False), (14, 5, False), (2, 2, False)],
)
def test_threads_share_the_lines_where_that_is_nearly_even(lines, threads, by_lines):
    problem = ConvProblem(1, lines, 9, 192, 192, 3, 3, padding=1, groups=192)
    x, y = np.zeros(problem.x_shape, np.float32), np.zeros(problem.y_shape, np.float32)
    packed = pack(problem, np.zeros(problem.w_shape, np.float32))
    cut = lambda threads, rows, cols, *rest: partition(threads, *rows, *cols)  # noqa: E731
    parts = _launch(cut, problem, x, packed, allocate(problem, threads), output(y), threads)
    whole = {(left, right) for _, _, left, right in parts.tolist()} == {(0, problem.C)}
    assert whole == by_lines
    most = max((end - first) * (right - left) for first, end, left, right in parts.tolist())
    assert most <= 1.2 * lines * problem.C / threads + 2 * 16  # or a tile, where there are so few


def test_one_channel_is_depthwise():
    check(ConvProblem(1, 9, 20, 1, 40, 5, 3, padding=2, stride=2))


def test_refuses_filters_that_read_several_channels():
    problem = ConvProblem(1, 5, 5, 8, 8, 3, 3, groups=4)
    assert (
        ALGORITHMS["depthwise"].supports(problem)
        == "each filter reads 2 channels; depthwise needs groups = C"
    )


def test_padding_does_not_meet_the_neighbouring_line():
    """A tap beside the picture must not read the end of the line before; NaN would show it."""
    problem = ConvProblem(1, 6, 9, 2, 2, 3, 3, padding=1, groups=2)
    x, w, _ = arrays(problem)
    x[0, 2, -1] = np.nan  # the pixel before line 3
    y = plan(problem, w, algorithm="depthwise", backend="cpu")(x)
    reached = np.zeros((6, 9), bool)
    reached[1:4, -2:] = True
    np.testing.assert_array_equal(np.isnan(y[0, :, :, 0]), reached)


def test_taps_inside_by_counting():
    for start in range(-9, 9):
        for step in range(1, 4):
            for taps in range(1, 6):
                for size in range(1, 7):
                    inside = [t for t in range(taps) if 0 <= start + t * step < size]
                    first, end = taps_inside(start, step, taps, size)
                    assert list(range(first, end)) == inside


@in_turns
@pytest.mark.inside
@pytest.mark.parametrize(("stride", "dilation", "W"), [(1, 1, 40), (2, 1, 40), (2, 1, 14), (1, 2, 40)])
def test_loads_of_the_machine_code(stride, dilation, W):
    """A window that slides loads each pixel under two lines once; one that cannot loads it for every tap."""
    sizes = SMALL | {"H": 9, "W": W, "C": 64, "K": 64, "groups": 64}
    problem = ConvProblem(**sizes, stride=stride, dilation=dilation)
    loop = hottest_loop(depthwise_part, *as_called(problem))
    window = window_for(3, 3, (stride, stride), (dilation, dilation))
    if window is None:
        rows = tile_for("float32").rows
        assert loop.loads / loop.multiply_adds == pytest.approx((rows + 1) / rows)  # and a weight
        return
    tile = window_tile("float32", window, problem.Q)
    weights, bias = 2 * 9, 1  # anew for each line
    assert loop.multiply_adds == 2 * tile.rows * tile.vectors * 9
    loads = (np.prod(window.under(tile.rows)) + weights + bias) * tile.vectors
    assert (loop.loads, loop.jumps) == (loads, 1)


@in_turns
@pytest.mark.inside
@pytest.mark.parametrize("P", [1, 2, 5])
def test_lines_in_pairs(P):
    """The last line of a picture may be alone; its sums, and none of the next picture's, are added to y."""
    problem = ConvProblem(3, P, 9, 20, 20, 3, 3, padding=1, groups=20)
    x, w, _ = arrays(problem)
    for threads in (1, 2, 3):
        prepared = plan(problem, w, algorithm="depthwise", backend="cpu", threads=threads, epilogue="add")
        y = np.ones(problem.y_shape, np.float32)
        prepared(x, y, residual=y)
        assert_close(y, x, w, problem, np.ones(20, np.float32), f"{P} lines on {threads} threads")


@pytest.mark.parametrize("many", [37, 48, 96, 100])
def test_as_many_filters_a_channel_as_fill_a_wider_tile(many):
    problem = ConvProblem(1, 5, 6, 2, 2 * many, 3, 3, padding=1, groups=2)
    x, w, _ = arrays(problem)
    y = plan(problem, w, algorithm="depthwise", backend="cpu")(x)
    assert_close(y, x, w, problem, None, f"{many} filters a channel")
