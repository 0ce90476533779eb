"""dgrad of a depthwise convolution on a GPU: a patch of dx in registers, and dy goes by.

    dx[n, h, w, c] = sum over taps of  dy[n, p, q, c] * w[c, r, s]      p*stride + r - top = h, q likewise

It is the forward kernel (`algorithms.depthwise.gpu_sliding`) the other way round. A thread has four channels,
their weights, and the sums of a patch of pixels. It loads each pixel of dy that reaches the patch once, and
adds it to all the sums that its taps lead to. The patch is whole steps of the stride: so which tap leads
where is known when the kernel is compiled, and no inserted zero is met. Where a patch would be too large,
where filters have holes, or where several read a channel, it is `looped`: one thread a number of dx.
"""

from __future__ import annotations

from functools import lru_cache

from convlab.algorithms.depthwise.gpu import ENOUGH, PATCHES, fours
from convlab.algorithms.depthwise.gpu_sliding import REGISTERS, THREADS
from convlab.gpu.device import current
from convlab.gpu.gemm.vector_io import mover
from convlab.gpu.kernels import device_function, kernel
from convlab.gpu.numba_cuda import cuda, number_type
from convlab.gpu.unroll import unrolled
from convlab.gradients.filters_gpu import lay_out, on_device
from convlab.problem import ConvProblem
from convlab.support.integers import ceil_div

MOST = 16  # pixels of a patch


