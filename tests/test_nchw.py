"""The NCHW door and its hinges."""

import numpy as np
import pytest
from cases import CASES, arrays, assert_close
from effort import sampled

from convlab import conv2d_nchw, from_nchw, to_nchw

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
