"""Direct convolution on a GPU: the outer four of the seven loops become threads.

    y[n, p, q, k] = sum over r, s, c of  x[n, p*stride + r*dilation - top, q*stride + s*dilation - left, c]
                                       * w[k, r, s, c]

One thread computes one output. Three rungs, and all that changes is who stands next to whom, and where the
numbers are fetched from. They index arrays as Python does, by all four axes; each such access costs the
arithmetic of four axes, which later kernels will save. The third has a file of its own,
`convlab.algorithms.direct.gpu_staged`. A picture of one channel under a single filter has kernels of its own,
too: `convlab.algorithms.direct.gpu_filter`.

`@kernel` counts without a sign: a row above the picture is a very large number, so `row < H` also says
0 <= row.
"""

from __future__ import annotations

from functools import lru_cache

from convlab.algorithms.direct import gpu_filter, gpu_staged
from convlab.algorithms.direct.reference import filters_innermost
from convlab.algorithms.ladder import Rung
from convlab.gpu.device import current
from convlab.gpu.kernels import kernel
from convlab.gpu.model.work import LINE, Demand, Work
from convlab.gpu.numba_cuda import cuda, number_type
from convlab.gpu.occupancy import WARP
from convlab.problem import ConvProblem
from convlab.support.checked import Computed, kept
from convlab.support.integers import ceil_div

THREADS = 128
TAP = 27  # instructions for one tap: two loads, a multiply-add, the arithmetic of four axes for both
PLACE = 100  # and for a place in the window, whatever its channels: where it is, and whether it has a pixel


# -- one thread per output: neighbours are pixels ----------------------------------------------------------


@kept
def one_thread_per_output(dtype: Computed):
    """Return the kernel; x is (N, H, W, C), w (K, R, S, C/groups) and y (N, P, Q, K), of type `dtype`."""
    number = number_type(dtype)

    @kernel
    def direct(x, w, y, stride, corner, dilation, groups):
        N, H, W, _ = x.shape
        K, R, S, channels = w.shape  # channels of one group
        P, Q = y.shape[1], y.shape[2]
        i = cuda.grid(1)
        if i < N * K * P * Q:
            rest, q = divmod(i, Q)  # neighbouring threads: neighbouring pixels of a line
            rest, p = divmod(rest, P)
            n, k = divmod(rest, K)
            first = k // (K // groups) * channels  # where this filter's group of channels begins
            total = number(0)
            for r in range(R):
                for s in range(S):
                    row = p * stride[0] + r * dilation[0] - corner[0]
                    col = q * stride[1] + s * dilation[1] - corner[1]
                    if row < H and col < W:
                        for c in range(channels):
                            total += x[n, row, col, first + c] * w[k, r, s, c]
            y[n, p, q, k] = total

    return direct


def _run_naive(problem, x, w, workspace, y, threads):
    blocks = ceil_div(y.size, THREADS)
    kernel = one_thread_per_output(problem.dtype)
    current().launch(kernel, blocks, THREADS, x, w, y, *problem.geometry, problem.groups)


def _naive_works(problem: ConvProblem) -> tuple[Work, ...]:
    """Lanes are pixels, C numbers apart: a load of x is in as many lines; one weight serves all."""
    lines = min(WARP, WARP * problem.C * problem.itemsize / LINE)
    return _one_output_a_thread(problem, Demand(TAP, 1, 1 + lines, 1), (THREADS, 1))


def _one_output_a_thread(problem: ConvProblem, tap: Demand, wanted: tuple[int, int]) -> tuple[Work, ...]:
    """Return the work of kernels that do `tap` for each tap; `wanted`: a block's pixels, filters."""
    blocks, b = ceil_div(problem.y_bytes // problem.itemsize, THREADS), problem.itemsize
    taps, cold = problem.gemm[2], problem.x_bytes + problem.w_bytes + problem.y_bytes
    tap += Demand(PLACE * problem.R * problem.S / taps)
    l2 = blocks * taps * sum(wanted) * b
    return (Work("seven loops", blocks, THREADS, 40, taps, THREADS // WARP * tap, l2_bytes=l2, cold=cold),)


# -- coalesced: neighbours are filters ---------------------------------------------------------------------


@lru_cache
def coalesced(dtype: str):
    """Return the kernel for numbers of type `dtype`; w is packed, (groups, R, S, C/groups, K/groups)."""
    number = number_type(dtype)

    @kernel
    def direct(x, w, y, stride, corner, dilation):
        N, H, W, _ = x.shape
        groups, R, S, channels, filters = w.shape
        P, Q = y.shape[1], y.shape[2]
        K = groups * filters
        i = cuda.grid(1)
        if i < N * P * Q * K:
            rest, k = divmod(i, K)  # neighbouring threads: neighbouring filters of a pixel
            rest, q = divmod(rest, Q)
            n, p = divmod(rest, P)
            g, f = divmod(k, filters)
            total = number(0)
            for r in range(R):
                for s in range(S):
                    row = p * stride[0] + r * dilation[0] - corner[0]
                    col = q * stride[1] + s * dilation[1] - corner[1]
                    if row < H and col < W:
                        for c in range(channels):
                            total += x[n, row, col, g * channels + c] * w[g, r, s, c, f]
            y[n, p, q, k] = total

    return direct


def _pack(problem: ConvProblem, w):
    return current().put(filters_innermost(problem, w))


def _run_coalesced(problem, x, w, workspace, y, threads):
    blocks = ceil_div(y.size, THREADS)
    current().launch(coalesced(problem.dtype), blocks, THREADS, x, w, y, *problem.geometry)


def _coalesced_works(problem: ConvProblem) -> tuple[Work, ...]:
    """Lanes are filters, side by side; one number of x serves all."""
    filters = min(THREADS, problem.K // problem.groups)
    return _one_output_a_thread(problem, Demand(TAP, 1, 2, 2), (ceil_div(THREADS, filters), filters))


# -- the table, and the algorithm --------------------------------------------------------------------------

RUNGS = (
    Rung(
        "one thread per output",
        "The outer four loops are threads; neighbouring threads take neighbouring pixels.",
        "Neighbours read x and write y C and K numbers apart: every one of them in a sector of its own.",
        _run_naive,
        one_thread_per_output,
        others={"works": _naive_works},
    ),
    Rung(
        "coalesced",
        "Neighbouring threads take neighbouring filters, and the weights lie with the filters innermost.",
        "A warp's weights and outputs lie side by side, and it reads one pixel of x: few sectors a request.",
        _run_coalesced,
        coalesced,
        _pack,
        others={"works": _coalesced_works},
    ),
    Rung(
        "staged in shared memory",
        "A block fetches its patch of x, with the halo, and its weights into shared memory, then computes.",
        "Each number is fetched once a block, not once for each thread that wants it.",
        gpu_staged.run_staged,
        gpu_staged.staged,
        _pack,
        gpu_staged.refuses,
        {"works": gpu_staged.works},
    ),
)


def pack(problem: ConvProblem, w):
    """Return the weights as the rung for this problem reads them."""
    return _form(problem).pack(problem, w)


def run(problem, x, packed, workspace, y, threads):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    _form(problem).run(problem, x, packed, workspace, y, threads)


def works(problem: ConvProblem) -> tuple[Work, ...]:
    """Return what the launch of `run` asks of a GPU."""
    return _form(problem).others["works"](problem)


def _form(problem: ConvProblem) -> Rung:
    single = gpu_filter.refuses(problem) is None
    return gpu_filter.rung_for(problem) if single else RUNGS[1]