@lru_cache
def patched(dtype: str, R: int, S: int, stride: tuple[int, int], patch: tuple[int, int], vector: int):
    """Return the kernel for `patch` steps of the stride and `vector` channels a thread; w is (R, S, K)."""
    number = number_type(dtype)
    take, put, clear = mover(vector, dtype)
    (step_h, step_w), (down, right) = stride, patch
    rows, cols = down * step_h, right * step_w  # pixels of the patch
    above, before = (R - 1) // step_h, (S - 1) // step_w  # lines and columns of dy that reach it from there
    columns, outputs = right + before, rows * cols
    size_w, size_x, size_y = R * S * vector, outputs * vector, columns * vector

    @device_function(forceinline=True)
    def add(r, line, gradients, weights, sums):
        i = line * step_h + r - above * step_h  # where this line of dy leads to with row r of the filter
        if i < rows:
            for s in range(S):
                for u in range(columns):
                    j = u * step_w + s - before * step_w
                    if j < cols:
                        for k in range(vector):
                            o, t = i * cols + j, r * S + s
                            sums[o * vector + k] += gradients[u * vector + k] * weights[t * vector + k]

    add_everywhere = unrolled(add, R)

    @device_function(forceinline=True)
    def line(line, dy, at, p, q, P, Q, K, gradients, weights, sums):
        if p + line < P:  # a line above dy is a very large one
            for u in range(columns):
                if q + u < Q:
                    take(dy, at + (line * Q + u) * K, gradients, u * vector)
                else:
                    clear(gradients, u * vector)
            add_everywhere(0, line, gradients, weights, sums)

    lines = unrolled(line, down + above)

    @device_function(forceinline=True)
    def store(o, dx, at, h, w, H, W, C, sums):
        i, j = o // cols, o % cols
        if h + i < H and w + j < W:
            put(dx, at + (i * W + j) * C, sums, o * vector)

    store_all = unrolled(store, outputs)

    @kernel(max_registers=REGISTERS)
    def patched(dy, w, dx, H, W, K, P, Q, top, left, high, wide, total):
        weights = cuda.local.array(size_w, number)  # (R, S, vector)
        sums = cuda.local.array(size_x, number)  # (rows, cols, vector)
        gradients = cuda.local.array(size_y, number)  # (columns, vector), of one line of dy
        i = cuda.blockIdx.x * THREADS + cuda.threadIdx.x
        if i < total:
            rest, v = divmod(i, K // vector)  # neighbouring threads: neighbouring channels
            rest, tile_w = divmod(rest, wide)
            n, tile_h = divmod(rest, high)
            k = v * vector
            for t in range(R * S):
                take(w, t * K + k, weights, t * vector)
            for o in range(outputs):
                clear(sums, o * vector)
            p, q = tile_h * down + top // step_h - above, tile_w * right + left // step_w - before
            lines(0, dy, ((n * P + p) * Q + q) * K + k, p, q, P, Q, K, gradients, weights, sums)
            row, col = tile_h * rows - top % step_h, tile_w * cols - left % step_w
            store_all(0, dx, ((n * H + row) * W + col) * K + k, row, col, H, W, K, sums)

    return patched


@lru_cache
def looped(dtype: str):
    """Return the kernel for any problem: one number of dx a thread; w is (R, S, K)."""
    number = number_type(dtype)

    @kernel
    def looped(dy, w, dx, H, W, C, K, P, Q, top, left, R, S, step_h, step_w, gap_h, gap_w):
        i = cuda.blockIdx.x * THREADS + cuda.threadIdx.x
        if i < dx.size:
            (rest, c), m = divmod(i, C), K // C
            rest, col = divmod(rest, W)
            n, row = divmod(rest, H)
            total = number(0)
            for r in range(R):
                p, between_h = divmod(row + top - r * gap_h, step_h)
                for s in range(S):
                    q, between_w = divmod(col + left - s * gap_w, step_w)
                    if between_h == 0 and between_w == 0 and p < P and q < Q:
                        at = ((n * P + p) * Q + q) * K + c * m
                        for k in range(m):
                            total += dy[at + k] * w[(r * S + s) * K + c * m + k]
            dx[i] = total

    return looped


# -- how they are run --------------------------------------------------------------------------------------


def choose(problem: ConvProblem) -> tuple[tuple[int, int], int] | None:
    """Return (patch, vector) for `patched`, or None for `looped`."""
    vector = fours(problem)
    registers = problem.R * problem.S * vector * problem.itemsize // 4
    if problem.K != problem.C or problem.dilation != (1, 1) or registers > 50:
        return None
    for pixels in PATCHES:
        down, right = (max(1, size // step) for size, step in zip(pixels, problem.stride, strict=True))
        if down * right * problem.stride[0] * problem.stride[1] > MOST:
            return None
        if pixels == PATCHES[-1] or _threads(problem, (down, right), vector) >= ENOUGH:
            return (down, right), vector
    return None


def _tiles(problem: ConvProblem, patch: tuple[int, int]) -> tuple[int, int]:
    """Return the patches down a picture of dx and across; the first may begin above it, and left of it."""
    corner = problem.geometry[1]
    axes = zip((problem.H, problem.W), corner, patch, problem.stride, strict=True)
    high, wide_ = (ceil_div(size + before % step, steps * step) for size, before, steps, step in axes)
    return high, wide_


def _threads(problem: ConvProblem, patch: tuple[int, int], vector: int) -> int:
    high, wide_ = _tiles(problem, patch)
    return problem.N * high * wide_ * (problem.K // vector)


def pack(problem: ConvProblem, w, threads: int, before=None, dy=None):
    """Return the weights on the device with the channels innermost, (R, S, K)."""
    packed = current().empty((problem.R, problem.S, problem.K), problem.dtype)
    column = packed.reshape((packed.size, 1))  # rows of one number
    lay_out(problem, on_device(w), column, range(problem.R), range(problem.S), problem.K)
    return packed


def run(problem, given, w, workspace, dx, threads):
    """Fill dx (N, H, W, C) with the gradient of the input."""
    (dy,) = given
    run_chosen(problem, dy, w, dx, choose(problem))


def run_chosen(problem: ConvProblem, dy, w, dx, chosen: tuple[tuple[int, int], int] | None) -> None:
    """The same with what `choose` might have returned."""
    stride, corner, dilation = problem.geometry
    y = problem.K, problem.P, problem.Q
    arrays = [array.reshape(-1) for array in (dy, w, dx)]
    if chosen is None:
        sizes = problem.H, problem.W, problem.C, *y, *corner, problem.R, problem.S, *stride, *dilation
        current().launch(looped(problem.dtype), ceil_div(dx.size, THREADS), THREADS, *arrays, *sizes)
        return
    made, total = patched(problem.dtype, problem.R, problem.S, stride, *chosen), _threads(problem, *chosen)
    rest = *corner, *_tiles(problem, chosen[0]), total
    current().launch(made, ceil_div(total, THREADS), THREADS, *arrays, problem.H, problem.W, *y, *rest)
