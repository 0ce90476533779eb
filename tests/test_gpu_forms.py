"""Every algorithm's GPU form, lane by lane: the case table, with no race and no access out of bounds."""

import pytest
from cases import CASES, arrays, assert_close

from convlab import ALGORITHMS, plan
from convlab.gpu.device import simulated

FORMS = [name for name, algorithm in ALGORITHMS.items() if "gpu" in algorithm.forms]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("algorithm", FORMS)
def test_case_table(algorithm, case):
    problem = CASES[case]
    if ALGORITHMS[algorithm].supports(problem):
        pytest.skip("not served")
    x, w, bias = arrays(problem)
    with simulated(traced=False):  # mistakes are found all the same
        y = plan(problem, w, bias, algorithm=algorithm, backend="gpu")(x)
    assert_close(y, x, w, problem, bias, f"{algorithm}, {case}", ALGORITHMS[algorithm].rounding)
