"""fprop, dgrad and wgrad side by side: what they are held against, who competes, what a run says of them."""

from dataclasses import replace

import numpy as np
import pytest
from cases import CASES
from effort import sampled

import convlab.machine.facts
from convlab import ALGORITHMS, ConvError, ConvProblem, conv2d, dgrad, wgrad
from convlab.auto.timing import Timing, check_output
from convlab.benchmark import (
    measure_passes,
    pass_material,
    read_and_written,
    whole_picture,
    with_zeros,
    zeros_inserted,
)
from convlab.benchmark import pass_comparison as comparing
from convlab.benchmark.baselines import Call
from convlab.benchmark.comparison import Effort
from convlab.benchmark.layers import Workload
from convlab.benchmark.pass_baselines import AUTOGRAD, EVERY, PICTURE, ZEROS
from convlab.benchmark.pass_comparison import PassComparison, our_call
from convlab.benchmark.pass_report import over_passes, sentences, tables
from convlab.benchmark.passes import PASSES, ROUNDING, operations, shape_of
from convlab.benchmark.roofline import of_machine
from convlab.benchmark.roofline_points import compulsory_bytes, point, points
from convlab.benchmark.saved import COLUMNS, Measurement, Row
from convlab.errors import ParameterError, ShapeError, UnsupportedError, WorkspaceError
from convlab.figures import roofline as roofline_chart
from convlab.gradients import DGRAD, WGRAD
from convlab.gradients.dgrad_subfilters import ZEROS_INSERTED, parts
from convlab.plans.plan import Plan
from convlab.widgets.roofline_data import times_of

case = pytest.mark.parametrize("problem", CASES.values(), ids=CASES)
SQUARE = Workload("tiny", "square", ConvProblem(2, 9, 7, 4, 20, 3, 3, padding=1), 2)
STRIDED = Workload("resnet18", "strided", ConvProblem(2, 9, 8, 5, 7, 3, 3, stride=2, padding=1))
FIRST = Workload("resnet18", "conv1", ConvProblem(1, 12, 11, 3, 8, 7, 7, stride=2, padding=3))
BRIEF = Effort(rounds=2, budget=0.0, patience=5.0)


# -- the answers -------------------------------------------------------------------------------------------


@sampled(8)
@case
@pytest.mark.parametrize("pass_", PASSES)
def test_the_answers_are_those_of_the_library_in_double_precision(pass_, problem):
    exact = replace(problem, dtype="float64")
    (one, other), expected, limit = pass_material(exact, pass_)
    shaping = {name: getattr(exact, name) for name in ("stride", "padding", "dilation", "groups")}
    ours = {
        "fprop": lambda: conv2d(one, other, **shaping, backend="numpy"),
        "dgrad": lambda: dgrad(exact, one, other, backend="numpy"),
        "wgrad": lambda: wgrad(exact, one, other, backend="numpy"),
    }
    assert expected.shape == shape_of(problem, PASSES[pass_].writes)
    np.testing.assert_allclose(ours[pass_](), expected, atol=1e-11)
    assert 0 < limit < 1e-11 * problem.macs


def test_passes_are_equal_in_what_they_move():
    problem = SQUARE.problem
    x, w, y = problem.x_bytes, problem.w_bytes, problem.y_bytes
    moved = {pass_: read_and_written(problem, pass_) for pass_ in PASSES}
    assert moved == {"fprop": (x + w, y), "dgrad": (y + w, x), "wgrad": (x + y, w)}
    assert {sum(both) for both in moved.values()} == {compulsory_bytes(problem)}
    with pytest.raises(ParameterError, match="pass_='bgrad'; expected one of fprop, dgrad, wgrad"):
        read_and_written(problem, "bgrad")


def test_memory_for_the_answer_is_looked_at_first(monkeypatch):
    monkeypatch.setattr(convlab.machine.facts, "memory_at_hand", lambda: 1 << 20)
    large = ConvProblem(8, 56, 56, 64, 64, 3, 3, padding=1)
    for pass_ in PASSES:
        with pytest.raises(
            WorkspaceError, match=rf"reference for {pass_} needs .* 1.00 MiB of memory are free"
        ):
            pass_material(large, pass_)


