"""What `plan` takes on the way to its tables and panels: little, or the guard of memory is none."""

import tracemalloc

import pytest
from cases import arrays

from convlab import ALGORITHMS, ConvProblem, plan

TABLES = ("indirect", "precomputed_gemm")
SPECTRA = ("winograd_2x2", "winograd_4x4", "winograd_6x6", "fft", "fft_tiled")
PROBLEMS = {
    "large picture": ConvProblem(1, 300, 300, 4, 4, 3, 3, padding=1),
    "large filter": ConvProblem(1, 64, 64, 1, 1, 31, 31, padding=15),
    "tall filter": ConvProblem(2, 200, 120, 1, 1, 31, 1, padding=(15, 0)),
    "pointwise": ConvProblem(4, 200, 200, 1, 1, 1, 1),
    "many filters": ConvProblem(1, 14, 14, 256, 384, 3, 3, padding=1),
    "few filters": ConvProblem(1, 28, 28, 384, 16, 3, 3, padding=1),
    "groups": ConvProblem(1, 14, 14, 512, 256, 3, 3, groups=4, padding=1),
    "double precision": ConvProblem(1, 28, 28, 128, 96, 3, 3, padding=1, dtype="float64"),
}
CASES = [
    (algorithm, name)
    for algorithm in (*TABLES, *SPECTRA)
    for name, problem in PROBLEMS.items()
    if not ALGORITHMS[algorithm].supports(problem)
]


@pytest.mark.parametrize("backend", ["numpy", "cpu"])
@pytest.mark.parametrize(("algorithm", "name"), CASES)
def test_plan_takes_little_more_than_it_keeps(algorithm, name, backend):
    problem = PROBLEMS[name]
    w = arrays(problem)[1]
    small = ConvProblem(1, 5, 5, 2, 2, 3, 3, dtype=problem.dtype)
    plan(small, arrays(small)[1], algorithm=algorithm, backend=backend)  # imports what there is to import
    tracemalloc.start()
    try:
        cost = plan(problem, w, algorithm=algorithm, backend=backend).cost
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 1.5 * (cost.workspace_bytes + cost.packed_bytes) + (1 << 20)
