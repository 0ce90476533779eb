"""im2row on a GPU: one kernel writes the matrix of windows, another multiplies.

    rows[m, (g, r, s, c)] = the pixel that tap (r, s) of output pixel m reads, or 0 on padding

Neighbouring threads write neighbouring numbers of a row, four each where the channels allow it. What they
read are neighbouring channels of a pixel: both ends of the copy are coalesced. A thread takes its column of
the matrix apart once, and then walks down `RUN` rows of it, a pixel to the right each.
"""

from __future__ import annotations

from functools import lru_cache, partial

from convlab.algorithms.ladder import Rung
from convlab.gpu.device import current
from convlab.gpu.gemm import matrix, simple
from convlab.gpu.gemm.kernel import tiled_product
from convlab.gpu.gemm.launch import wide
from convlab.gpu.kernels import kernel
from convlab.gpu.model.work import Work, one_pass
from convlab.gpu.numba_cuda import cuda, number_type
from convlab.gpu.ptx import load4, store4
from convlab.support.integers import ceil_div

THREADS, RUN = 256, 8
pack, packed_bytes = matrix.pack, matrix.packed_bytes


@lru_cache
def unfold(dtype: str, vector: int):
    """Return the kernel that copies `vector` numbers a thread and row, 4 or 1; x and rows are flat."""
    number = number_type(dtype)

    @kernel
    def unfold(x, rows, H, W, C, channels, R, S, P, Q, M, width, step_p, step_q, top, left, step_r, step_s):
        i = cuda.blockIdx.x * THREADS + cuda.threadIdx.x
        run, v = divmod(i, width // vector)
        column, m = v * vector, run * RUN
        if m < M:
            rest, c = divmod(column, channels)
            rest, s = divmod(rest, S)
            g, r = divmod(rest, R)
            line, q = divmod(m, Q)
            n, p = divmod(line, P)
            for _ in range(RUN):
                if m < M:
                    row = p * step_p + r * step_r - top
                    col = q * step_q + s * step_s - left
                    at = ((n * H + row) * W + col) * C + g * channels + c
                    inside, to = row < H and col < W, m * width + column
                    zero = number(0)
                    if vector == 4:
                        a, b, c_, d = load4(x, at) if inside else (zero, zero, zero, zero)
                        store4(rows, to, a, b, c_, d)
                    else:
                        rows[to] = x[at] if inside else zero
                m, q = m + 1, q + 1
                if q == Q:  # the next line of outputs
                    q, p = 0, p + 1
                    if p == P:
                        p, n = 0, n + 1

    return unfold


def allocate(problem, threads):
    """Return the workspace on the device: the matrix (N*P*Q, R*S*C)."""
    M, _, taps = problem.gemm
    return {"rows": current().empty((M, problem.groups * taps), problem.dtype)}


def works(problem) -> tuple[Work, ...]:
    """Return what the launches of `run` ask of a GPU."""
    M, _, taps = problem.gemm
    numbers, channels = M * taps * problem.groups, problem.C // problem.groups
    vector = 1 if channels % 4 else 4
    size = numbers * problem.itemsize
    fill = one_pass(
        "fill the matrix",
        numbers // vector // RUN,
        THREADS,
        registers=40,
        instructions=25 * RUN + 175,
        loads=RUN,
        stores=RUN,
        lanes_apart=vector,
        moved=2 * size,
        cold=problem.x_bytes,
        passed_on=size,
    )
    return (fill, *matrix.works(problem, "k", passed_on=size))


def fill(problem, x, rows) -> None:
    """Write im2row's matrix of x to `rows`, both on the device."""
    M, _, taps = problem.gemm
    channels, width = problem.C // problem.groups, problem.groups * taps
    vector = wide(4, channels, x)
    sizes = problem.H, problem.W, problem.C, channels, problem.R, problem.S, problem.P, problem.Q, M, width
    (step_p, step_q), (top, left), (step_r, step_s) = problem.geometry
    blocks = ceil_div(width // vector * ceil_div(M, RUN), THREADS)
    steps = step_p, step_q, top, left, step_r, step_s
    kernel = unfold(problem.dtype, vector)
    current().launch(kernel, blocks, THREADS, x.reshape(-1), rows.reshape(-1), *sizes, *steps)


def run(problem, x, packed, workspace, y, threads, way=None):
    """Fill y (N, P, Q, K) with the convolution of x and the packed weights; `way` is one of `matrix.WAYS`."""
    fill(problem, x, workspace["rows"])
    matrix.multiply(problem, workspace["rows"], "k", packed, y, way)


RUNGS = (
    Rung(
        "one sum a thread",
        "The matrix is written out, then multiplied in 16 x 16 tiles that lie in shared memory.",
        "Each number of the matrix is fetched once for 16 filters; two reads of shared memory for each sum.",
        partial(run, way="shared"),
        simple.shared_tile,
        pack,
    ),
    Rung(
        "4 x 4 sums a thread",
        "A thread reads four numbers of a column and four of a row, and multiplies each with each.",
        "Half a read of shared memory for each multiply-add; each number is fetched once for 64 filters.",
        partial(run, way="registers"),
        simple.register_tile,
        pack,
    ),
    Rung(
        "tuned tiles",
        "Up to 8 x 8 sums a thread, two buffers, and a tile as large as keeps all multiprocessors busy.",
        "The product's traffic shrinks once more; the matrix itself is still written once and read once.",
        partial(run, way="tuned"),
        tiled_product,
        pack,
    ),
)
