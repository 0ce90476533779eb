"""Many machines, simulated: what can be said in a formula is met, and no result is lost without notice."""

from math import ceil

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from convlab import ConvError
from convlab.distributed import Network, lognormal, simulate_lockstep, simulate_queue, stragglers

WIRE = Network(latency=0.25, bandwidth=2.0)


# -- one queue: what a formula says ------------------------------------------------------------------------


@pytest.mark.parametrize(("machines", "tiles"), [(1, 5), (4, 4), (4, 10), (7, 3), (10, 1000)])
def test_equal_tiles(machines, tiles):
    found = simulate_queue(machines, 2.0, tiles=tiles)
    assert found.makespan == ceil(tiles / machines) * 2
    assert found.busy.sum() * found.makespan == pytest.approx(tiles * 2)
    assert found.repeated == 0


def test_the_scheduler_hands_out_one_after_the_other():
    """10,000 machines, and none of them has to wait for a tile: but each for its turn."""
    found = simulate_queue(10_000, 1.0, tiles=100_000, overhead=1e-3)
    assert found.makespan == pytest.approx(100_000 * 1e-3 + 1)
    assert found.busy.mean() == pytest.approx(100_000 / (10_000 * 101))
    # With fewer machines it is waited for at the beginning alone: the last one's turn comes after 99 others.
    assert simulate_queue(100, 1.0, tiles=1000, overhead=1e-3).makespan == pytest.approx(0.099 + 10 * 1.001)


def test_a_tile_waits_for_the_scheduler_and_its_bytes():
    one = 0.125 + 0.25 + 3 / 2 + 1 + 5 / 2 + 0.25  # handed out, told, in, computed, out, told
    options = {"overhead": 0.125, "network": WIRE, "bytes_in": 3, "bytes_out": 5}
    assert simulate_queue(1, 1.0, tiles=4, **options).makespan == pytest.approx(4 * one)
    # Each machine has a link of its own: two begin an eighth apart.
    assert simulate_queue(2, 1.0, tiles=4, **options).makespan == pytest.approx(2 * one + 0.125)


def test_all_wait_for_one_disk():
    assert simulate_queue(8, 0.0, tiles=64, bytes_in=3, bytes_out=1, disk=2.0).makespan == 64 * 4 / 2
    assert simulate_queue(8, 7.0, tiles=8, bytes_in=1, disk=1.0).makespan == 8 + 7  # the last begins last
    assert simulate_queue(4, 1.0, tiles=8, bytes_in=1, disk=1e9).makespan == pytest.approx(2)
    # What it did not do while nobody asked is not done later.
    assert simulate_queue(1, 10.0, tiles=2, bytes_in=2, disk=1.0).makespan == 2 * (2 + 10)


def test_a_part_of_the_machines_is_rounded():
    assert (stragglers(100, 0.29, 3.0) == 3.0).sum() == 29


def test_a_straggler_holds_up_the_end():
    slow = np.ones(4)
    slow[2] = 5
    assert simulate_queue(4, 1.0, tiles=4, slowness=slow).makespan == 5
    # Small tiles: the others do what it leaves, all but the one that it is at.
    found = simulate_queue(4, 0.01, tiles=1603, slowness=slow)
    together = 3 + 1 / 5  # tiles in the time of one
    assert 16.03 / together <= found.makespan <= 16.03 / together + 0.05


def test_tiles_of_several_lengths():
    found = simulate_queue(2, [3.0, 1.0, 1.0, 2.0])
    assert found.makespan == 4  # 3 beside 1 + 1 + 2
    assert found.timeline.start.tolist() == [0, 0, 1, 2]
    assert found.timeline.machine.tolist() == [0, 1, 1, 1]
    assert simulate_queue(2, np.array([3.0, 1.0, 1.0, 2.0])).makespan == found.makespan


# -- machines that fail ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moment", "results", "makespan", "repeated", "lost"),
    [
        (0.5, "written", 4.0, 1, [1]),  # the other one does all four
        (1.5, "written", 3.0, 1, [3]),
        (1.5, "held", 4.0, 2, [1, 3]),  # what it was at, and what it held
        (2.5, "held", 2.0, 0, []),  # all is there
    ],
)
def test_one_failure(moment, results, makespan, repeated, lost):
    found = simulate_queue(2, 1.0, tiles=4, failures=[(1, moment)], detection=0.25, results=results)
    assert (found.makespan, found.repeated) == (makespan, repeated)
    line = found.timeline
    assert sorted(line.tile[~line.kept].tolist()) == lost


