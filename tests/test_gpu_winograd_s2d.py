"""Folding on the GPU: every request, counted from addresses alone, and what the compiler makes of it."""

import numpy as np
import pytest
from cases import arrays, assert_close
from effort import in_turns
from lane_counts import count, traced

from convlab import ALGORITHMS, ConvProblem, plan
from convlab.algorithms.winograd_s2d import gpu
from convlab.algorithms.winograd_s2d.space_to_depth import fold_numpy, folded
from convlab.gpu.assembly import assemble
from convlab.gpu.availability import assembly_fault
from convlab.gpu.device import simulated

TROUBLE = assembly_fault()
PHOTO = ConvProblem(2, 9, 11, 3, 4, 7, 6, stride=2, padding=((3, 2), (2, 4)))
WIDE = ConvProblem(1, 8, 12, 16, 4, 5, 5, stride=2, padding=2)


@in_turns
@pytest.mark.inside
@pytest.mark.parametrize("problem", [PHOTO, WIDE], ids=["photo", "sixteen channels"])
def test_every_number_is_read_once_and_written_once(problem):
    x, w, bias = arrays(problem)
    with simulated() as device:
        ready = plan(problem, w, bias, algorithm="winograd_s2d", backend="gpu")
        y, z = ready(x), np.asarray(ready.workspace["z"])
        trace = next(one for one in device.traces if traced(one, "st", "z")[0])
    assert_close(y, x, w, problem, bias, rounding=ALGORITHMS["winograd_s2d"].rounding)
    expected = np.zeros(folded(problem).x_shape, np.float32)
    fold_numpy(problem, x, expected)
    np.testing.assert_array_equal(z.reshape(expected.shape), expected)

    n, i, j, a, b, c = np.indices((*expected.shape[:3], 2, 2, problem.C)).reshape(6, -1)
    thread, ((top, _), (left, _)) = np.arange(n.size), problem.padding
    h, column = 2 * i + a - top, 2 * j + b - left
    inside = (h >= 0) & (h < problem.H) & (column >= 0) & (column < problem.W)
    read = count(thread // 32, (((n * problem.H + h) * problem.W + column) * problem.C + c) * 4, inside)
    np.testing.assert_array_equal(traced(trace, "ld", "x"), read)
    np.testing.assert_array_equal(traced(trace, "st", "z"), count(thread // 32, thread * 4, thread >= 0))
    used = expected[expected != 0].size
    assert read[1] == used  # lanes
    if problem is WIDE:  # 32 lanes read two pixels side by side: every sector is used whole
        assert read[2] * 8 == used


@pytest.mark.skipif(TROUBLE is not None, reason=f"no assembly: {TROUBLE}")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_a_thread_holds_one_number(arch):
    numbers = np.zeros(1, np.float32)
    built = assemble(gpu.fold("float32"), numbers, numbers, *[1] * 8, arch=arch)
    assert (built.stack_bytes, built.spill_bytes, built.float64) == (0, 0, {})
    assert built.memory == {"LDG.E": 1, "STG.E": 1}
