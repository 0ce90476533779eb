"""What other programs do to a measurement: an interval holds the truth, or says that it does not know.

No test here depends on how busy this machine is: clocks and neighbours are simulated.
"""

import copy
import itertools
import json
import random
import time

import pytest

from convlab.auto import disturbance, roofs, timing
from convlab.auto.timing import Timing, repeated, summaries, timer
from convlab.benchmark import roofline, saved_runs
from convlab.benchmark.roofline_points import point
from convlab.figures import charts, style
from convlab.problem import ConvProblem
from convlab.support.measured import TOO_NOISY, Measured, fastest, interval

TRUTH = 1.3  # how many times as long "slow" takes as "fast"
LAYER = ConvProblem(1, 56, 56, 64, 64, 3, 3, padding=1)


def medians(**seconds):
    return {name: one.median for name, one in summaries(seconds).items()}


# -- a number and its interval -----------------------------------------------------------------------------


def test_a_number_writes_no_more_than_it_knows():
    assert f"{Measured(2.8, 2.75, 2.85):.1f} times" == "2.8 times"
    assert f"{Measured(2.8, 2.4, 3.1):4.1f} times" == "2.4 to 3.1 times"
    assert f"{Measured(1.02, 0.98, 1.05):.2f}" == "0.98 to 1.05"  # who is faster is open
    assert f"{Measured(1.02, 0.98, 1.05):.0f}" == "1"
    assert f"{Measured(1.0, -3.0, 4.0):+.0f} %" == "-3 to +4 %"
    assert f"{Measured(2.8, 1.0, 9.0, noisy=True):.1f}" == TOO_NOISY
    assert f"{Measured(0.5):.1%}" == "50.0%"
    assert f"{Measured(2.8, 2.4, 3.1)}" == "2.8"


def test_what_comes_of_it_has_its_interval():
    gain = Measured(1.2, 1.1, 1.3)
    percent = 100 * (gain - 1)
    assert (percent, percent.low, percent.high) == pytest.approx((20, 10, 30))
    less = 1 - gain
    assert (less.low, less.high) == pytest.approx((-0.3, -0.1))
    assert (2 / gain).high == pytest.approx(2 / 1.1)
    assert (gain / Measured(2.0, 1.0, 3.0)).high == pytest.approx(1.3)
    assert (3 * Measured(1.0, 0.5, 2.0, noisy=True)).noisy
    assert sum([gain, gain]).high == pytest.approx(2.6)
    assert gain + 0.5 == 1.7
    with pytest.raises(TypeError):
        gain * "2"


def test_it_is_a_float_to_all_who_keep_it():
    gain = Measured(1.2, 1.1, 1.3)
    assert json.loads(json.dumps(gain)) == 1.2
    assert copy.deepcopy(gain).high == 1.3
    assert max(gain, 1.0) is gain


def test_the_interval_of_rounds():
    assert interval([3.0]) == pytest.approx((0.3, 30.0))
    assert interval([2.0, 1.0]) == (0.5, 4.0)
    assert interval(range(1, 12)) == (2, 10)  # one of each end may be left out: 1.2 % of the coins
    assert interval(range(1, 26)) == (8, 18)


def test_the_shortest_of_some_rounds():
    best = Measured.shortest([1.0, 1.02, 1.1, 1.05, 1.5])
    assert (best.low, best, best.high) == (pytest.approx(0.9), 1.0, 1.05)
    assert (2 / best).high == pytest.approx(2 / 0.9)


def test_a_drift_that_all_share_cancels():
    clock = [1.0, 1.1, 1.2, 1.3, 1.2, 1.1, 1.0]
    both = medians(slow=[TRUTH * t for t in clock], fast=clock)
    ratio = both["slow"] / both["fast"]
    assert ratio == pytest.approx(TRUTH)
    apart = Measured.of([TRUTH * t for t in clock]) / Measured.of(clock)
    assert apart.high > ratio.high
    assert both["slow"] / both["slow"] == Measured(1.0)


