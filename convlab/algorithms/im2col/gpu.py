"""im2col on a GPU: the matrix of windows lying the other way, one column for each output pixel.

    cols[(c, r, s), m] = the pixel of channel c that tap (r, s) of output pixel m reads, or 0 on padding

Neighbouring threads write neighbouring pixels of a row: the writes are coalesced. In NCHW the reads would be
too; in NHWC they lie C apart, and each number that is read brings a sector along. A thread has one pixel and
one channel, takes its number apart once, and walks through the R*S taps.
"""

from __future__ import annotations

from functools import lru_cache

from convlab.algorithms.im2col.reference import channels_first
from convlab.gpu.device import current
from convlab.gpu.gemm import matrix
from convlab.gpu.kernels import kernel
from convlab.gpu.model.work import LINE, SECTOR, Work, one_pass
from convlab.gpu.numba_cuda import cuda, number_type
from convlab.gpu.occupancy import WARP
from convlab.support.integers import ceil_div, round_up

THREADS = 128
packed_bytes = matrix.packed_bytes


@lru_cache
def unfold(dtype: str):
    """Return the kernel for numbers of type `dtype`; x and cols are flat."""
    number = number_type(dtype)

    @kernel
    def unfold(x, cols, H, W, C, R, S, P, Q, M, step_p, step_q, top, left, step_r, step_s, across):
        c, run = divmod(cuda.blockIdx.x, across)
        m = run * THREADS + cuda.threadIdx.x
        if m < M:
            line, q = divmod(m, Q)
            n, p = divmod(line, P)
            for r in range(R):
                row = p * step_p + r * step_r - top
                for s in range(S):
                    col = q * step_q + s * step_s - left
                    at = ((n * H + row) * W + col) * C + c
                    to = ((c * R + r) * S + s) * M + m
                    cols[to] = x[at] if row < H and col < W else number(0)

    return unfold


def pack(problem, w):
    """Return w as `matrix.pack` does, but with each filter's numbers in the order (c, r, s)."""
    return matrix.pack(problem, channels_first(problem, w))


def allocate(problem, threads):
    """Return the workspace on the device: the matrix (C*R*S, N*P*Q)."""
    M, _, taps = problem.gemm
    return {"cols": current().empty((problem.groups * taps, M), problem.dtype)}


def works(problem) -> tuple[Work, ...]:
    """Return what the launches of `run` ask of a GPU; its reads lie C numbers apart."""
    M, _, taps = problem.gemm
    each = problem.R * problem.S
    numbers = M * taps * problem.groups
    fill = one_pass(
        "fill the matrix",
        problem.C * round_up(M, THREADS),
        THREADS,
        registers=32,
        instructions=30 * each + 60,
        loads=each,
        stores=each,
        lanes_apart=(min(WARP, WARP * problem.C * problem.itemsize // LINE or 1) + 1) / 2,
        moved=numbers * (SECTOR + problem.itemsize),
        cold=problem.x_bytes,
        passed_on=numbers * problem.itemsize,
    )
    return (fill, *matrix.works(problem, "m", passed_on=numbers * problem.itemsize))


def fill(problem, x, cols) -> None:
    """Write im2col's matrix of x to `cols`, both on the device."""
    M = problem.gemm[0]
    sizes = problem.H, problem.W, problem.C, problem.R, problem.S, problem.P, problem.Q, M
    (step_p, step_q), (top, left), (step_r, step_s) = problem.geometry
    across = ceil_div(M, THREADS)
    steps = step_p, step_q, top, left, step_r, step_s
    kernel = unfold(problem.dtype)
    current().launch(
        kernel, problem.C * across, THREADS, x.reshape(-1), cols.reshape(-1), *sizes, *steps, across
    )


def run(problem, x, packed, workspace, y, threads):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and the packed weights."""
    fill(problem, x, workspace["cols"])
    matrix.multiply(problem, workspace["cols"], "m", packed, y)