# -- the slow ways -----------------------------------------------------------------------------------------

SLOW = {"dgrad": zeros_inserted, "wgrad": whole_picture}


@sampled(8)
@case
@pytest.mark.parametrize("pass_", SLOW)
def test_slow_ways_are_right(pass_, problem):
    """Also where the stride is 1 and nothing is inserted; of several groups there are several sums."""
    (one, other), expected, limit = pass_material(problem, pass_)
    refused = None
    try:
        call = SLOW[pass_](problem, one, other)
    except UnsupportedError as error:
        refused = str(error)
    if pass_ == "wgrad":
        assert bool(refused) == (problem.groups > 1)
    else:
        wide = any(s >= e for e, p in zip(problem.extent, problem.padding, strict=True) for s in p)
        assert bool(refused) == wide
    if not refused:
        for _ in range(2):  # what a run leaves behind does not disturb the next
            check_output(f"{pass_} of {problem}", call.run().copy(), expected, ROUNDING * limit)


@case
def test_zeros_are_multiplied(problem, monkeypatch):
    """The convolution with zeros inserted does the multiply-adds that the library counts for it."""
    if any(s >= e for e, p in zip(problem.extent, problem.padding, strict=True) for s in p):
        with pytest.raises(UnsupportedError, match=r"the padding is .*; expected less than the filter"):
            with_zeros(problem)
        return
    whole = with_zeros(problem)
    assert whole.y_shape == problem.x_shape
    assert whole.macs == ZEROS_INSERTED(problem) >= DGRAD["subfilters"].macs(problem)
    given = []
    monkeypatch.setattr(Plan, "__call__", lambda self, x: given.append((self.problem, x)))
    (dy, w), _, _ = pass_material(problem, "dgrad")
    zeros_inserted(problem, dy, w, algorithm="direct").run()
    ((done, apart),) = given
    assert done == whole
    assert np.count_nonzero(apart) == np.count_nonzero(dy)


def test_the_whole_picture_is_a_filter(monkeypatch):
    problem, given, call = STRIDED.problem, [], Plan.__call__
    monkeypatch.setattr(Plan, "__call__", lambda self, x: given.append(self) or call(self, x))
    x, dy = pass_material(problem, "wgrad").operands
    assert whole_picture(problem, x, dy, 2, algorithm="direct").run().shape == problem.w_shape
    (done,) = given
    padding = (1, 1), (1, 0)  # no window reads the column of zeros at the right
    assert done.problem == ConvProblem(5, 9, 8, 2, 7, 5, 4, dilation=2, padding=padding)
    assert done.problem.macs == problem.macs
    assert (done.algorithm.name, done.threads) == ("direct", 2)


def test_a_stride_that_does_not_divide_wastes_nothing():
    """The last line and column of x are read by no window: no output beyond R and S is computed."""
    problem = ConvProblem(1, 10, 12, 2, 3, 3, 3, stride=2)
    (x, dy), expected, limit = pass_material(problem, "wgrad")
    check_output("it", whole_picture(problem, x, dy).run(), expected, ROUNDING * limit)
    beyond = ConvProblem(1, 2, 2, 1, 1, 3, 3, stride=20, padding=((3, 0), (0, 1)))
    with pytest.raises(UnsupportedError, match="no window reads a pixel"):
        whole_picture(beyond, *pass_material(beyond, "wgrad").operands)


@pytest.mark.parametrize(("pass_", "what"), [("dgrad", "dy with zeros"), ("wgrad", "x .*, dy .*, dw ")])
def test_slow_ways_ask_for_memory_first(monkeypatch, pass_, what):
    problem = ConvProblem(16, 56, 56, 32, 32, 3, 3, stride=2, padding=1)
    operands = pass_material(problem, pass_).operands
    monkeypatch.setattr(convlab.machine.facts, "memory_at_hand", lambda: 1 << 20)
    with pytest.raises(
        WorkspaceError, match=f"needs .*{what}.* 1.00 MiB of memory are free; make the batch N"
    ):
        SLOW[pass_](problem, *operands)