def test_no_winner_is_named_where_the_rounds_leave_it_open():
    close = medians(a=[1.0, 1.1, 1.05, 1.0, 1.1, 1.2], b=[1.05, 1.0, 1.1, 1.1, 1.0, 1.1], c=[2.0] * 6)
    assert sorted(fastest(close).split(" or ")) == ["a", "b"]
    assert fastest(medians(a=[1.0] * 6, b=[2.0] * 6)) == "a"
    assert fastest({"a": 2.0, "b": 1.0}) == "b"


# -- simulated neighbours ----------------------------------------------------------------------------------


def jitter(rng):
    return 1 + abs(rng.gauss(0, 0.02))


NEIGHBOURS = {
    "nobody": lambda rng, turn: (jitter(rng), jitter(rng)),
    "an outlier": lambda rng, turn: (jitter(rng) * (10 if turn == 3 else 1), jitter(rng)),
    "a drift": lambda rng, turn: ((1 + turn / 50) * jitter(rng), (1 + turn / 50) * jitter(rng)),
    "two speeds": lambda rng, turn: tuple(jitter(rng) * rng.choice([1, 1.4]) for _ in range(2)),
    "one slowed often": lambda rng, turn: (jitter(rng) * (1.8 if rng.random() < 0.7 else 1), jitter(rng)),
    "emptied caches": lambda rng, turn: (1 + 0.2 * rng.random(), 1 + 0.5 * rng.random()),
}


def simulated(neighbour, rng, rounds):
    """Return the ratio that a comparison tells: with as many rounds again if it is open."""
    turns = [NEIGHBOURS[neighbour](rng, turn) for turn in range(2 * rounds)]
    times = {"slow": [TRUTH * a for a, _ in turns], "fast": [b for _, b in turns]}
    first = {name: seconds[:rounds] for name, seconds in times.items()}
    both = medians(**(times if timing.is_open(first) else first))
    return both["slow"] / both["fast"]


@pytest.mark.parametrize("rounds", [11, 25])
@pytest.mark.parametrize("neighbour", NEIGHBOURS)
def test_a_ratio_that_is_told_holds_the_truth(neighbour, rounds):
    cases = [simulated(neighbour, random.Random(seed), rounds) for seed in range(300)]
    wrong = [one for one in cases if not one.noisy and not one.low <= TRUTH <= one.high]
    assert len(wrong) <= 0.05 * len(cases)
    if neighbour in ("nobody", "an outlier"):  # it is not silent out of fear
        assert all(not one.noisy for one in cases)
        assert sum(one.high < 1.2 * one.low for one in cases) > 0.95 * len(cases)


class Core:
    """A core that gives each of its programs a few milliseconds in turn; this thread is one of them.

    After a turn of others the first calls take longer: their caches are gone.
    """

    def __init__(self, monkeypatch, others, *, told=True, part=0.004, rng=None):
        self.wall = self.cpu = 0.0
        self.others, self.part, self.rng = others, part, rng or random.Random(0)
        self.left, self.cold, self.waits = self.part, 0, 0
        monkeypatch.setattr(disturbance.time, "perf_counter", lambda: self.wall)
        monkeypatch.setattr(disturbance.time, "thread_time", lambda: self.cpu)
        monkeypatch.setattr(disturbance, "_waits", lambda: self.waits if told else None)

    def work(self, seconds):
        seconds = seconds * jitter(self.rng) + 0.0002 * (self.cold > 0)
        self.cold = max(0, self.cold - 1)
        while seconds > 0:
            step = min(seconds, self.left)
            seconds, self.left = seconds - step, self.left - step
            self.wall, self.cpu = self.wall + step, self.cpu + step
            if self.left <= 0:
                self.wall += self.others * self.part * self.rng.uniform(0.5, 1.5)
                self.left, self.cold = self.part, 2 if self.others else 0

    def wait(self, seconds):
        self.wall, self.waits = self.wall + seconds, self.waits + 1


