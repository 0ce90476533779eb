"""What the compiler makes of every shipped kernel, run with no GPU: right, and what the simulator computes.

The PTX for sm_80 and for sm_90 is the same but for a line that says which, so one run is both; where it is
not the same, both are run.
"""

import numpy as np
import pytest
from cases import CASES, arrays, assert_close
from ptx_tools import needs_compiler, on_every_gpu

from convlab import ALGORITHMS, plan
from convlab.algorithms.tensor_core import KINDS, rounded, tensor_core
from convlab.gpu.device import simulated, using
from tools.ptx.device import Executor

pytestmark = pytest.mark.workshop

FORMS = [name for name, algorithm in ALGORITHMS.items() if "gpu" in algorithm.forms]
BOTH_WAYS = 6  # cases of each that the lane simulator runs, too: it takes longer


def some(algorithm):
    """Return a few of the cases that an algorithm serves, evenly spread."""
    served = [case for case, problem in CASES.items() if not algorithm.supports(problem)]
    return [served[i] for i in np.linspace(0, len(served) - 1, min(BOTH_WAYS, len(served)), dtype=int)]


def cases_of(names, algorithm):
    return [(name, case) for name in names for case in some(algorithm(name))]


@needs_compiler
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("algorithm", FORMS)
def test_case_table(algorithm, case):
    problem = CASES[case]
    if ALGORITHMS[algorithm].supports(problem):
        pytest.skip("not served")
    x, w, bias = arrays(problem)
    for y in on_every_gpu(lambda: plan(problem, w, bias, algorithm=algorithm, backend="gpu")(x)):
        assert_close(y, x, w, problem, bias, f"{algorithm}, {case}", ALGORITHMS[algorithm].rounding)


@needs_compiler
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("inputs", KINDS)
def test_case_table_on_tensor_cores(inputs, case):
    problem, algorithm = CASES[case], tensor_core(inputs)
    if algorithm.supports(problem):
        pytest.skip("not served")
    x, w, bias = arrays(problem)
    for y in on_every_gpu(lambda: plan(problem, w, bias, algorithm=algorithm, backend="gpu")(x)):
        assert_close(y, rounded(x, inputs), rounded(w, inputs), problem, bias, f"{inputs}, {case}")


@needs_compiler
@pytest.mark.parametrize(("algorithm", "case"), cases_of(FORMS, ALGORITHMS.get))
def test_the_same_bits_as_in_the_lane_simulator(algorithm, case):
    """The compiler keeps the order of all sums; it rounds a multiply-add once, but not here."""
    problem = CASES[case]
    x, w, bias = arrays(problem)
    with using(Executor(fused=False)):
        y = plan(problem, w, bias, algorithm=algorithm, backend="gpu")(x)
    with simulated(traced=False):
        np.testing.assert_array_equal(y, plan(problem, w, bias, algorithm=algorithm, backend="gpu")(x))


@needs_compiler
@pytest.mark.parametrize(("inputs", "case"), cases_of(KINDS, tensor_core))
def test_the_same_bits_on_tensor_cores(inputs, case):
    """Whole numbers: their sums are exact, in whatever order tensor cores add them."""
    problem, algorithm = CASES[case], tensor_core(inputs)
    x, w, bias = (np.rint(4 * values).astype(values.dtype) for values in arrays(problem))
    with using(Executor()):
        y = plan(problem, w, bias, algorithm=algorithm, backend="gpu")(x)
    with simulated(traced=False):
        np.testing.assert_array_equal(y, plan(problem, w, bias, algorithm=algorithm, backend="gpu")(x))
