"""The gradients, as the compiler made their kernels: right, and what the simulator computes."""

import numpy as np
import pytest
from cases import CASES
from effort import in_turns, share
from ptx_tools import needs_compiler, on_every_gpu
from test_gpu_gradients import TURNED
from test_gradients import DOORS, TABLES, check, operands

from convlab.gpu.device import simulated, using
from convlab.gradients import dgrad_flipped_gpu as flipped
from tools.ptx.device import Executor

pytestmark = pytest.mark.workshop

FORMS = [(which, name) for which, table in TABLES.items() for name in table if "gpu" in table[name].forms]
form = pytest.mark.parametrize(("which", "algorithm"), FORMS, ids=["-".join(one) for one in FORMS])


def served(which, algorithm):
    """Return the cases that an algorithm serves; there is one."""
    found = {case: one for case, one in CASES.items() if not TABLES[which][algorithm].supports(one)}
    assert found
    return found


@in_turns
@needs_compiler
@form
def test_case_table(which, algorithm):
    for problem in share(served(which, algorithm).values(), FORMS.index((which, algorithm))):
        on_every_gpu(lambda problem=problem: check(which, problem, algorithm=algorithm, backend="gpu"))


@in_turns
@needs_compiler
@form
def test_the_same_bits_as_in_the_lane_simulator(which, algorithm):
    problems = [one for one in served(which, algorithm).values() if one.dtype == "float32"]
    for problem in problems[:: max(1, len(problems) // 2)]:
        given = operands(which, problem)[0]
        with using(Executor(fused=False)):
            found = DOORS[which](problem, *given, algorithm=algorithm, backend="gpu")
        with simulated(traced=False):
            expected = DOORS[which](problem, *given, algorithm=algorithm, backend="gpu")
        np.testing.assert_array_equal(found, expected)


@in_turns
@needs_compiler
@pytest.mark.parametrize("m", [2, 4, 6])
def test_tiles_of_every_size(monkeypatch, m):
    """Filters are transformed, too, as the compiler made that."""
    monkeypatch.setattr(flipped, "tiles_for", lambda problem: m)
    for problem in share(TURNED.values(), m // 2):
        on_every_gpu(lambda problem=problem: check("dgrad", problem, algorithm="flipped", backend="gpu"))