@pytest.mark.parametrize("others", [0, 1, 3])
def test_a_busy_neighbour_does_not_make_a_long_call_look_longer(monkeypatch, others):
    """By the wall a call that is longer than a turn takes as often as long as programs share the core."""
    core = Core(monkeypatch, others)
    timers = {"long": timer(lambda: core.work(0.010)), "short": timer(lambda: core.work(0.001))}
    with disturbance.watched() as watch:
        times = repeated(timers, 11)
    ratio = times["long"].median / times["short"].median
    assert ratio.noisy or (ratio.low <= 10.5 and ratio.high >= 9.5)
    assert ratio < 14
    assert watch.quiet == (others == 0)
    assert ("disturbed" if others == 0 else "Other programs had the core") in str(watch)


def test_a_call_that_waits_is_timed_by_the_wall(monkeypatch):
    core = Core(monkeypatch, 0)
    assert disturbance.seconds_of(lambda: core.wait(2.0)) == 2.0
    unknown = Core(monkeypatch, 1, told=False)  # a system that does not tell
    assert disturbance.seconds_of(lambda: unknown.work(0.020)) > 0.030


def test_a_call_on_two_threads_is_timed_by_the_wall(monkeypatch):
    """A thread of its own may have had the core: its work is part of the call."""
    core = Core(monkeypatch, 1)
    seconds = disturbance.seconds_of(lambda: core.work(0.020), threads=2)
    assert seconds > 0.030


@pytest.mark.parametrize("asks", [0.05, 60])
def test_threads_that_still_ask_for_work_are_waited_for(monkeypatch, asks):
    """For some seconds another thread of this process uses half a core; it is not waited for forever."""
    wall = 0.0

    def sleep(seconds):
        nonlocal wall
        wall += seconds

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "perf_counter", lambda: wall)
    monkeypatch.setattr(time, "process_time", lambda: min(wall, asks) / 2)
    disturbance.until_quiet()
    until = min(asks, disturbance.LONGEST_REST)
    assert until <= wall <= until + 2 * disturbance.NAP


def test_who_was_pushed_aside_warms_up_again(monkeypatch):
    core, calls = Core(monkeypatch, 1), []

    def call():
        calls.append(core.wall)
        core.work(0.001)

    core.left, core.part = 0.0015, 0.020  # the second call is interrupted
    seconds = disturbance.seconds_of(call, warm=2)
    assert len(calls) == 5  # two, and two undisturbed ones before the one that counts
    assert seconds < 0.0012
    calls.clear()
    core.part = core.left = 0.0005  # each call is
    disturbance.seconds_of(call, warm=2)
    assert len(calls) == 6  # at most twice as many


def test_open_ratios_have_as_many_rounds_again():
    calm, wild = itertools.cycle([1.0, 1.01]), itertools.cycle([1.0, 1.0, 2.0])
    assert repeated({"a": lambda: 1.0, "b": lambda: next(calm)}, 8)["b"].median.count == 8
    assert repeated({"a": lambda: 1.0, "b": lambda: next(wild)}, 8)["b"].median.count == 16
    assert not timing.is_open({})


# -- physics -----------------------------------------------------------------------------------------------


def test_a_memory_slower_than_one_farther_away_is_looked_at_again():
    looks = []

    def again(found):
        return lambda name: looks.append(name) or found

    disturbed = {"L1": 200.0, "L2": 50.0, "L3": 80.0, "memory": 20.0}
    assert disturbance.in_order(disturbed, again(120.0)) == disturbed | {"L2": 120.0}
    assert looks == ["L2"]
    stays = disturbance.in_order(disturbed, again(60.0))
    assert looks == ["L2"] * 3
    (said,) = disturbance.out_of_order(stays)
    assert said.startswith("L2 was slower than L3, also at a second look: ")
    in_order = {"L1": 79.0, "L2": 80.0, "memory": 20.0}
    assert disturbance.in_order(in_order, again(0.0)) == in_order
    assert not disturbance.out_of_order(in_order)


