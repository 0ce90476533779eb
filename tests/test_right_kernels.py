"""What is right is believed: the simulator runs the kernels of `right_kernels` without an alarm."""

import numpy as np
import pytest
from right_kernels import RIGHT

from convlab.gpu import simulator


def made(argument):
    """Return an argument of a launch: arrays are copied, outputs hold nothing yet."""
    if isinstance(argument, tuple):
        return simulator.poisoned(*argument[1:])
    return np.array(argument) if isinstance(argument, np.ndarray) else argument


@pytest.mark.parametrize("name", RIGHT)
def test_right_kernel_passes_and_is_right(name):
    kernel, grid, block, arguments, expected = RIGHT[name]
    arguments = [made(argument) for argument in arguments]
    simulator.run(kernel, grid, block, *arguments).check()
    if expected is not None:
        np.testing.assert_array_equal(arguments[-1], expected)