def test_what_was_lost_is_handed_out_before_all_else():
    found = simulate_queue(2, 1.0, tiles=6, failures=[(1, 0.5)])
    assert found.timeline.tile.tolist() == [0, 1, 1, 2, 3, 4, 5]


def test_a_failure_is_noticed_late():
    found = simulate_queue(2, 1.0, tiles=2, failures=[(1, 0.5)], detection=10.0)
    assert found.makespan == 0.5 + 10 + 1
    assert found.busy.tolist() == pytest.approx([2 / 11.5, 0.5 / 11.5])


def test_what_is_lost_before_it_begins_was_not_begun_twice():
    """It was handed to a machine that failed while it fetched what the tile needs."""
    found = simulate_queue(2, 1.0, tiles=2, network=Network(0.0, 1.0), bytes_in=4, failures=[(0, 2.0)])
    assert found.repeated == 0
    assert found.timeline.machine.tolist() == [1, 1]
    assert found.makespan == 2 * (4 + 1)


@st.composite
def runs(draw):
    """Draw the arguments of a run with everything that may go wrong."""
    machines = draw(st.integers(1, 6))
    part = st.integers(0, 8).map(lambda eighths: eighths / 8)  # sums of them are exact
    broken = draw(st.sets(st.integers(0, machines - 1), max_size=machines - 1))
    return {
        "machines": machines,
        "seconds": draw(st.lists(part, min_size=1, max_size=25)),
        "overhead": draw(part),
        "network": Network(draw(part), 2.0),
        "bytes_in": draw(part),
        "bytes_out": draw(part),
        "disk": draw(st.sampled_from([1.0, 8.0, np.inf])),
        "slowness": np.array([draw(st.sampled_from([1.0, 1.0, 4.0])) for _ in range(machines)]),
        "failures": [(machine, draw(st.integers(0, 40)) / 8) for machine in sorted(broken)],
        "detection": draw(part),
        "results": draw(st.sampled_from(["held", "written"])),
    }


@settings(max_examples=examples(300), deadline=None)
@given(runs())
def test_every_result_is_there_at_the_end(run):
    found = simulate_queue(**run)
    line, seconds, slowness = found.timeline, np.array(run["seconds"]), run["slowness"]
    failed = dict(run["failures"])
    kept = line.kept
    assert sorted(line.tile[kept]) == list(range(len(seconds)))
    took = line.stop - line.start
    np.testing.assert_array_equal(took[kept], (seconds[line.tile] * slowness[line.machine])[kept])
    assert (took >= 0).all()
    assert (line.stop <= found.makespan).all()
    assert found.repeated == (~kept).sum()
    worked = [took[line.machine == one].sum() for one in range(run["machines"])]
    np.testing.assert_allclose(found.busy * found.makespan, worked)
    for machine in range(run["machines"]):
        mine = line.machine == machine
        assert (line.start[mine][1:] >= line.stop[mine][:-1]).all()  # one after the other
        dies = failed.get(machine, np.inf)
        assert (line.stop[mine] <= dies).all()
        if run["results"] == "held" and dies < found.makespan:
            assert not kept[mine].any()


@settings(max_examples=examples(150), deadline=None)
@given(runs())
def test_a_run_is_the_same_again(run):
    first, second = simulate_queue(**run), simulate_queue(**run)
    assert first.makespan == second.makespan
    for one, other in zip(first.timeline, second.timeline, strict=True):
        np.testing.assert_array_equal(one, other)


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(1, 9), st.lists(st.integers(0, 20), min_size=1, max_size=40))
def test_no_run_is_shorter_than_its_work(machines, seconds):
    """And none longer than Graham's bound for lists (1969): the even share, and once the longest tile."""
    found = simulate_queue(machines, seconds)
    share, longest = sum(seconds) / machines, max(seconds)
    assert max(share, longest) <= found.makespan <= share + (1 - 1 / machines) * longest + 1e-9


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(1, 30), st.integers(1, 60), st.integers(0, 8), st.integers(0, 8))
def test_more_machines_are_never_slower(machines, tiles, latency, nbytes):
    options = {"network": Network(latency / 8, 2.0), "bytes_in": nbytes, "bytes_out": nbytes}
    fewer, more = (simulate_queue(count, 1.0, tiles, **options) for count in (machines, machines + 1))
    assert more.makespan <= fewer.makespan


# -- in lockstep -------------------------------------------------------------------------------------------