def test_what_is_wrong_with_an_operand_is_named():
    (dy, w), (x, _) = (pass_material(STRIDED.problem, pass_).operands for pass_ in ("dgrad", "wgrad"))
    with pytest.raises(ShapeError, match=r"dy has shape .*expected \(N, P, Q, K\)"):
        zeros_inserted(STRIDED.problem, dy[1:], w)
    with pytest.raises(ShapeError, match=r"x has shape .*expected \(N, H, W, C\)"):
        whole_picture(STRIDED.problem, x[..., 1:], dy)
    with pytest.raises(ParameterError, match="algorithm='fast'"):
        whole_picture(STRIDED.problem, x, dy, algorithm="fast")


# -- who competes ------------------------------------------------------------------------------------------


@sampled(0)
@pytest.mark.parametrize(
    "baseline", [one for one in EVERY if one.pass_ in ("dgrad", "wgrad")], ids=lambda one: one.name
)
def test_baselines_are_right(baseline):
    if baseline.missing():
        pytest.skip(baseline.missing())
    served = [problem for problem in CASES.values() if not baseline.refuses(problem)]
    assert len(served) >= 10
    for problem in served:
        operands, expected, limit = pass_material(problem, baseline.pass_)
        call = baseline.prepare(problem, *operands, 1)
        found = np.array(call.array(call.run()))
        check_output(f"{baseline.name} on {problem}", found, expected, limit * baseline.rounding)


@pytest.mark.parametrize("pass_", PASSES)
def test_everyone_who_serves_takes_part(pass_):
    comparison = PassComparison(STRIDED, pass_, BRIEF)
    comparison.enter_ours()
    comparison.enter_baselines(EVERY[-2:])
    rows = comparison.rows("passes")
    table = PASSES[pass_].algorithms
    serving = {
        name for name, one in table.items() if "cpu" in one.forms and not one.supports(STRIDED.problem)
    }
    assert {row.candidate for row in rows if row.ours} == serving | {"auto"}
    others = {"fprop": set(), "dgrad": {ZEROS}, "wgrad": {PICTURE}}
    assert {row.candidate for row in rows if not row.ours} == others[pass_]
    assert {row.pass_ for row in rows} == {pass_}
    assert all(row.seconds > 0 and row.problem == STRIDED.problem for row in rows)


@pytest.mark.parametrize("pass_", PASSES)
def test_nobody_is_timed_whose_output_is_wrong(pass_):
    comparison = PassComparison(SQUARE, pass_, BRIEF)
    wrong = Call(lambda: np.zeros(comparison.expected.shape, np.float32))
    with pytest.raises(ConvError, match="zeros on tiny square is wrong"):
        comparison.enter("zeros", wrong)
    assert comparison.rows("passes") == []


@pytest.mark.parametrize("pass_", ["fprop", "dgrad"])
def test_new_weights_count_in_every_run(pass_):
    problem = SQUARE.problem
    (one, w), expected, limit = pass_material(problem, pass_)
    for name, algorithm in PASSES[pass_].algorithms.items():
        if "cpu" in algorithm.forms and not algorithm.supports(problem):
            weights = w.copy()
            call = our_call(pass_, name, problem, one, weights)
            call.run()
            weights *= -2
            check_output(name, call.run(), -2 * expected, 2 * limit * ROUNDING)


def test_the_passes_of_a_layer_are_measured_here():
    found = measure_passes(SQUARE.problem, layer="square", rounds=2)
    assert [one.pass_ for one in found] == list(PASSES)
    for one in found:
        assert one.algorithm in PASSES[one.pass_].algorithms
        assert (one.layer, one.problem) == ("square", SQUARE.problem)
        assert one.seconds > 0
    assert [one.pass_ for one in measure_passes(SQUARE.problem, ["wgrad"], rounds=1)] == ["wgrad"]
    with pytest.raises(ParameterError, match="passes='bgrad'"):
        measure_passes(SQUARE.problem, ["bgrad"])


def test_a_wrong_pass_is_not_timed(monkeypatch):
    monkeypatch.setattr(comparing, "our_call", lambda *_: Call(lambda: np.ones(SQUARE.problem.w_shape)))
    with pytest.raises(ConvError, match="wgrad by parts is wrong"):
        measure_passes(SQUARE.problem, ["wgrad"])


