"""wgrad of a depthwise convolution, the fast form: for each pixel and tap a vector of channels."""

from __future__ import annotations

from convlab.cpu.jit import njit, prange
from convlab.cpu.threads import parallel_for
from convlab.cpu.tile_size import tile_for

_IN_ORDER = {"contract"}  # sums are added as they are written: the same for any number of threads


def run(problem, given, packed, workspace, dw, threads):
    """Fill dw (K, R, S, 1) with the gradient of the weights; threads share the channels."""
    (x, dy), sums = given, workspace["sums"]
    sides = (problem.C, tile_for(problem.dtype).cols), (1, 1)
    parallel_for(threads, *sides, _channels, _shared, x, dy, sums, *problem.geometry)
    dw[..., 0] = sums.transpose(2, 0, 1)


@njit(fastmath=_IN_ORDER)
def _channels(first, end, left, right, x, dy, sums, stride, corner, dilation):
    """Sum the filters of the channels first..end; `sums` is (R, S, K).

    The innermost loops count from 0, in slices. An index that might be negative might mean the end of an
    axis; LLVM would ask that for every number, and make no vectors.
    """
    N, H, W, C = x.shape
    _, P, Q, K = dy.shape
    R, S, _ = sums.shape
    m = K // C
    sums[:, :, first * m : end * m] = 0
    for n in range(N):
        for p in range(P):
            for r in range(R):
                h = p * stride[0] + r * dilation[0] - corner[0]
                if 0 <= h < H:
                    for q in range(Q):
                        for s in range(S):
                            w = q * stride[1] + s * dilation[1] - corner[1]
                            if 0 <= w < W:
                                totals = sums[r, s, first * m : end * m]
                                gradients = dy[n, p, q, first * m : end * m]
                                pixel = x[n, h, w, first:end]
                                if m == 1:
                                    for c in range(len(pixel)):
                                        totals[c] += gradients[c] * pixel[c]
                                else:
                                    for k in range(len(totals)):
                                        totals[k] += gradients[k] * pixel[k // m]


@njit(parallel=True, fastmath=_IN_ORDER)
def _shared(parts, x, dy, sums, stride, corner, dilation):
    for i in prange(len(parts)):
        _channels(parts[i, 0], parts[i, 1], 0, 1, x, dy, sums, stride, corner, dilation)