def test_equal_machines():
    found = simulate_lockstep(5, [1.0, 2.0, 4.0], network=WIRE, border=3)
    assert found.makespan == 7 + 2 * (0.25 + 2 * 3 / 2)
    assert found.busy == pytest.approx(np.full(5, 7 / found.makespan))
    pair = simulate_lockstep(2, [1.0, 2.0, 4.0], network=WIRE, border=3)
    assert pair.makespan == 7 + 2 * (0.25 + 3 / 2)  # one neighbour
    assert simulate_lockstep(1, [1.0, 2.0, 4.0], network=WIRE, border=3).makespan == 7


def test_who_is_late_once_delays_one_neighbour_more_each_layer():
    seconds = np.ones((6, 15))
    seconds[1, 7] += 10
    found = simulate_lockstep(15, seconds)
    stop = found.timeline.stop.reshape(6, 15)
    layers, machines = np.indices(stop.shape)
    reached = (layers >= 1) & (abs(machines - 7) <= layers - 1)
    np.testing.assert_array_equal(stop, layers + 1 + 10 * reached)


def test_a_slow_machine_slows_all_in_the_end():
    slow = np.ones(9)
    slow[0] = 3
    found = simulate_lockstep(9, [1.0] * 20, slowness=slow)
    stop = found.timeline.stop.reshape(20, 9)
    layers, machines = np.indices(stop.shape)
    behind = np.minimum(machines, layers + 1)  # layers that were done before the delay came
    np.testing.assert_array_equal(stop, (layers + 1 - behind) * 3 + behind)


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 1000))
def test_who_begins_has_its_neighbours_borders(machines, layers, seed):
    seconds = np.random.default_rng(seed).integers(0, 9, (layers, machines)).astype(float)
    found = simulate_lockstep(machines, seconds, network=Network(0.5, 1.0), border=1)
    line = found.timeline
    start, stop = (one.reshape(layers, machines) for one in (line.start, line.stop))
    np.testing.assert_array_equal(stop - start, seconds)
    assert not start[0].any()
    for layer, machine in np.ndindex(layers - 1, machines):
        near = [one for one in (machine - 1, machine + 1) if 0 <= one < machines]
        borders = [stop[layer, one] + 0.5 + len(near) for one in near]
        assert start[layer + 1, machine] == max([stop[layer, machine], *borders])
    assert found.makespan == stop.max()


# -- how slow machines are ---------------------------------------------------------------------------------


def test_stragglers_are_so_many():
    found = stragglers(1000, 0.05, 4.0, seed=3)
    assert (found == 4).sum() == 50
    assert (found == 1).sum() == 950
    np.testing.assert_array_equal(found, stragglers(1000, 0.05, 4.0, seed=3))
    assert (found != stragglers(1000, 0.05, 4.0, seed=4)).any()
    assert (stragglers(10, 0, 4.0) == 1).all()


def test_a_lognormal_spread():
    found = lognormal(20_000, 0.5, seed=1)
    assert np.median(found) == pytest.approx(1, rel=0.03)
    assert np.log(found).std() == pytest.approx(0.5, rel=0.03)
    np.testing.assert_array_equal(found, lognormal(20_000, 0.5, seed=1))
    assert (lognormal(10, 0.0) == 1).all()


# -- what does not fit -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"seconds": 1.0}, "tiles=None"),
        ({"seconds": [1.0, 2.0], "tiles": 2}, "tiles=2 beside"),
        ({"seconds": [1.0, -2.0]}, "seconds .* below 0"),
        ({"seconds": np.ones((2, 2))}, "seconds has shape"),
        ({"seconds": 1.0, "tiles": 2, "failures": [(0, 1.0), (1, 2.0)]}, "failures leaves no machine"),
        ({"seconds": 1.0, "tiles": 2, "failures": [(2, 1.0)]}, "failures"),
        ({"seconds": 1.0, "tiles": 2, "slowness": np.ones(3)}, "slowness has shape"),
        ({"seconds": 1.0, "tiles": 2, "slowness": np.array([1.0, 0.0])}, "slowness has numbers"),
        ({"seconds": 1.0, "tiles": 2, "results": "lost"}, "results='lost'"),
    ],
)
def test_a_queue_that_cannot_be(options, said):
    with pytest.raises(ConvError, match=said):
        simulate_queue(2, **options)


def test_layers_of_other_machines():
    with pytest.raises(ConvError, match=r"seconds has shape \(3, 4\)"):
        simulate_lockstep(5, np.ones((3, 4)))
