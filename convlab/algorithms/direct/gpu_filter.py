"""A picture of one channel under one filter: a blur, an edge, a 4000 x 4000 photograph.

    y[p, q] = sum over r, s of  x[p + r - top, q + s - left] * w[r, s]          stride 1, no dilation

There is no sum over channels and no second filter, so nothing of the matrix product is left. What is left is
overlap: neighbouring outputs look at nearly the same pixels. Each rung makes more of it (`RUNGS`). Their
kernels are beside this file: `gpu_filter_threads` has the first three, `gpu_filter_patch` and
`gpu_filter_lines` one each.
"""

from __future__ import annotations

from functools import partial

from convlab.algorithms.direct import gpu_filter_lines, gpu_filter_patch, gpu_filter_work
from convlab.algorithms.direct.gpu_filter_patch import BLOCK
from convlab.algorithms.direct.gpu_filter_threads import constant, naive, shared
from convlab.algorithms.ladder import Rung
from convlab.gpu.device import current
from convlab.gpu.occupancy import MOST_SHARED
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div


def refuses(problem: ConvProblem) -> str | None:
    """Say why this is no single filter that moves over a picture of one channel."""
    if (problem.C, problem.K) != (1, 1):
        return f"C={problem.C} and K={problem.K}; this kernel is for one channel and one filter"
    if problem.stride != (1, 1) or problem.dilation != (1, 1):
        return f"stride={problem.stride}, dilation={problem.dilation}; this kernel is for steps of 1"
    return None


def _launch(kernel, problem, x, w, y):
    (top, _), (left, _) = problem.padding
    across = ceil_div(problem.Q, BLOCK[0])
    grid = problem.N * ceil_div(problem.P, BLOCK[1]) * across
    sizes = problem.H, problem.W, problem.P, problem.Q, problem.R, problem.S
    x, w, y = (array.reshape(-1) for array in (x, w, y))
    current().launch(kernel, grid, BLOCK, x, w, y, *sizes, top, left, across)


def _run_naive(problem, x, w, workspace, y, threads):
    _launch(naive(problem.dtype), problem, x, w, y)


def _pack_constant(problem, w):
    # The kernel needs the numbers themselves: it is made for them.
    kernel = constant(problem.dtype, problem.R, problem.S, w.tobytes())
    return current().put(w), kernel


def _run_constant(problem, x, packed, workspace, y, threads):
    w, kernel = packed
    _launch(kernel, problem, x, w, y)


def _run_shared(problem, x, w, workspace, y, threads):
    _launch(shared(problem.dtype, problem.R, problem.S), problem, x, w, y)


def _refuses_above(limit: int, memory: str, halo: bool, problem: ConvProblem) -> str | None:
    numbers = gpu_filter_work.numbers_in_shared(problem) if halo else problem.R * problem.S
    if numbers * problem.itemsize > limit:
        return f"{numbers} numbers do not fit in the {limit} bytes of {memory} memory"
    return refuses(problem)


RUNGS = (
    Rung(
        "one thread per output",
        "Every thread reads the window of its output, and the weights, from global memory.",
        "Each pixel is asked for R*S times; neighbouring threads share sectors, and the caches do the rest.",
        _run_naive,
        naive,
        refuses=refuses,
        others={"works": gpu_filter_work.naive},
    ),
    Rung(
        "weights in constant memory",
        "The weights are part of the program, so there is a kernel for each filter.",
        "No global request for a weight is left; the requests for pixels stay as they are.",
        _run_constant,
        constant,
        _pack_constant,
        partial(_refuses_above, 64 * 1024, "constant", False),
        {"works": gpu_filter_work.constant},
    ),
    Rung(
        "tile in shared memory",
        "A block reads the pixels under its 8 x 32 outputs once, with the halo around them.",
        "Each pixel is fetched about (1 + (R-1)/8) * (1 + (S-1)/32) times instead of R*S times.",
        _run_shared,
        shared,
        refuses=partial(_refuses_above, MOST_SHARED, "shared", True),
        others={"works": gpu_filter_work.shared},
    ),
    Rung(
        "patch in registers",
        "A thread computes 8 x 4 outputs and loads each pixel under them once, four by four.",
        "Four pixels to a request, four outputs to a store, and no barrier.",
        gpu_filter_patch.run,
        gpu_filter_patch.patch,
        refuses=lambda problem: refuses(problem) or gpu_filter_patch.refuses(problem),
        others={"works": gpu_filter_work.patch},
    ),
    Rung(
        "lines on their way",
        "A warp goes down 16 to 128 lines; pixels are copied to shared memory before they are wanted.",
        "Nobody waits for pixels, and the loop of two lines is short: with 7 columns of taps each is fetched "
        "(1 + (R-1)/lines) * (1 + 8/128) times.",
        gpu_filter_lines.run,
        gpu_filter_lines.lines,
        refuses=lambda problem: refuses(problem) or gpu_filter_lines.refuses(problem),
        others={"works": gpu_filter_work.lines},
    ),
)


def rung_for(problem: ConvProblem) -> Rung:
    """Return the highest rung that serves this problem, but not one whose kernel is made for one filter."""
    return next(rung for rung in RUNGS[::-1] if rung.kernel is not constant and not rung.refuses(problem))
