"""Every algorithm's GPU form, lane by lane: the case table, with no race and no access out of bounds."""

from dataclasses import replace

import numpy as np
import pytest
from cases import CASES, arrays, assert_close
from device_tools import Counting
from effort import sampled

from convlab import ALGORITHMS, ConvProblem, UnsupportedError, WorkspaceError, plan
from convlab.algorithms.tensor_core import KINDS, tensor_core
from convlab.auto.select import fastest, rank
from convlab.benchmark import datasheets
from convlab.gpu.device import current, planned_for, using
from convlab.gpu.gemm import batched
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.launch_args import COUNTED, as_launched
from convlab.gradients.select import choose
from convlab.machine.memory import Memory
from convlab.plans.feasible import check_feasible

FEW_ROWS = Tile(4, 16, 4, 4, 4)
FORMS = [name for name, algorithm in ALGORITHMS.items() if "gpu" in algorithm.forms]


@sampled(20)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("algorithm", FORMS)
def test_case_table(monkeypatch, algorithm, case):
    problem = CASES[case]
    if ALGORITHMS[algorithm].supports(problem):
        pytest.skip("not served")
    if algorithm in ("fft", "fft_tiled", "winograd_6x6"):  # up to hundreds of products, of a few rows each
        monkeypatch.setattr(batched, "tile_for", lambda products: FEW_ROWS)
    x, w, bias = arrays(problem)
    with using(Counting()) as device:  # it finds mistakes all the same
        with device.counted() as before:
            made = plan(problem, w, bias, algorithm=algorithm, backend="gpu")
        with device.counted() as while_running:
            y = made(x)
    assert_close(y, x, w, problem, bias, f"{algorithm}, {case}", ALGORITHMS[algorithm].rounding)
    assert sum(array.nbytes for array in made.workspace.values()) == made.cost.workspace_bytes
    assert made.packed.nbytes == made.cost.packed_bytes
    # Nothing else was taken: for the plan, or for copies on the way.
    assert before["bytes"] == made.cost.workspace_bytes + made.cost.packed_bytes + bias.nbytes
    assert while_running["bytes"] == x.nbytes + y.nbytes


def test_arrays_that_32_bits_cannot_count_are_refused():
    enormous = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (1 << 16, 1 << 16), (0, 0))
    with pytest.raises(UnsupportedError, match="4,294,967,296 numbers; kernels count with 32 bits"):
        as_launched(enormous)
    assert as_launched(enormous[32:]) is not None


@pytest.mark.parametrize("algorithm", [*FORMS, *KINDS])
def test_the_largest_array_of_a_workspace_is_known(algorithm):
    one = tensor_core(algorithm) if algorithm in KINDS else ALGORITHMS[algorithm]
    for problem in CASES.values():
        if not one.supports(problem) and (largest := one.forms["gpu"].largest(problem)):
            with using(Counting()):
                workspace = one.forms["gpu"].allocate(problem, 1)
            sizes = [array.size for name, array in workspace.items() if name != "partials"]
            # A spectrum, which is no part of the workspace, has two columns more than its picture.
            assert max(sizes) <= largest
            assert one.family == "fourier" or max(sizes) == largest


LARGE = ConvProblem(256, 448, 448, 64, 64, 3, 3, padding=1)  # x has 3.3 thousand million numbers


@pytest.fixture
def roomy():
    """An H100's speeds, and more memory than any GPU has."""
    with planned_for(datasheets.gpu_speeds("nvidia_h100")):
        current().free = lambda: 1 << 42
        yield Memory(output=LARGE.y_bytes, device=current())


@pytest.mark.inside
def test_auto_takes_no_algorithm_whose_arrays_cannot_be_counted(roomy):
    """Winograd's would be the fastest, and its transformed windows are too many."""
    assert rank(LARGE, "gpu", 1)[0][0].startswith("winograd")
    best, why = fastest(LARGE, "gpu", 1, roomy)
    assert best.forms["gpu"].largest(LARGE) <= COUNTED
    assert "the best that fits" in why
    smaller = replace(LARGE, N=128)
    assert fastest(smaller, "gpu", 1, roomy)[0].family == "winograd"


def test_arrays_that_cannot_be_counted_are_refused_before_anything_is_taken(roomy):
    says = "'winograd_6x6' needs an array of 5,898,240,000 numbers; kernels count .*implicit_gemm"
    with pytest.raises(WorkspaceError, match=says):
        check_feasible(LARGE, ALGORITHMS["winograd_6x6"], "gpu", 1, roomy)
    with pytest.raises(WorkspaceError, match="no algorithm would fit: make the batch N smaller"):
        check_feasible(replace(LARGE, N=512), ALGORITHMS["direct"], "gpu", 1, roomy)
    with pytest.raises(WorkspaceError, match="'flipped' needs an array of 5,898,240,000 numbers"):
        choose(LARGE, "dgrad", "flipped", "gpu", 1, roomy)
    assert choose(LARGE, "dgrad", "auto", "gpu", 1, roomy).algorithm.name != "flipped"
