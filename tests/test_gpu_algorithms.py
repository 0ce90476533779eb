"""Every algorithm's GPU form, lane by lane: the case table, with no race and no access out of bounds."""

import numpy as np
import pytest
from cases import CASES, arrays, assert_close
from device_tools import Counting
from effort import sampled

from convlab import ALGORITHMS, UnsupportedError, plan
from convlab.gpu.device import using
from convlab.gpu.gemm import batched
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.launch_args import as_launched

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
    assert as_launched(enormous[1:]) is not None
