"""wgrad of a depthwise convolution on a GPU: all sums of some channels in registers, and the pixels go by.

    dw[k, r, s] = sum over n, p, q of  dy[n, p, q, k] * x[n, p*stride + r*dilation - top, ..., k // m]

A thread has four channels and R*S sums of each. It goes through its part of the output pixels, strip by
strip: some neighbours of dy are loaded once, and each pixel of x under them once for each row of the filter.
Threads of a block that have the same channels add up what they have in shared memory, from the first to the
last, and so does a second kernel with the blocks (`launch.reduce`). No addition is atomic: the bits are the
same from run to run. Filters too large for registers are `looped`: one thread a sum.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from convlab.algorithms.depthwise.gpu import fours
from convlab.gpu.device import current, device_multiprocessors
from convlab.gpu.gemm.launch import reduce
from convlab.gpu.gemm.vector_io import mover
from convlab.gpu.kernels import device_function, kernel
from convlab.gpu.numba_cuda import cuda, number_type
from convlab.gpu.occupancy import WARP
from convlab.gpu.unroll import unrolled
from convlab.gradients.spec import Shapes
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div

THREADS, REGISTERS = 256, 128  # of a block, and of a thread: two blocks on a multiprocessor
BLOCKS = 2  # that a multiprocessor is given
STRIP = 4  # neighbours of dy; half as many, where their windows lie two pixels apart
ENOUGH = 1024  # threads of a multiprocessor, looped


class Cut(NamedTuple):
    """How the sums are shared out.

    Attributes
    ----------
    vector : int
        Channels of a thread; 0 for `looped`.
    strip : int
        Neighbouring pixels of dy that it loads at once.
    lanes : int
        Threads of a block that have different channels; those that share channels are THREADS // lanes.
    parts : int
        Into how many the pixels are cut, each for blocks of its own.
    each : int
        Strips of a thread; where it is looped, lines of dy.
    """

    vector: int
    strip: int
    lanes: int
    parts: int
    each: int


@lru_cache
def strips(dtype: str, R: int, S: int, stride, dilation, strip: int, vector: int, lanes: int):
    """Return the kernel; a strip of more than one pixel is for windows without holes."""
    number = number_type(dtype)
    take, put, clear = mover(vector, dtype)
    (step_h, step_w), (gap_h, gap_w), sharing = stride, dilation, THREADS // lanes
    columns, taps, row_shared = (strip - 1) * step_w + S, R * S, lanes * vector
    size_w, size_x, size_y = taps * vector, columns * vector, strip * vector

    @device_function(forceinline=True)
    def line(r, x, at, row, col, H, W, C, pixels, gradients, sums):
        if row + r * gap_h < H:  # a row above the picture is a very large one
            for u in range(columns):
                if col + u * gap_w < W:
                    take(x, at + (r * gap_h * W + u * gap_w) * C, pixels, u * vector)
                else:
                    clear(pixels, u * vector)
            for s in range(S):
                for j in range(strip):
                    for k in range(vector):
                        u, t = j * step_w + s, r * S + s
                        sums[t * vector + k] += gradients[j * vector + k] * pixels[u * vector + k]

    lines = unrolled(line, R)

    @device_function(forceinline=True)
    def add_up(t, shared, share, lane, inside, partials, first, sums):
        put(shared, (share, lane * vector), sums, t * vector)
        cuda.syncthreads()
        if share == 0 and inside:
            for k in range(vector):
                total = number(0)
                for i in range(sharing):
                    total += shared[i, lane * vector + k]
                partials[first + k * taps + t] = total
        cuda.syncthreads()

    add_all = unrolled(add_up, taps)

    @kernel(max_registers=REGISTERS)
    def strips(x, dy, partials, H, W, C, K, P, Q, m, top, left, across, count, each):
        shared = cuda.shared.array((sharing, row_shared), number, alignment=16)
        sums = cuda.local.array(size_w, number)  # (R, S, vector)
        gradients = cuda.local.array(size_y, number)  # (strip, vector)
        pixels = cuda.local.array(size_x, number)  # (columns, vector), of one line of x
        share, lane = divmod(cuda.threadIdx.x, lanes)
        k = (cuda.blockIdx.x * lanes + lane) * vector
        part, inside = cuda.blockIdx.y, k < K
        for t in range(taps):
            clear(sums, t * vector)
        now = (part * sharing + share) * each
        end = min(now + each, count) if inside else 0
        rest, tile = divmod(now, across)
        n, p = divmod(rest, P)
        while now < end:
            q = tile * strip
            for j in range(strip):
                if q + j < Q:
                    take(dy, ((n * P + p) * Q + q + j) * K + k, gradients, j * vector)
                else:
                    clear(gradients, j * vector)
            row, col = p * step_h - top, q * step_w - left
            lines(0, x, ((n * H + row) * W + col) * C + k // m, row, col, H, W, C, pixels, gradients, sums)
            now, tile = now + 1, tile + 1
            if tile == across:
                tile, p = 0, p + 1
                if p == P:
                    p, n = 0, n + 1
        add_all(0, shared, share, lane, inside, partials, (part * K + k) * taps, sums)

    return strips


@lru_cache
def looped(dtype: str):
    """Return the kernel for any filter: one sum a thread, over `each` lines of dy."""
    number = number_type(dtype)

    @kernel
    def looped(x, dy, partials, H, W, C, K, P, Q, m, top, left, R, S, stride, gaps, count, each, total):
        i = cuda.blockIdx.x * THREADS + cuda.threadIdx.x
        if i < total:
            rest, k = divmod(i, K)  # neighbouring threads: neighbouring channels
            part, t = divmod(rest, R * S)
            r, s = divmod(t, S)
            added = number(0)
            for line in range(part * each, min(part * each + each, count)):
                n, p = divmod(line, P)
                row = p * stride[0] + r * gaps[0] - top
                if row < H:
                    for q in range(Q):
                        col = q * stride[1] + s * gaps[1] - left
                        if col < W:
                            added += dy[(line * Q + q) * K + k] * x[((n * H + row) * W + col) * C + k // m]
            partials[(part * K + k) * R * S + t] = added

    return looped


# -- how they are run --------------------------------------------------------------------------------------


def choose(problem: ConvProblem, multiprocessors: int | None = None) -> Cut:
    """Return how the sums are cut: in as many parts as give every multiprocessor two blocks, or fewer."""
    count, taps = multiprocessors or device_multiprocessors(), problem.R * problem.S
    vector, lines = fours(problem), problem.N * problem.P
    if taps * vector * problem.itemsize > 4 * 50:
        parts = min(lines, ceil_div(count * ENOUGH, problem.K * taps))
        each = ceil_div(lines, parts)
        return Cut(0, 1, 1, ceil_div(lines, each), each)
    step = problem.stride[1]
    strip = STRIP // step if problem.dilation == (1, 1) and step <= 2 else 1
    vectors = problem.K // vector
    lanes = min(WARP, 1 << (vectors - 1).bit_length())
    pieces = ceil_div(lines * ceil_div(problem.Q, strip), THREADS // lanes)  # each a strip for all who share
    parts = max(1, min(pieces, BLOCKS * count // ceil_div(vectors, lanes)))
    each = ceil_div(pieces, parts)
    return Cut(vector, strip, lanes, ceil_div(pieces, each), each)


def shapes(problem: ConvProblem, threads: int) -> Shapes:
    """Return the shape of the parts of dw, (parts, K, R, S), where the sums are cut."""
    parts = choose(problem).parts
    return {"partials": (parts, *problem.w_shape[:3])} if parts > 1 else {}


def run(problem, given, packed, workspace, dw, threads):
    """Fill dw (K, R, S, 1) with the gradient of the weights."""
    cut, (stride, corner, dilation) = choose(problem), problem.geometry
    target = workspace.get("partials", dw)
    arrays = [array.reshape(-1) for array in (*given, target)]
    sizes = problem.H, problem.W, problem.C, problem.K, problem.P, problem.Q, problem.K // problem.C, *corner
    lines, (R, S) = problem.N * problem.P, (problem.R, problem.S)
    if cut.vector == 0:
        total = cut.parts * dw.size
        rest = R, S, stride, dilation, lines, cut.each, total
        current().launch(looped(problem.dtype), ceil_div(total, THREADS), THREADS, *arrays, *sizes, *rest)
    else:
        across = ceil_div(problem.Q, cut.strip)
        made = strips(problem.dtype, R, S, stride, dilation, cut.strip, cut.vector, cut.lanes)
        blocks = ceil_div(problem.K // cut.vector, cut.lanes), cut.parts
        current().launch(made, blocks, THREADS, *arrays, *sizes, across, lines * across, cut.each)
    if cut.parts > 1:
        reduce(target, dw, dw.size, cut.parts)
