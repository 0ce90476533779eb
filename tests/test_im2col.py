"""im2row, im2col and col2im as matrices."""

import numpy as np
import pytest
from cases import CASES, arrays, problems
from effort import examples, sampled
from hypothesis import given, settings

from convlab import ConvProblem, col2im, im2col, im2row, plan

case = pytest.mark.parametrize("problem", CASES.values(), ids=CASES)


def test_a_matrix_small_enough_to_read():
    problem = ConvProblem(1, 3, 3, 1, 1, 2, 2)
    x = np.arange(1, 10, dtype=np.float32).reshape(problem.x_shape)  # 1 2 3 / 4 5 6 / 7 8 9
    windows = [[1, 2, 4, 5], [2, 3, 5, 6], [4, 5, 7, 8], [5, 6, 8, 9]]
    np.testing.assert_array_equal(im2row(x, problem), windows)
    np.testing.assert_array_equal(im2col(x, problem), np.transpose(windows))


@case
def test_every_cell_is_the_pixel_its_tap_reads(problem):
    x, _, _ = arrays(problem)
    rows, cols = im2row(x, problem), im2col(x, problem)
    per_group = problem.C // problem.groups
    index = np.ndindex(*problem.y_shape[:3], problem.R, problem.S, problem.C)
    for n, p, q, r, s, c in index:
        h = p * problem.stride[0] + r * problem.dilation[0] - problem.padding[0][0]
        w = q * problem.stride[1] + s * problem.dilation[1] - problem.padding[1][0]
        pixel = x[n, h, w, c] if 0 <= h < problem.H and 0 <= w < problem.W else 0
        m = (n * problem.P + p) * problem.Q + q
        group, channel = divmod(c, per_group)
        assert rows[m, ((group * problem.R + r) * problem.S + s) * per_group + channel] == pixel
        assert cols[(c * problem.R + r) * problem.S + s, m] == pixel


@sampled(10)
@case
@pytest.mark.parametrize(("name", "function"), [("im2row", im2row), ("im2col", im2col)])
def test_compiled_and_numpy_matrices_are_equal(problem, name, function):
    x, w, _ = arrays(problem)
    prepared = plan(problem, w, algorithm=name, backend="cpu")
    for array in prepared.workspace.values():
        array[...] = np.nan  # every cell must be written, padding too
    prepared(x)
    (matrix,) = prepared.workspace.values()
    np.testing.assert_array_equal(matrix, function(x, problem))


@settings(max_examples=examples(100), deadline=None)
@given(problem=problems())
def test_col2im_is_the_adjoint_of_im2col(problem):
    rng = np.random.default_rng(problem.macs)
    x = rng.integers(-9, 9, problem.x_shape).astype(problem.dtype)
    cols = rng.integers(-9, 9, im2col(x, problem).shape).astype(problem.dtype)
    assert (im2col(x, problem) * cols).sum() == (x * col2im(cols, problem)).sum()  # whole numbers: exact


def test_col2im_counts_copies():
    problem = ConvProblem(1, 5, 6, 1, 1, 3, 3)
    ones = np.ones(problem.x_shape, np.float32)
    copies = col2im(im2col(ones, problem), problem)[0, :, :, 0]
    across, down = [1, 2, 3, 3, 2, 1], [1, 2, 3, 2, 1]
    np.testing.assert_array_equal(copies, np.outer(down, across))
