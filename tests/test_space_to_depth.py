"""Stride 2 folded away: the folded problem is the same convolution, on every backend and in every number."""

import numpy as np
import pytest
from cases import arrays, assert_close
from effort import examples, sampled
from hypothesis import given, settings
from hypothesis import strategies as st

from convlab import ALGORITHMS, ConvError, ConvProblem, plan
from convlab.algorithms.winograd_s2d.space_to_depth import _hits, fold_weights, folded
from convlab.oracle import reference

S2D = ALGORITHMS["winograd_s2d"]
PHOTO = ConvProblem(1, 18, 17, 3, 8, 7, 7, stride=2, padding=3)
PROBLEMS = [PHOTO, ConvProblem(2, 9, 12, 2, 5, 8, 6, stride=2, padding=((4, 1), (0, 5)), dtype="float64")]


def z_of(problem, backend):
    """Return the picture that a backend folds."""
    x, w, _ = arrays(problem)
    ready = plan(problem, w, algorithm=S2D, backend=backend)
    ready(x)
    return ready.workspace["z"]


@sampled(0)
@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_every_pixel_and_tap_goes_where_the_formula_says(problem):
    x, w, _ = arrays(problem)
    inner, (top, left) = folded(problem), (before for before, _ in problem.padding)
    z, v = np.zeros((*inner.x_shape[:3], 2, 2, problem.C)), fold_weights(problem, w)
    for i, j, a, b in np.ndindex(inner.H, inner.W, 2, 2):
        h, column = 2 * i + a - top, 2 * j + b - left
        if 0 <= h < problem.H and 0 <= column < problem.W:
            z[:, i, j, a, b] = x[:, h, column]
    for backend in ("numpy", "cpu"):
        np.testing.assert_array_equal(z_of(problem, backend), z.reshape(inner.x_shape))
    cells = v.reshape(problem.K, inner.R, inner.S, 2, 2, problem.C)
    for i, j, a, b in np.ndindex(inner.R, inner.S, 2, 2):
        r, s = 2 * i + a, 2 * j + b
        tap = w[:, r, s] if r < problem.R and s < problem.S else 0
        np.testing.assert_array_equal(cells[:, i, j, a, b], np.broadcast_to(tap, cells[:, i, j, a, b].shape))
    # And so it is the same convolution, with any algorithm for stride 1.
    assert (inner.y_shape, inner.stride) == (problem.y_shape, (1, 1))
    expected = reference(x, w, problem)
    np.testing.assert_allclose(reference(z.reshape(inner.x_shape), v, inner), expected, rtol=0, atol=1e-12)


@settings(max_examples=examples(300), deadline=None)
@given(shift=st.integers(-9, 9), size=st.integers(1, 12), count=st.integers(1, 12))
def test_hits_are_those_that_lie_in_the_picture(shift, size, count):
    ours, theirs = _hits(shift, size, count)
    hits = [i for i in range(count) if 0 <= 2 * i + shift < size]
    assert list(range(count))[ours] == hits
    assert list(range(size))[theirs] == [2 * i + shift for i in hits]


@sampled(0)
@pytest.mark.parametrize("backend", ["numpy", "cpu"])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_padding_stays_zero_from_run_to_run(backend, threads):
    problem = ConvProblem(2, 70, 33, 3, 70, 7, 7, stride=2, padding=((3, 4), (2, 3)))  # many blocks of tiles
    x, w, bias = arrays(problem)
    ready = plan(problem, w, bias, algorithm=S2D, backend=backend, threads=threads)
    ready(np.full_like(x, 1e30))
    assert_close(ready(x), x, w, problem, bias, rounding=S2D.rounding)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"stride": 1}, "the stride is (1, 1)"),
        ({"stride": (2, 1)}, "the stride is (2, 1)"),
        ({"R": 3, "S": 3}, "5 to 8 taps"),
        ({"R": 9}, "the filter is 9x7"),
        ({"dilation": 2, "H": 40, "W": 40}, "the dilation is (2, 2)"),
        ({"C": 4, "K": 4, "groups": 2}, "the channels are in groups"),
    ],
)
def test_what_is_refused(change, reason):
    given_ = {"N": 1, "H": 18, "W": 17, "C": 3, "K": 8, "R": 7, "S": 7, "stride": 2, "padding": 3}
    assert S2D.supports(ConvProblem(**given_)) is None
    problem = ConvProblem(**given_ | change)
    assert reason in S2D.supports(problem)
    with pytest.raises(ConvError, match="winograd_s2d"):
        plan(problem, np.zeros(problem.w_shape, np.float32), algorithm="winograd_s2d", backend="numpy")


def test_the_docstring_counts():
    # 16 outputs of a 7x7 filter: so many multiplications for each channel, and folded.
    inner = folded(PHOTO)
    assert 16 * 49 == 784
    assert (inner.R, inner.C) == (4, 4 * PHOTO.C)
    assert 4 * (4 + inner.R - 1) ** 2 == 4 * 49 == 196
