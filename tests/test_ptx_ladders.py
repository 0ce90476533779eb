"""Every rung of every ladder of kernels, as the compiler made it: right, and what the simulator computes."""

import numpy as np
import pytest
from cases import CASES, arrays, assert_close
from effort import in_turns, share
from ptx_tools import LAYERS, needs_compiler, on_every_gpu, small

from convlab import plan
from convlab.benchmark.gpu.ladders import ladders
from convlab.errors import ParameterError
from convlab.gpu.device import simulated, using
from tools.ptx.device import Executor

pytestmark = pytest.mark.workshop

RUNGS = {name: one for ladder in ladders() for name, one in ladder.rungs().items()}
TOO_LARGE = "implicit GEMM 8: deeper pieces"  # for float64: its tiles do not fit into shared memory


def taken(cases, number):
    """Return which cases a rung takes: half, and the other half on the next. What ships meets all elsewhere.

    In double precision, and for groups, most kernels are compiled anew, which takes longer than all else: so
    each is for one rung of three. A rung that serves few cases takes all of its half.
    """
    some = dict(list(cases.items())[number % 2 :: 2])
    if len(some) < 9:
        return some
    wide, grouped = number % 3 == 1, number % 3 == 2
    return {
        case: one
        for case, one in some.items()
        if (wide or one.dtype == "float32") and (grouped or one.groups == 1)
    }


@in_turns
@needs_compiler
@pytest.mark.parametrize("rung", RUNGS)
def test_case_table(rung):
    algorithm, cases = RUNGS[rung], CASES | (LAYERS if rung.startswith("filter") else {})
    served = {case: problem for case, problem in cases.items() if not algorithm.supports(problem)}
    number = list(RUNGS).index(rung)
    served = taken(served, number)
    assert served
    for case, problem in share(served.items(), number):
        x, w, bias = arrays(problem)

        def compute(problem=problem, x=x, w=w, bias=bias):
            return plan(problem, w, bias, algorithm=algorithm, backend="gpu")(x)

        if rung == TOO_LARGE and problem.dtype == "float64":
            with using(Executor()), pytest.raises(ParameterError, match="bytes of shared memory"):
                compute()
            continue
        for y in on_every_gpu(compute):
            assert_close(y, x, w, problem, bias, f"{rung}, {case}", algorithm.rounding)


@in_turns
@needs_compiler
@pytest.mark.parametrize("rung", RUNGS)
def test_the_same_bits_as_in_the_lane_simulator(rung):
    algorithm = RUNGS[rung]
    for problem in share(map(CASES.get, small(algorithm)), list(RUNGS).index(rung)):
        x, w, bias = arrays(problem)
        with using(Executor(fused=False)):
            y = plan(problem, w, bias, algorithm=algorithm, backend="gpu")(x)
        with simulated(traced=False):
            np.testing.assert_array_equal(y, plan(problem, w, bias, algorithm=algorithm, backend="gpu")(x))
