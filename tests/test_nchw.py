"""The NCHW door and its hinges."""

import numpy as np
import pytest
from cases import CASES, arrays, assert_close
from effort import sampled

from convlab import ArrayError, WorkspaceError, conv2d_nchw, from_nchw, to_nchw
from convlab.machine import facts

case = pytest.mark.parametrize("problem", CASES.values(), ids=CASES)


@sampled(3)
@case
def test_nchw_in_nchw_out(problem):
    x, w, bias = arrays(problem)
    parameters = {n: getattr(problem, n) for n in ("stride", "padding", "dilation", "groups")}
    y = conv2d_nchw(to_nchw(x), to_nchw(w), bias, **parameters)
    assert y.flags.c_contiguous
    assert_close(y.transpose(0, 2, 3, 1), x, w, problem, bias)


def test_there_and_back():
    x = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    assert to_nchw(x).shape == (2, 5, 3, 4)
    assert to_nchw(x)[1, 4, 2, 3] == x[1, 2, 3, 4]
    np.testing.assert_array_equal(from_nchw(to_nchw(x)), x)


@pytest.mark.parametrize("turn", [from_nchw, to_nchw])
@pytest.mark.parametrize("shape", [(2, 1, 4, 5), (2, 3, 1, 1), (2, 4, 5, 1)])
def test_a_copy_is_a_copy(turn, shape):
    """Also where an axis of length 1 leaves the order in memory as it is."""
    x = np.zeros(shape)
    assert not np.shares_memory(x, turn(x))


def test_a_dtype_that_is_not_computed_is_refused_at_once():
    x, w = np.ones((1, 2, 5, 5), np.float16), np.ones((1, 2, 3, 3), np.float16)
    with pytest.raises(ArrayError, match=r"float16; expected float32 or float64 \(convert it"):
        conv2d_nchw(x, w)


def test_copies_are_counted_before_they_are_made(monkeypatch):
    x, w = np.ones((1, 64, 160, 160), np.float32), np.ones((64, 64, 1, 1), np.float32)
    monkeypatch.setattr(facts, "memory_at_hand", lambda: x.nbytes)
    with pytest.raises(WorkspaceError, match=r"x in the other order 6\.25 MiB, .* 6\.25 MiB of") as caught:
        conv2d_nchw(x, w)
    for counted in "w in the other order 16.0 KiB", "y in the other order 6.25 MiB":
        assert counted in str(caught.value)
