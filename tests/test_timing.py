"""The timing protocol: checked output, interleaving, limits that are given back. No test asserts a time."""

import os
import weakref

import numpy as np
import pytest

from convlab import ConvError, ConvProblem
from convlab.auto import disturbance, timing
from convlab.auto.timing import alone, compare, limited_to, on_one_core, summary
from convlab.benchmark import read_bandwidth
from convlab.benchmark.read_bandwidth import read_speeds
from convlab.support.aligned import CACHE_LINE


def test_a_wrong_output_is_never_timed():
    calls = []

    def wrong():
        calls.append(1)
        return np.array([1.0, 2.5])

    with pytest.raises(ConvError, match=r"wrong is wrong: its error is 5\.00e-01, the limit 1\.00e-01"):
        compare({"wrong": wrong}, expected=np.array([1.0, 2.0]), limit=0.1)
    assert len(calls) == 1
    with pytest.raises(ConvError, match="nan"):
        compare({"nan": lambda: np.array([np.nan])}, expected=np.array([1.0]), limit=0.1)


def test_no_candidate_passes_with_the_answer_of_another():
    shared = np.zeros(3)

    def right():
        shared[...] = 1
        return shared

    with pytest.raises(ConvError, match="idle is wrong: its error is nan"):
        compare({"right": right, "idle": lambda: shared}, expected=np.ones(3), limit=0.1)
    with pytest.raises(ConvError, match=r"scalar is wrong: its shape is \(\), expected \(3,\)"):
        compare({"scalar": lambda: 1.0}, expected=np.ones(3), limit=0.1)


def test_whole_numbers_are_spoiled_too():
    """No NaN goes into them."""
    shared = np.arange(3)
    with pytest.raises(ConvError, match="idle is wrong: its error is"):
        compare({"right": lambda: shared, "idle": lambda: shared}, expected=np.arange(3))


def test_candidates_take_turns(monkeypatch):
    monkeypatch.setattr(disturbance, "_waits", lambda: None)  # else whoever is pushed aside has more calls
    monkeypatch.setattr(timing, "is_open", lambda times: False)
    monkeypatch.setattr(timing, "BUDGET", 0.0)
    order = []
    names = ("a", "b", "c")
    timings = compare({n: lambda n=n: order.append(n) for n in names}, rounds=20, warm=2)
    assert set(timings) == set(names)
    turns = order[3:]  # after one call each
    assert len(turns) == 20 * 3 * 3
    blocks = [turns[i : i + 3] for i in range(0, len(turns), 3)]  # two warm calls and the timed one
    assert all(len(set(block)) == 1 for block in blocks)
    rounds = ["".join(block[0] for block in blocks[i : i + 3]) for i in range(0, len(blocks), 3)]
    assert all(sorted(r) == list(names) for r in rounds)
    assert len(set(rounds)) > 1  # shuffled: the chance of one order 20 times is 6 to the minus 19


def test_summary():
    five = summary([5.0, 1.0, 2.0, 3.0, 4.0])
    assert (five.low, five.median, five.high) == (2.0, 3.0, 4.0)
    assert summary([0.25]).median == 0.25
    assert str(summary([0.001])) == "1.00 ms (1.00 ms to 1.00 ms)"


def test_thread_limits_are_given_back():
    import numba
    from threadpoolctl import threadpool_info

    def blas():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = numba.get_num_threads(), blas()
    with limited_to(1):
        assert numba.get_num_threads() == 1
        assert set(blas()) == {1}
    assert (numba.get_num_threads(), blas()) == before


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system does not pin threads to cores")
def test_one_thread_stays_on_its_core_and_is_let_go():
    before = os.sched_getaffinity(0)
    with alone(1):
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before
    with alone(2):
        assert os.sched_getaffinity(0) == before
    with pytest.raises(KeyError), on_one_core():
        raise KeyError
    assert os.sched_getaffinity(0) == before


def test_read_speeds_covers_the_sizes():
    speeds = read_speeds(smallest=1 << 14, largest=1 << 17, rounds=1)
    assert list(speeds) == [1 << 14, 1 << 15, 1 << 16, 1 << 17]
    assert all(speed > 0 for speed in speeds.values())


def test_what_is_read_begins_at_a_cache_line(monkeypatch):
    starts = []
    monkeypatch.setattr(read_bandwidth, "_read", lambda array, times: starts.append(array.ctypes.data))
    read_speeds(smallest=1 << 13, largest=1 << 16, rounds=1)
    assert starts
    assert all(start % CACHE_LINE == 0 for start in starts)


def test_arrays_of_many_layers_are_not_kept():
    """A network's layers, 32 pictures each, are several GB."""
    problems = [ConvProblem(1, size, 4, 2, 3, 1, 1) for size in (4, 5, 6)]
    known = [weakref.ref(array) for array in timing.material(problems[0])[:3]]
    assert timing.material(problems[0])[0] is known[0]()  # who asks for a layer again has the same
    for problem in problems[1:]:
        timing.material(problem)
    assert [one() for one in known] == [None] * 3