def test_the_roofs_say_which_memory_is_out_of_order():
    found = roofs.Roofs(1e11, 2e11, 2, {"L1": (1, 1e11), "L2": (2, 2e11)})
    assert "L1 was slower than L2" in found.describe()


def test_a_kernel_above_its_roof_has_the_roof_measured_again(monkeypatch):
    line = roofline.Roofline("here", roofline.Roof(roofline.ADDS, 1e11, per_byte=False), ())
    below = point(LAYER, "indirect", LAYER.flops / 0.9e11)
    above = point(LAYER, "indirect", LAYER.flops / 1.2e11)
    monkeypatch.setattr(roofs, "multiply_adds", lambda: 1.25e11)
    assert roofline.look_again(line, [below]) is line
    assert roofline.look_again(line, [below, above]).adds.rate == 1.25e11
    monkeypatch.setattr(roofs, "multiply_adds", lambda: 0.5e11)
    assert roofline.look_again(line, [above]).adds.rate == 1e11  # the faster look counts


def test_what_holds_a_kernel_up_may_be_open():
    line = roofline.Roofline(
        "here", roofline.Roof(roofline.ADDS, 1e11, per_byte=False), (roofline.Roof("L1", 1e11),)
    )
    seconds = Measured(LAYER.flops / 0.6e11)
    assert "60%" in line.bound(point(LAYER, "indirect", seconds))
    noisy = Measured(seconds, seconds / 4, seconds * 4)
    assert line.bound(point(LAYER, "indirect", noisy)) == roofline.OPEN


# -- figures -----------------------------------------------------------------------------------------------


@pytest.fixture
def titles(monkeypatch):
    from matplotlib.figure import Figure

    seen = []
    monkeypatch.setattr(Figure, "suptitle", lambda self, title, **_: seen.append(title))
    return seen


def test_a_figure_whose_title_is_open_says_so_and_shows_a_saved_run(titles):
    noisy = {"im2row": [1e-3, 3e-3] * 6, "winograd_4x4": [1e-3, 3e-4, 2e-3] * 4}
    for seconds, first in ((noisy, style.BUSY), ({name: [1e-3] * 9 for name in noisy}, "It is 1.0 times")):
        timings = summaries(seconds)
        gain = timings["im2row"].median / timings["winograd_4x4"].median
        picture = charts.times(timings, title=f"It is {gain:.1f} times", alt="Bars", layer=LAYER)
        assert titles.pop() == first
        assert ("Undisturbed, on" in picture.alt) == (first == style.BUSY)
    whose, found = saved_runs.undisturbed(LAYER, ["convlab: im2row", "nobody"])
    assert whose
    assert list(found) == ["convlab: im2row"]
    assert saved_runs.undisturbed(ConvProblem(1, 3, 3, 1, 1, 3, 3), ["im2row"]) == ("", {})


def test_timings_of_a_saved_run_have_no_interval(titles):
    charts.times({"a": Timing(1.0, 1.0, 1.0)}, title="It is", alt="Bars")
    assert titles == ["It is"]


def test_a_bar_that_tells_nothing_is_hollow(titles, monkeypatch):
    from matplotlib.axes import Axes

    drawn, real = [], Axes.barh
    monkeypatch.setattr(Axes, "barh", lambda *a, **k: drawn.append(k["fill"]) or real(*a, **k))
    gains = {"told": Measured(2.0, 1.9, 2.1), "open": Measured(376.0, -10.0, 400.0, noisy=True)}
    charts.bars(gains, title="Gains", axis="percent", alt="Bars")
    assert drawn == [False, True]  # from the bottom