# -- on the roofline ---------------------------------------------------------------------------------------


def test_points_of_the_passes():
    problem = STRIDED.problem
    found = [
        point(problem, name, 1e-3, layer="a", pass_=pass_)
        for pass_, name in (("fprop", "direct"), ("dgrad", "col2im"), ("wgrad", "parts"), ("wgrad", PICTURE))
    ]
    assert len({one.intensity for one in found}) == len({one.speed for one in found}) == 1
    assert [one.done for one in found] == 4 * [problem.flops]
    for one, table in zip(found[1:3], (DGRAD, WGRAD), strict=True):
        assert one.moved == table[one.algorithm].cost(problem, "cpu").bytes_moved
    assert found[3].moved == found[3].size == compulsory_bytes(problem) < found[2].size
    with pytest.raises(ParameterError, match="pass_='bgrad'"):
        point(problem, "parts", 1.0, pass_="bgrad")


def test_the_explorer_takes_no_gradient_for_a_forward_pass():
    """Wgrad has an im2row, too."""
    both = [point(SQUARE.problem, "im2row", 1e-3, pass_=pass_) for pass_ in ("fprop", "wgrad")]
    assert times_of(both[1:]) == {}
    assert times_of(both) == {SQUARE.problem: {"im2row": 1e-3}}


def test_operations_of_a_gradient_are_those_of_the_convolutions_inside(monkeypatch):
    problem = ConvProblem(1, 28, 28, 64, 64, 3, 3, padding=1)
    inside = ALGORITHMS["winograd_4x4"]
    monkeypatch.setattr("convlab.benchmark.passes.fastest", lambda *_, **how: (inside, "a test"))
    (part,) = parts(problem)
    assert operations(problem, DGRAD["col2im"], "cpu") == problem.flops
    for name in ("flipped", "subfilters"):
        assert (
            operations(problem, DGRAD[name], "cpu") == inside.cost(part.problem, "cpu").flops < problem.flops
        )


def test_the_picture_tells_passes_apart():
    roofs = {"flops": 1e11, "flops_all": 1e11, "threads": 1, "copies": {"memory": (1 << 26, 2e10)}}
    line = of_machine(roofs, {"processor": "Example 1"})
    names = {"fprop": "direct", "dgrad": "col2im", "wgrad": "parts"}
    found = [
        point(one.problem, name, one.problem.flops / 5e10, layer=one.layer, pass_=pass_)
        for one in (SQUARE, STRIDED)
        for pass_, name in names.items()
    ]
    alt = roofline_chart(line, found, title="Two layers").alt
    for one in found:
        assert f"{one.layer} {one.pass_}: {one.algorithm} 50.0 GFLOP/s at {one.intensity:.3g} FLOPs" in alt
    many = [replace(one, seconds=one.seconds * n) for one in found for n in (1, 2, 3, 4)]
    low, high = sorted(one.intensity for one in (found[0], found[3]))
    assert (
        f"24 points from 12.5 GFLOP/s to 50.0 GFLOP/s, at {low:.2g} to {high:.3g}"
        in roofline_chart(line, many, title="Many").alt
    )


# -- saved and told ----------------------------------------------------------------------------------------


def row(pass_, candidate, seconds, workload=SQUARE, *, ours=True):
    timing = Timing(seconds, seconds, seconds)
    one = workload
    named = {"ours": ours, "threads": 1, "rounds": 9, "timing": timing, "pass_": pass_}
    return Row("passes", one.network, one.layer, one.count, one.problem, candidate, **named)


ROWS = [
    *(row("fprop", "indirect", 1.0), row("fprop", AUTOGRAD, 4.0, ours=False)),
    *(row("dgrad", "flipped", 1.0), row("dgrad", AUTOGRAD, 2.0, ours=False)),
    *(row("wgrad", "parts", 4.0), row("wgrad", AUTOGRAD, 2.0, ours=False)),
    row("wgrad", PICTURE, 40.0, ours=False),
    *(row("dgrad", "subfilters", 1.0, STRIDED), row("dgrad", ZEROS, 3.0, STRIDED, ours=False)),
    *(row("dgrad", "col2im", 9.0, FIRST), row("dgrad", AUTOGRAD, 1.0, FIRST, ours=False)),
    *(row("wgrad", "parts", 1.0, FIRST), row("wgrad", AUTOGRAD, 8.0, FIRST, ours=False)),
]


