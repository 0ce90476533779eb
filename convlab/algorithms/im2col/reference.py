"""im2col with NumPy: the matrix is filled tap by tap, then `np.matmul` multiplies; and the way back."""

from __future__ import annotations

import numpy as np

from convlab.problem import ConvProblem
from convlab.support.checked import checked
from convlab.support.checks import check_array
from convlab.support.system_memory import asking_the_system


@checked
def im2col(x: np.ndarray, problem: ConvProblem) -> np.ndarray:
    """Return the matrix of windows, one column for each output pixel.

    Parameters
    ----------
    x : ndarray, (N, H, W, C)
    problem : ConvProblem

    Returns
    -------
    ndarray, (C*R*S, N*P*Q)
        Rows in the order (channel, r, s); padding taps are 0.

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
        cols = allocate(problem, dtype=x.dtype)["cols"]
    fill(x, problem, cols)
    return cols


@checked
def col2im(cols: np.ndarray, problem: ConvProblem) -> np.ndarray:
    """Add every column back to where `im2col` copied it from: the adjoint of `im2col`.

    Parameters
    ----------
    cols : ndarray, (C*R*S, N*P*Q)
    problem : ConvProblem

    Returns
    -------
    ndarray, (N, H, W, C)
        A pixel that was copied five times is the sum of its five copies; what fell on padding is dropped.
        So col2im(im2col(x)) is not x, but x times the number of copies of each pixel. For all x and cols,
        sum(im2col(x) * cols) = sum(x * col2im(cols)): that is what "adjoint" means.

    Raises
    ------
    ConvError
        If cols does not fit the problem, or the system does not give so much memory.
    """
    M, _, taps = problem.gemm
    check_array("cols", cols, (problem.groups * taps, M), "(C*R*S, N*P*Q)")
    with asking_the_system():
        x = np.zeros(problem.x_shape, cols.dtype)
    add_back(cols, problem, x)
    return x


def allocate(problem: ConvProblem, threads: int = 1, dtype=None) -> dict[str, np.ndarray]:
    """Return the workspace: the matrix, zero where no tap will write."""
    M, _, taps = problem.gemm
    return {"cols": np.zeros((problem.groups * taps, M), dtype or problem.dtype)}


def fill(x: np.ndarray, problem: ConvProblem, cols: np.ndarray) -> None:
    """Copy the pixels of x into `cols`, tap by tap; cells of padding taps stay as they are."""
    for tap, (row, col), cells in _taps(problem, cols):
        cells[tap] = x[:, row, col].transpose(3, 0, 1, 2)


def add_back(cols: np.ndarray, problem: ConvProblem, x: np.ndarray) -> None:
    """Add the cells of `cols` to the pixels of x they were copied from, tap by tap."""
    for tap, (row, col), cells in _taps(problem, cols):
        x[:, row, col] += cells[tap].transpose(1, 2, 3, 0)


def _taps(problem, cols):
    """Yield for each tap: its cells in the matrix, the pixels they come from, the matrix as (C,R,S,N,P,Q)."""
    N, P, Q, _ = problem.y_shape
    cells = cols.reshape(problem.C, problem.R, problem.S, N, P, Q)
    for r in range(problem.R):
        for s in range(problem.S):
            (p, q), pixels = problem.inside(r, s)
            yield (slice(None), r, s, slice(None), p, q), pixels, cells


def channels_first(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    """Return w with each filter's numbers in the order (c, r, s), (G, K/G, C/G*R*S)."""
    _, filters, taps = problem.gemm
    return w.transpose(0, 3, 1, 2).copy().reshape(problem.groups, filters, taps)


pack = channels_first


def run(problem, x, w, workspace, y, threads):
    """Fill y (N, P, Q, K) with the convolution of x (N, H, W, C) and w, channels first."""
    cols = workspace["cols"]
    fill(x, problem, cols)
    M, filters, taps = problem.gemm
    b = cols.reshape(problem.groups, taps, M)  # (G, C*R*S/G, M)
    np.matmul(w, b, out=y.reshape(M, problem.groups, filters).transpose(1, 2, 0))
