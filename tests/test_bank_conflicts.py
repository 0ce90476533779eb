"""Passes over shared memory, against what others have counted and timed on real GPUs."""

import numpy as np
import pytest

from convlab.gpu.simulator.bank_conflicts import wavefronts
from convlab.gpu.simulator.requests import Request

LANES = np.arange(32)


def passes(items, size, kind="ld", lanes=LANES):
    """Return the passes of one request whose lanes want these items of `size` bytes each."""
    return int(wavefronts(np.zeros(len(lanes), int), lanes, np.asarray(items) * size, size, kind)[0])


# Requests of 16 bytes a lane: which item each lane wants, and the passes that takes, by those who looked with
# Nsight Compute; `bank_conflicts` names them.
COUNTED = {
    "side by side": (LANES, 4),
    "every fourth lane the same": (LANES % 4, 4),
    "neighbours the same": (LANES // 2, 2),
    "all the same": (0 * LANES, 2),
    "every other lane the same": (LANES // 4 * 2 + LANES % 2, 2),
    "half of the warp one way, half the other": (
        np.where(LANES < 16, LANES // 2, 8 + LANES // 4 * 2 + LANES % 2),
        4,
    ),
    "neighbours the same, two to a bank": (LANES // 8 + LANES // 4 % 2 * 8, 4),
}


@pytest.mark.parametrize("name", COUNTED)
def test_loads_of_16_bytes_take_the_passes_that_were_counted(name):
    items, expected = COUNTED[name]
    assert passes(items, 16) == expected


# A loop of such loads on an A100 ("gpu_shm_microbench"), in milliseconds, by bytes a lane: lane i wants item
# i; or i // 2.
TIMED = {4: (97.7, 100.3), 8: (187.0, 119.3), 16: (375.1, 214.1)}


@pytest.mark.parametrize("size", TIMED)
def test_passes_explain_times_on_a_gpu(size):
    """Within a third: the loop adds up what it loads, too."""
    a_pass = TIMED[4][0]
    for items, time in zip((LANES, LANES // 2), TIMED[size], strict=True):
        assert time / a_pass == pytest.approx(passes(items, size), rel=0.33)


def test_loads_of_8_bytes_are_one_pass_in_pairs():
    assert passes(LANES, 8) == 2
    assert passes(LANES // 2, 8) == 1
    assert passes(LANES // 4 * 2 + LANES % 2, 8) == 1
    assert passes(LANES % 16, 8) == 2  # both halves of the warp the same: no pair


def test_only_loads_are_served_in_pairs():
    assert passes(LANES // 2, 16, "st") == 4
    assert passes(LANES // 2, 4) == passes(LANES // 2, 4, "st") == 1


def test_who_asks_for_nothing_spoils_no_pair():
    even = LANES[::2]
    assert passes(even, 16, lanes=even) == 4  # two to a bank in each pass of 16 lanes
    assert passes(even // 2, 16, lanes=even) == 2
    few = np.array([0, 1, 2])
    assert passes([0, 1, 0], 16, lanes=few) == 1


def test_one_request_is_counted_as_many_are():
    """Request by request, or all at once: the same passes, and the same least."""
    random = np.random.default_rng(0)
    ways = [LANES, LANES // 2, LANES // 4 * 2 + LANES % 2, random.integers(0, 40, 32), 8 * LANES]
    for size in (4, 8, 16):
        request, items = np.repeat(np.arange(len(ways)), 32), np.concatenate(ways)
        together = wavefronts(request, np.tile(LANES, len(ways)), items * size, size, "ld")
        one_by_one = [Request((0, 0, 0), 0, (), LANES, way * size, size, "ld") for way in ways]
        assert together.tolist() == [one.wavefronts for one in one_by_one]
        assert all(one.ideal_wavefronts <= one.wavefronts for one in one_by_one)
        assert [one.ideal_wavefronts for one in one_by_one[:2]] == [size // 4, max(1, size // 8)]
