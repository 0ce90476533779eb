"""Direct convolution: the definition, seven loops deep.

    y[n, p, q, k] = sum over r, s, c of  x[n, p*stride + r*dilation - top, q*stride + s*dilation - left, c]
                                       * w[k, r, s, c]

A tap that falls outside the picture reads a zero. Nothing is stored beside x, w and y.

Two forms of the same sum. `seven_loops` is the definition as one writes it on a whiteboard. `direct` does
the same additions in another order: the loop over filters k moves inside, where y and the packed weights lie
side by side in memory, so that one vector instruction serves many filters.
"""

from __future__ import annotations

import numpy as np

from convlab.algorithms.binding import gpu_form
from convlab.algorithms.spec import Algorithm, Form, Formula
from convlab.cost.phases import Pass, stream
from convlab.cpu.jit import njit
from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty


def seven_loops(x, w, y, stride, corner, dilation, groups):
    """Fill y with the convolution of x and w, exactly as the definition reads.

    Parameters
    ----------
    x : ndarray, (N, H, W, C)
    w : ndarray, (K, R, S, C/groups)
    y : ndarray, (N, P, Q, K)
        Written.
    stride, dilation : (int, int)
        Vertical and horizontal.
    corner : (int, int)
        Rows of padding at the top, columns at the left.
    groups : int
    """
    N, H, W, _ = x.shape
    K, R, S, channels = w.shape  # channels of one group
    P, Q = y.shape[1:3]
    for n in range(N):
        for p in range(P):
            for q in range(Q):
                for k in range(K):
                    total = x.dtype.type(0)
                    first = k // (K // groups) * channels  # where this filter's group of channels begins
                    for r in range(R):
                        for s in range(S):
                            for c in range(channels):
                                row = p * stride[0] + r * dilation[0] - corner[0]
                                col = q * stride[1] + s * dilation[1] - corner[1]
                                if 0 <= row < H and 0 <= col < W:
                                    total += x[n, row, col, first + c] * w[k, r, s, c]
                    y[n, p, q, k] = total


def loop_arguments(problem: ConvProblem):
    """Return (stride, corner, dilation, groups) as the loops take them."""
    (top, _), (left, _) = problem.padding
    return problem.stride, (top, left), problem.dilation, problem.groups


def _run_numpy(problem, x, w, workspace, y, threads):
    seven_loops(x, w, y, *loop_arguments(problem))


# -- the fast form -----------------------------------------------------------------------------------------


def pack(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return w with the filters innermost, (groups, R, S, C/groups, K/groups)."""
    _, R, S, channels = w.shape
    packed = aligned_empty((problem.groups, R, S, channels, problem.K // problem.groups), w.dtype)
    packed[...] = w.reshape(problem.groups, -1, R, S, channels).transpose(0, 2, 3, 4, 1)
    return packed


@njit
def direct(x, w, y, stride, corner, dilation):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and packed w (G, R, S, C/G, K/G)."""
    N, H, W, _ = x.shape
    groups, R, S, channels, filters = w.shape
    P, Q = y.shape[1:3]
    for n in range(N):
        for p in range(P):
            for q in range(Q):
                y[n, p, q] = 0
                for g in range(groups):
                    out = y[n, p, q, g * filters : (g + 1) * filters]  # one pixel, all filters of a group
                    for r in range(R):
                        for s in range(S):
                            row = p * stride[0] + r * dilation[0] - corner[0]
                            col = q * stride[1] + s * dilation[1] - corner[1]
                            if 0 <= row < H and 0 <= col < W:
                                for c in range(channels):
                                    value = x[n, row, col, g * channels + c]
                                    weights = w[g, r, s, c]
                                    for k in range(filters):  # one vector instruction, many filters
                                        out[k] += value * weights[k]


def _run_cpu(problem, x, packed, workspace, y, threads):
    direct(x, packed, y, *loop_arguments(problem)[:3])


def _passes() -> tuple[Pass, ...]:
    macs = "N*P*Q*K*R*S*C/G"
    weights = stream(f"{macs}*b", "K*R*S*C/G*b")  # each is loaded for every pixel,
    sums = stream(f"2*{macs}*b", "K*b")  # and each sum is loaded and stored for every weight
    each = Formula("N*P*Q*R*S*C")  # one number of x, for all filters
    return (Pass("seven loops", Formula(f"2*{macs}"), (weights, sums), {"number": each}, shared=False),)


TRAFFIC = Formula("(N*H*W*C + K*R*S*C/G + N*P*Q*K) * b")

ALGORITHM = Algorithm(
    name="direct",
    summary="The definition: seven loops, no memory beside x, w and y.",
    source="Dumoulin & Visin 2016, arXiv:1603.07285, section 2",
    forms={
        "numpy": Form(run=_run_numpy, bytes_moved=TRAFFIC),
        "cpu": Form(
            run=_run_cpu,
            bytes_moved=TRAFFIC,
            pack=pack,
            passes=_passes,
        ),
        "gpu": gpu_form("direct", parts=("pack",), bytes_moved=TRAFFIC),
    },
)
