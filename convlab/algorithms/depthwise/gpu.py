"""Depthwise convolution on a GPU: neighbouring threads take neighbouring channels, each a patch of pixels.

    y[n, p, q, k] = sum over r, s of  x[n, p*stride + r - top, q*stride + s - left, k // m] * w[k, r, s]

There is little to compute, so all depends on the memory. A thread keeps weights and sums in registers and
goes through the pixels under its patch once: that kernel is in `gpu_sliding`. Here stands how its patch is
chosen. Filters too large for registers are `looped`: one thread per output.
"""

from __future__ import annotations

from functools import lru_cache

from convlab.algorithms.depthwise.gpu_sliding import REGISTERS, THREADS, sliding
from convlab.algorithms.ladder import Rung
from convlab.gpu.device import current
from convlab.gpu.gemm.launch import wide
from convlab.gpu.kernels import kernel
from convlab.gpu.model.work import Work, one_pass
from convlab.gpu.numba_cuda import cuda, number_type
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div

PATCHES = (4, 4), (2, 4), (2, 2), (1, 1)  # outputs of a thread: lines, pixels of a line
FLAT = (1, 4), (1, 2), (1, 1)  # with stride 2: lines of outputs share hardly a line of pixels
ENOUGH = 1 << 15  # threads; a larger patch would leave multiprocessors idle


@lru_cache
def looped(dtype: str):
    """Return the kernel for any filter: one output a thread, and the weights come from memory each time."""
    number = number_type(dtype)

    @kernel
    def looped(x, w, y, H, W, C, K, P, Q, m, top, left, R, S, step_p, step_q, step_r, step_s):
        i = cuda.blockIdx.x * THREADS + cuda.threadIdx.x
        if i < y.size:
            rest, k = divmod(i, K)
            rest, q = divmod(rest, Q)
            n, p = divmod(rest, P)
            total = number(0)
            for r in range(R):
                row = p * step_p + r * step_r - top
                for s in range(S):
                    col = q * step_q + s * step_s - left
                    if row < H and col < W:
                        at = ((n * H + row) * W + col) * C + k // m
                        total += x[at] * w[(r * S + s) * K + k]
            y[i] = total

    return looped


# -- how they are run --------------------------------------------------------------------------------------


def pack(problem: ConvProblem, w):
    """Return w with the channels innermost, (R, S, K)."""
    return current().put(w[:, :, :, 0].transpose(1, 2, 0))


def choose(problem: ConvProblem, aligned: bool = True) -> tuple[tuple[int, int], int] | None:
    """Return (patch, vector) for `sliding`, or None where the weights do not fit in registers.

    `aligned` says if x and y lie so that four channels can be moved at once, where there are as many.
    """
    taps, vector = problem.R * problem.S, fours(problem, aligned)
    if taps * vector * problem.itemsize > 4 * 50:
        return None
    if problem.dilation != (1, 1) or max(problem.stride) > 2:
        return (1, 1), vector
    for patch in PATCHES if max(problem.stride) == 1 else FLAT:
        if patch == (1, 1) or _threads(problem, patch, vector) >= ENOUGH:
            return patch, vector


def fours(problem: ConvProblem, aligned: bool = True) -> int:
    """Return the channels of a thread: 4, where so many can be moved at once and have room, else 1."""
    four = aligned and problem.K == problem.C and problem.C % 4 == 0
    return 4 if four and problem.dtype == "float32" and problem.R * problem.S <= 9 else 1


def _threads(problem, patch, vector):
    return problem.N * ceil_div(problem.P, patch[0]) * ceil_div(problem.Q, patch[1]) * (problem.K // vector)


def works(problem: ConvProblem) -> tuple[Work, ...]:
    """Return what the launch of `run` asks of a GPU."""
    taps, chosen = problem.R * problem.S, choose(problem)
    (rows, cols), vector = chosen or ((1, 1), 1)
    lines, columns = (rows - 1) * problem.stride[0] + problem.R, (cols - 1) * problem.stride[1] + problem.S
    pixels, sums = lines * columns if chosen else taps, rows * cols
    loads = pixels + taps
    threads = _threads(problem, (rows, cols), vector)
    each = loads + sums + sums * taps * vector + 12 * pixels + 95
    slide = one_pass(
        "slide",
        threads,
        THREADS,
        registers=REGISTERS,
        instructions=each if chosen else 20 * taps + 40,
        loads=loads,
        stores=sums,
        multiply_adds=sums * taps * vector,
        lanes_apart=vector,
        moved=threads * (pixels + sums) * vector * problem.itemsize,
        cold=problem.x_bytes + problem.w_bytes + problem.y_bytes,
    )
    return (slide,)


def run(problem, x, w, workspace, y, threads):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and w (R, S, K)."""
    chosen = choose(problem, _aligned(problem, x, y))
    if chosen is None:
        run_looped(problem, x, w, workspace, y, threads)
    else:
        run_sliding(problem, x, w, y, *chosen)


def run_looped(problem, x, w, workspace, y, threads):
    """Run `looped`."""
    taps = problem.R, problem.S, *problem.stride, *problem.dilation
    _launch(looped(problem.dtype), y.size, problem, x, w, y, taps)


def run_sliding(problem, x, w, y, patch, vector):
    """Run `sliding` with a patch and a vector of your own."""
    settings = problem.R, problem.S, problem.stride, problem.dilation, patch, vector
    total = _threads(problem, patch, vector)
    rest = ceil_div(problem.Q, patch[1]), ceil_div(problem.P, patch[0]), total
    _launch(sliding(problem.dtype, *settings), total, problem, x, w, y, rest)


def _launch(kernel, total, problem, x, w, y, rest):
    (top, _), (left, _) = problem.padding
    sizes = problem.H, problem.W, problem.C, problem.K, problem.P, problem.Q, problem.K // problem.C
    arrays = (array.reshape(-1) for array in (x, w, y))
    current().launch(kernel, ceil_div(total, THREADS), THREADS, *arrays, *sizes, top, left, *rest)


def _aligned(problem, x, y) -> bool:
    return wide(4, problem.C, x) == wide(4, problem.K, y) == 4


def _run_patch_of_one(problem, x, w, workspace, y, threads):
    run_sliding(problem, x, w, y, (1, 1), choose(problem, _aligned(problem, x, y))[1])


def _refuses_large(problem: ConvProblem) -> str | None:
    if choose(problem) is None:
        return f"the {problem.R}x{problem.S} weights of a channel do not fit in the registers of a thread"
    return None


RUNGS = (
    Rung(
        "one thread per output",
        "Neighbouring threads take neighbouring channels; each loads its window and its weights.",
        "All requests are coalesced, but every pixel is asked for R*S times, and so are the weights.",
        run_looped,
        looped,
        pack,
    ),
    Rung(
        "four channels a thread",
        "A thread has four neighbouring channels, and all its loops are written out.",
        "The same bytes in a quarter of the requests.",
        _run_patch_of_one,
        sliding,
        pack,
        _refuses_large,
    ),
    Rung(
        "patch in registers",
        "A thread computes a patch of outputs, and keeps its weights for all of them.",
        "A patch of 4 x 4 outputs and a 3x3 filter: each pixel is loaded 2.25 times at most instead of 9.",
        run,
        sliding,
        pack,
        _refuses_large,
    ),
)
