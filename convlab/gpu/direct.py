"""Direct convolution on a GPU: the outer four of the seven loops become threads.

    y[n, p, q, k] = sum over r, s, c of  x[n, p*stride + r*dilation - top, q*stride + s*dilation - left, c]
                                       * w[k, r, s, c]

One thread computes one output, and neighbouring threads compute neighbouring filters of one pixel.
"""

from __future__ import annotations

from functools import lru_cache

from convlab.algorithms.direct import loop_arguments
from convlab.gpu import _cuda
from convlab.gpu._cuda import cuda
from convlab.gpu.device import current

THREADS = 128


@lru_cache
def one_thread_per_output(dtype: str):
    """Return the kernel for numbers of type `dtype`."""
    number = getattr(_cuda, dtype)

    @cuda.jit
    def direct(x, w, y, stride, corner, dilation, groups):
        N, H, W, _ = x.shape
        K, R, S, channels = w.shape  # channels of one group
        P, Q = y.shape[1], y.shape[2]
        i = cuda.grid(1)
        if i < N * P * Q * K:
            rest, k = divmod(i, K)
            rest, q = divmod(rest, Q)
            n, p = divmod(rest, P)
            first = k // (K // groups) * channels  # where this filter's group of channels begins
            total = number(0)
            for r in range(R):
                for s in range(S):
                    row = p * stride[0] + r * dilation[0] - corner[0]
                    col = q * stride[1] + s * dilation[1] - corner[1]
                    if 0 <= row < H and 0 <= col < W:
                        for c in range(channels):
                            total += x[n, row, col, first + c] * w[k, r, s, c]
            y[n, p, q, k] = total

    return direct


def run(problem, x, w, workspace, y, threads):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and w (K, R, S, C/groups)."""
    blocks = -(-y.size // THREADS)
    kernel = one_thread_per_output(problem.dtype)
    current().launch(kernel, blocks, THREADS, x, w, y, *loop_arguments(problem))
