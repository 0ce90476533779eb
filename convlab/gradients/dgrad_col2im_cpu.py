"""dgrad by a product and col2im, the fast form: the product on the register tile, then line by line of dx."""

from __future__ import annotations

import numpy as np

from convlab.cpu import gemm
from convlab.cpu.epilogue import output
from convlab.cpu.jit import njit, prange
from convlab.cpu.threads import parallel_for


def pack(problem, w, threads, before=None, dy=None) -> np.ndarray:
    """Return the filters in panels whose columns are the numbers of a filter: as they lie, piece by piece."""
    _, filters, taps = problem.gemm
    return gemm.pack(w.reshape(problem.groups, filters, taps).swapaxes(1, 2))


def run(problem, given, panels, workspace, dx, threads):
    """Fill dx (N, H, W, C) with the gradient of the input."""
    (dy,), (M, filters, taps), rows = given, problem.gemm, workspace["matrix"].reshape(-1)
    out = output(rows.reshape(M, problem.groups * taps))
    for g in range(problem.groups):  # a row of dy times the filters: a row of the matrix
        a = dy.reshape(-1)[g * filters :]
        gemm.gemm(a, problem.K, 1, panels[g], out, g * taps, M, taps, filters, threads)
    sizes = problem.x_shape, (problem.P, problem.Q, problem.R, problem.S)
    arrays = rows, dx.reshape(-1), *sizes, *problem.geometry, problem.groups
    parallel_for(threads, (problem.N * problem.H, 1), (1, 1), _lines, _shared, *arrays)


@njit
def _lines(first, end, left, right, rows, dx, shape, taps, stride, corner, dilation, groups):
    """Add up the lines first..end of dx, counted through the batch; dx and rows are flat."""
    _, H, W, C = shape
    P, Q, R, S = taps
    channels = C // groups
    together = S if dilation[1] == 1 and groups == 1 else 1  # taps that lie side by side in dx
    for line in range(first, end):
        n, h = divmod(line, H)
        dx[line * W * C : (line + 1) * W * C] = 0
        for r in range(R):
            p, between = divmod(h + corner[0] - r * dilation[0], stride[0])
            if between == 0 and 0 <= p < P:
                for q in range(Q):
                    row = ((n * P + p) * Q + q) * R * S * C
                    for g in range(groups):
                        for s in range(0, S, together):
                            col = q * stride[1] + s * dilation[1] - corner[1]
                            low = min(max(-col, 0), together)  # the taps that hit the picture
                            high = max(low, min(together, W - col))
                            at = row + ((g * R + r) * S + s) * channels
                            to = (line * W + col) * C + g * channels
                            for i in range(low * channels, high * channels):
                                dx[to + i] += rows[at + i]


@njit(parallel=True)
def _shared(parts, rows, dx, shape, taps, stride, corner, dilation, groups):
    for i in prange(len(parts)):
        _lines(parts[i, 0], parts[i, 1], 0, 1, rows, dx, shape, taps, stride, corner, dilation, groups)
