"""What the compiler makes of every shipped kernel, run with no GPU: right, and what the simulator computes.

The PTX for sm_80 and for sm_90 is the same but for a line that says which, so one run is both; where it is
not the same, both are run.
"""

import numpy as np
import pytest
from cases import CASES, arrays, assert_close, in_parts
from effort import in_turns
from ptx_tools import LAYERS, needs_compiler, on_every_gpu, small

from convlab import ALGORITHMS, ConvProblem, plan
from convlab.algorithms.tensor_core import KINDS, TILES, rounded, tensor_core
from convlab.algorithms.tensor_core import gpu as on_gpu
from convlab.algorithms.tensor_core.gpu import Plan
from convlab.gpu.device import simulated, using
from convlab.oracle import reference
from tools.ptx.coverage import coverage
from tools.ptx.device import Executor, programs

pytestmark = pytest.mark.workshop

FORMS = [name for name, algorithm in ALGORITHMS.items() if "gpu" in algorithm.forms]


def cases_of(names, algorithm):
    return [(name, case) for name in names for case in small(algorithm(name))]


@in_turns
@needs_compiler
@pytest.mark.parametrize("case", [*CASES, *LAYERS])
@pytest.mark.parametrize("algorithm", FORMS)
def test_case_table(algorithm, case):
    problem = (CASES | LAYERS)[case]
    if ALGORITHMS[algorithm].supports(problem):
        pytest.skip("not served")
    x, w, bias = arrays(problem)
    for y in on_every_gpu(lambda: plan(problem, w, bias, algorithm=algorithm, backend="gpu")(x)):
        assert_close(y, x, w, problem, bias, f"{algorithm}, {case}", ALGORITHMS[algorithm].rounding)


@in_turns
@needs_compiler
@pytest.mark.parametrize("case", [*CASES, *LAYERS])
@pytest.mark.parametrize("inputs", KINDS)
def test_case_table_on_tensor_cores(inputs, case):
    problem, algorithm = (CASES | LAYERS)[case], tensor_core(inputs)
    if algorithm.supports(problem):
        pytest.skip("not served")
    x, w, bias = arrays(problem)
    for y in on_every_gpu(lambda: plan(problem, w, bias, algorithm=algorithm, backend="gpu")(x)):
        assert_close(y, rounded(x, inputs), rounded(w, inputs), problem, bias, f"{inputs}, {case}")


@in_turns
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


@in_turns
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


@in_turns
@needs_compiler
@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.parametrize("inputs", KINDS)
def test_sums_on_tensor_cores_in_parts(monkeypatch, inputs, parts):
    """Whole numbers: what the parts come to is exact, and so is their sum."""
    monkeypatch.setattr(on_gpu, "plan_for", lambda *given: Plan(TILES[-1], parts))
    problem, algorithm = in_parts(parts, KINDS[inputs]), tensor_core(inputs)
    x, w, bias = (np.rint(4 * values).astype(values.dtype) for values in arrays(problem))
    with using(Executor()):
        y = plan(problem, w, bias, algorithm=algorithm, backend="gpu")(x)
    np.testing.assert_array_equal(y, reference(x, w, problem, bias))


@in_turns
@needs_compiler
@pytest.mark.parametrize("tile", TILES, ids=str)
@pytest.mark.parametrize("inputs", KINDS)
def test_every_tile_on_tensor_cores(inputs, tile):
    """Pixels of a whole line, or of less: they are copied past the first cache, or by way of it."""
    for channels in (32 * KINDS[inputs], 8):
        problem = ConvProblem(2, 9, 8, channels, 70, 2, 2, padding=1)
        x, w, bias = arrays(problem)
        with using(Executor()):
            y = plan(problem, w, bias, algorithm=tensor_core(inputs, tile), backend="gpu")(x)
        assert_close(y, rounded(x, inputs), rounded(w, inputs), problem, bias, f"{inputs}, {tile}")


@needs_compiler
@pytest.mark.parametrize("inputs", KINDS)
def test_of_a_strided_1x1_the_pixels_that_are_read_are_rounded(inputs):
    problem = ConvProblem(2, 7, 8, 12, 6, 1, 1, stride=(2, 3), groups=2)
    x, w, bias = arrays(problem)
    with using(Executor()):
        y = plan(problem, w, bias, algorithm=tensor_core(inputs), backend="gpu")(x)
    assert_close(y, rounded(x, inputs), rounded(w, inputs), problem, bias, inputs)


@needs_compiler
def test_most_of_what_was_compiled_has_been_run():
    """Of the tests above; by itself this one would have nothing to look at."""
    found = coverage(programs())
    if found.kernels < 60:
        pytest.skip("the tests before this one have not been run")
    print(*found.lines(), sep="\n")
    assert found.reached.total() > 0.85 * found.written.total()
    assert {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "bar.sync", "ld.shared.v4.f32"} <= set(
        found.run
    )
