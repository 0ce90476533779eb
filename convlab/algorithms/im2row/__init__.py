"""im2row: copy every window into a row, then multiply matrices.

    rows[m, (g, r, s, c)] = the pixel that tap (r, s) of output pixel m reads, or 0 on padding
    y[m, k]               = sum over (r, s, c) of rows[m, (g, r, s, c)] * w[k, (r, s, c)]

One row for each of the M = N*P*Q output pixels, one column for each of the R*S*C taps and channels. With
x as NHWC a tap's channels lie side by side, so each copy is one run of memory. The price is the matrix: for
a 3x3 filter with stride 1 it holds every pixel about nine times.

Chellapilla, Puri & Simard, "High Performance Convolutional Neural Networks for Document Processing" (2006),
section 2.1, is the source of the unrolling; `im2row` and `im2col` differ in which way the matrix lies.
"""

from __future__ import annotations

import numpy as np

from convlab.algorithms.binding import gpu_form
from convlab.algorithms.direct import loop_arguments
from convlab.algorithms.spec import Algorithm, Form, Formula
from convlab.cost.phases import fill_pass, product
from convlab.cpu.jit import copy_run, njit
from convlab.problem import ConvProblem
from convlab.support.checked import checked
from convlab.support.checks import check_array


@checked
def im2row(x: np.ndarray, problem: ConvProblem) -> np.ndarray:
    """Return the matrix of windows, one row for each output pixel.

    Parameters
    ----------
    x : ndarray, (N, H, W, C)
    problem : ConvProblem

    Returns
    -------
    ndarray, (N*P*Q, R*S*C)
        Columns in the order (group, r, s, channel); padding taps are 0.

    Notes
    -----
    The matrix holds R*S*P*Q / (H*W) times as many numbers as x. `convlab.conv2d` refuses it when it
    would not fit in memory; this function does not.
    """
    check_array("x", x, problem.x_shape, "(N, H, W, C)")
    rows = allocate(problem, dtype=x.dtype)["rows"]
    fill(x, problem, rows)
    return rows


def allocate(problem: ConvProblem, threads: int = 1, dtype=None) -> dict[str, np.ndarray]:
    """Return the workspace: the matrix, zero where no tap will write."""
    M, _, taps = problem.gemm
    return {"rows": np.zeros((M, problem.groups * taps), dtype or problem.dtype)}


def fill(x: np.ndarray, problem: ConvProblem, rows: np.ndarray) -> None:
    """Copy the pixels of x into `rows`, tap by tap; cells of padding taps stay as they are."""
    N, P, Q, _ = problem.y_shape
    groups = (problem.groups, problem.C // problem.groups)  # channels of a group lie side by side
    cells = rows.reshape(N, P, Q, groups[0], problem.R, problem.S, groups[1])
    for r in range(problem.R):
        for s in range(problem.S):
            (p, q), (row, col) = problem.inside(r, s)
            pixels = x[:, row, col]  # what tap (r, s) reads, for all output pixels at once
            cells[:, p, q, :, r, s] = pixels.reshape(*pixels.shape[:3], *groups)


def _run_numpy(problem, x, w, workspace, y, threads):
    rows = workspace["rows"]
    fill(x, problem, rows)
    M, filters, taps = problem.gemm
    a = rows.reshape(M, problem.groups, taps).swapaxes(0, 1)  # (G, M, R*S*C/G)
    b = w.reshape(problem.groups, filters, taps).swapaxes(1, 2)  # (G, R*S*C/G, K/G)
    np.matmul(a, b, out=y.reshape(M, problem.groups, filters).swapaxes(0, 1))


# -- the fast form -----------------------------------------------------------------------------------------


@njit
def _fill(x, rows, shape, taps, stride, corner, dilation, groups):
    """Write the matrix from top to bottom; x and rows are flat, `shape` is x's."""
    N, H, W, C = shape
    P, Q, R, S = taps
    channels = C // groups
    # Taps that lie side by side in x are copied as one run; dilation and groups tear them apart.
    together = S if dilation[1] == 1 and groups == 1 else 1
    at = 0
    for n in range(N):
        for p in range(P):
            for q in range(Q):
                for g in range(groups):
                    for r in range(R):
                        row = p * stride[0] + r * dilation[0] - corner[0]
                        s = 0
                        while s < S:
                            col = q * stride[1] + s * dilation[1] - corner[1]
                            first, last = 0, 0  # which of these taps hit the picture
                            if 0 <= row < H:
                                first = min(max(-col, 0), together)
                                last = max(first, min(together, W - col))
                            if first > 0:
                                rows[at : at + first * channels] = 0
                            start = ((n * H + row) * W + col + first) * C + g * channels
                            copy_run(rows, at + first * channels, x, start, (last - first) * channels)
                            if last < together:
                                rows[at + last * channels : at + together * channels] = 0
                            at += together * channels
                            s += together


def pack_panels(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return the weights in panels as wide as this processor's tile, (groups, numbers of a group)."""
    from convlab.cpu.gemm import pack

    _, filters, taps = problem.gemm
    return pack(w.reshape(problem.groups, filters, taps))


def panel_bytes(problem: ConvProblem) -> int:
    """Return the bytes of the weights in panels as wide as this processor's tile."""
    from convlab.cpu.gemm import packed_bytes

    _, filters, taps = problem.gemm
    return packed_bytes(problem.groups, filters, taps, problem.dtype)


def _run_cpu(problem, x, panels, workspace, y, threads):
    from convlab.cpu.gemm import gemm

    rows = workspace["rows"]
    taps = problem.P, problem.Q, problem.R, problem.S
    _fill(x.reshape(-1), rows.reshape(-1), x.shape, taps, *loop_arguments(problem))
    M, filters, taps = problem.gemm
    for g in range(problem.groups):
        a, out = rows.reshape(-1)[g * taps :], y.reshape(-1)[g * filters :]
        gemm(a, rows.shape[1], 1, panels[g], out, problem.K, M, filters, taps, threads)


# x is read, the matrix is written and read again, w is read, y is written.
TRAFFIC = Formula("(N*H*W*C + 2*N*P*Q*R*S*C + K*R*S*C/G + N*P*Q*K) * b")
MATRIX = Formula("N*P*Q * R*S*C * b")

ALGORITHM = Algorithm(
    name="im2row",
    summary="Copy every window into a row of a matrix, then multiply matrices.",
    source="Chellapilla, Puri & Simard 2006, section 2.1",
    forms={
        "numpy": Form(run=_run_numpy, bytes_moved=TRAFFIC, workspace_bytes=MATRIX, allocate=allocate),
        "cpu": Form(
            run=_run_cpu,
            bytes_moved=TRAFFIC,
            workspace_bytes=MATRIX,
            packed_bytes=panel_bytes,
            pack=pack_panels,
            allocate=allocate,
            scratch=("rows",),
            passes=lambda: (fill_pass(MATRIX.text), product()),
        ),
        "gpu": gpu_form(
            "im2row",
            parts=("pack", "packed_bytes", "allocate"),
            bytes_moved=TRAFFIC,
            workspace_bytes=MATRIX,
        ),
    },
)