def test_a_row_keeps_its_pass_and_an_older_one_has_none():
    for one in ROWS:
        text = one.as_dict()
        assert text["pass"] == one.pass_
        assert Row.from_dict(text).pass_ == one.pass_
        del text["pass"]
        assert Row.from_dict(text).pass_ == "fprop"
    assert "pass" in COLUMNS
    assert [one.pass_ for one in points(ROWS)] == [one.pass_ for one in ROWS]


def test_what_the_passes_come_to():
    tiny = [one for one in ROWS if one.network == "tiny"]
    both = over_passes(tiny, ("dgrad", "wgrad"))
    assert both.mean == pytest.approx(1)  # twice as fast, and half as fast
    assert (both.worst, both.worst_layer) == (0.5, "wgrad of square")
    assert over_passes(tiny, PASSES).mean == pytest.approx(4 ** (1 / 3))
    first = over_passes([one for one in ROWS if one.network == "resnet18"], ("dgrad", "wgrad"))
    assert first.mean == pytest.approx(8)  # the dgrad of the first layer, nine times as slow, is not counted


def test_what_auto_takes_is_told_apart():
    """It is no better than our best, even where it happens to be timed faster."""
    rows = [one for one in ROWS if one.network == "tiny"]
    rows += [row("dgrad", "auto", 0.5), row("wgrad", "auto", 8.0)]
    means = {line[0]: line[4:6] for line in tables(Measurement({}, rows))[1].rows}
    assert means == {
        "fprop": ("4.00×", "–"),
        "dgrad": ("2.00×", "4.00×"),
        "wgrad": ("0.50×", "0.25×"),
        "backward": ("1.00×", "1.00×"),
        "all three": ("1.59×", "1.00×"),
    }
    assert "(geometric mean; 1.00× with what auto takes)" in sentences(rows)[0]


def test_what_a_run_says_of_the_passes():
    words = sentences(ROWS)
    assert words == [
        "Backward pass of tiny's convolutions, 2 images, one thread: 1.00× as fast as torch channels_last "
        "(geometric mean); least, 0.50×, in wgrad of square.",
        "Backward pass of ResNet-18's convolutions, 2 images, one thread: 8.00× as fast as torch "
        "channels_last (geometric mean); least, 8.00×, in wgrad of conv1.",
        "dgrad at a stride by sub-filters, which multiply by no inserted zero: 3.00× as fast as with zeros "
        "inserted (geometric mean); least, 3.00×, in resnet18 strided.",
        "The dgrad of ResNet-18's first layer is listed and not counted: training needs no gradient of the "
        "picture.",
    ]
    assert sentences([]) == []


def test_the_tables_of_the_passes():
    found = tables(Measurement({}, ROWS))
    each = {table.rows[0][0]: table.rows for table in found[:4:2]}
    assert each["square"] == [("square", "2", "1.00 s", "4.00×", "1.00 s", "2.00×", "4.00 s", "0.50×")]
    assert ("conv1", "1", "–", "–", "(9.00 s)", "0.11×", "1.00 s", "8.00×") in each["strided"]
    means = {line[0]: line[1:] for line in found[1].rows}
    assert means["backward"] == ("10.0 s", "8.00 s", "0.80×", "1.00×", "–", "0.50×", "wgrad of square")
    zeros, picture = found[-2:]
    slow = with_zeros(STRIDED.problem).macs, DGRAD["subfilters"].macs(STRIDED.problem)
    assert slow[0] > 3 * slow[1]
    assert [line[0] for line in zeros.rows] == ["strided"]
    assert zeros.rows[0][3:] == ("1.00 s", "3.00 s", "3.00×")
    macs = picture.rows[0][1]
    assert picture.rows == [("square", macs, macs, "4.00 s", "40.0 s", "10.0×")]
    assert [table.rows for table in tables(Measurement({}, []))] == [[], []]
