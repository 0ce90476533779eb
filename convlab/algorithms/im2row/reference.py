"""im2row with NumPy: the matrix is filled tap by tap, then `np.matmul` multiplies."""

from __future__ import annotations

import numpy as np

from convlab.problem import ConvProblem
from convlab.support.checked import checked
from convlab.support.checks import check_array
from convlab.support.system_memory import asking_the_system


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

    Raises
    ------
    ConvError
        If x does not fit the problem, or the system does not give so much memory.

    Notes
    -----
    The matrix holds R*S*P*Q / (H*W) times as many numbers as x. `convlab.conv2d` refuses it when it
    would not fit in the memory that is free; this function does not.
    """
    check_array("x", x, problem.x_shape, "(N, H, W, C)")
    with asking_the_system():
        rows = allocate(problem, dtype=x.dtype)["rows"]
    fill(x, problem, rows)
    return rows


def allocate(problem: ConvProblem, threads: int = 1, dtype=None) -> dict[str, np.ndarray]:
    """Return the workspace: the matrix, zero where no tap will write."""
    M, _, taps = problem.gemm
    return {"rows": np.zeros((M, problem.groups * taps), dtype or problem.dtype)}


def fill(x: np.ndarray, problem: ConvProblem, rows: np.ndarray, line: int = 0) -> None:
    """Copy the pixels of x into `rows`, tap by tap; cells of padding taps stay as they are.

    The matrix may be some of its rows: of each picture in x so many output lines, from `line` on.
    """
    N, lines, Q = len(x), len(rows) // (len(x) * problem.Q), problem.Q
    groups = (problem.groups, problem.C // problem.groups)  # channels of a group lie side by side
    cells = rows.reshape(N, lines, Q, groups[0], problem.R, problem.S, groups[1])
    for r in range(problem.R):
        for s in range(problem.S):
            (p, q), (row, col) = problem.inside(r, s)
            first, end = max(p.start, line), max(p.start, line, min(p.stop, line + lines))
            # What tap (r, s) reads, for all these output pixels at once.
            pixels = x[:, row, col][:, first - p.start : end - p.start]
            cells[:, first - line : end - line, q, :, r, s] = pixels.reshape(*pixels.shape[:3], *groups)


def run(problem, x, w, workspace, y, threads):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and w (K, R, S, C/groups)."""
    fill(x, problem, workspace["rows"])
    multiply(problem, workspace["rows"], w, y)


def multiply(problem: ConvProblem, rows: np.ndarray, w: np.ndarray, y: np.ndarray) -> None:
    """Fill y with the product of a matrix (N*P*Q, R*S*C), of any shape, and the filters."""
    M, filters, taps = problem.gemm
    a = rows.reshape(M, problem.groups, taps).swapaxes(0, 1)  # (G, M, R*S*C/G)
    b = w.reshape(problem.groups, filters, taps).swapaxes(1, 2)  # (G, R*S*C/G, K/G)
    np.matmul(a, b, out=y.reshape(M, problem.groups, filters).swapaxes(0, 1))
