"""im2col: the same matrix lying the other way, one column for each output pixel.

    cols[(c, r, s), m] = the pixel of channel c that tap (r, s) of output pixel m reads, or 0 on padding
    y[m, k]            = sum over (c, r, s) of w[k, (c, r, s)] * cols[(c, r, s), m]

This is the form for NCHW pictures: there row (c, r, s) of the matrix is channel c of the picture, shifted by
the tap, and long runs of it can be copied at once. From NHWC, convlab's layout, every number of a row lies C
apart: the same work, less kind to memory. `col2im` takes the way back, and adds where windows overlap.

Made popular by Caffe: Jia et al. 2014, arXiv:1408.5093; Chellapilla, Puri & Simard 2006, section 2.1.
"""

from __future__ import annotations

import numpy as np

from convlab.algorithms.binding import gpu_form
from convlab.algorithms.direct import loop_arguments
from convlab.algorithms.im2row import MATRIX, TRAFFIC, panel_bytes
from convlab.algorithms.spec import Algorithm, Form, Formula
from convlab.cost.phases import LINE, Pass, packing, product, stream
from convlab.cpu.jit import njit
from convlab.problem import ConvProblem
from convlab.support.checked import checked
from convlab.support.checks import check_array


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

    Notes
    -----
    The matrix holds R*S*P*Q / (H*W) times as many numbers as x. `convlab.conv2d` refuses it when it
    would not fit in memory; this function does not.
    """
    check_array("x", x, problem.x_shape, "(N, H, W, C)")
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
    """
    M, _, taps = problem.gemm
    check_array("cols", cols, (problem.groups * taps, M), "(C*R*S, N*P*Q)")
    x = np.zeros(problem.x_shape, cols.dtype)
    for tap, (row, col), cells in _taps(problem, cols):
        x[:, row, col] += cells[tap].transpose(1, 2, 3, 0)
    return x


def allocate(problem: ConvProblem, threads: int = 1, dtype=None) -> dict[str, np.ndarray]:
    """Return the workspace: the matrix, zero where no tap will write."""
    M, _, taps = problem.gemm
    return {"cols": np.zeros((problem.groups * taps, M), dtype or problem.dtype)}


def fill(x: np.ndarray, problem: ConvProblem, cols: np.ndarray) -> None:
    """Copy the pixels of x into `cols`, tap by tap; cells of padding taps stay as they are."""
    for tap, (row, col), cells in _taps(problem, cols):
        cells[tap] = x[:, row, col].transpose(3, 0, 1, 2)


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


def _run_numpy(problem, x, w, workspace, y, threads):
    cols = workspace["cols"]
    fill(x, problem, cols)
    M, filters, taps = problem.gemm
    b = cols.reshape(problem.groups, taps, M)  # (G, C*R*S/G, M)
    np.matmul(w, b, out=y.reshape(M, problem.groups, filters).transpose(1, 2, 0))


# -- the fast form -----------------------------------------------------------------------------------------


@njit
def _fill(x, cols, P, Q, taps, stride, corner, dilation):
    """Write the matrix one output line at a time: the few input lines it needs stay in the cache."""
    N, H, W, C = x.shape
    R, S = taps
    for n in range(N):
        for p in range(P):
            m = (n * P + p) * Q
            for r in range(R):
                row = p * stride[0] + r * dilation[0] - corner[0]
                for s in range(S):
                    shift = s * dilation[1] - corner[1]
                    first, last = 0, 0  # the output pixels whose tap hits the picture
                    if 0 <= row < H:
                        first = min(max(0, -(shift // stride[1])), Q)
                        last = max(first, min(Q, (W - 1 - shift) // stride[1] + 1))
                    for c in range(C):
                        target = cols[(c * R + r) * S + s, m : m + Q]
                        target[:first] = 0
                        inside = target[first:last]
                        for q in range(last - first):
                            inside[q] = x[n, row, (first + q) * stride[1] + shift, c]
                        target[last:] = 0


def _pack(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    from convlab.cpu.gemm import pack

    return pack(channels_first(problem, w))


def _run_cpu(problem, x, panels, workspace, y, threads):
    from convlab.cpu.gemm import gemm

    cols = workspace["cols"]
    _fill(x, cols, problem.P, problem.Q, (problem.R, problem.S), *loop_arguments(problem)[:3])
    M, filters, taps = problem.gemm
    for g in range(problem.groups):
        a, out = cols.reshape(-1)[g * taps * M :], y.reshape(-1)[g * filters :]
        gemm(a, 1, M, panels[g], out, problem.K, M, filters, taps, threads)


def _passes() -> tuple[Pass, ...]:
    cells = {"number": Formula("N*P*Q*R*S*C")}  # one by one: neighbours in a line of x lie C numbers apart
    filling = Pass("fill the matrix", streams=(stream(MATRIX.text),), begins=cells, shared=False)
    # A row of tiles reads MR numbers of each line of the matrix, and so the cache lines that hold them.
    return filling, product(a=stream(f"{MATRIX.text} * ceil(K/G/(2*VL))", f"R*S*C/G * {LINE}*2"))


ALGORITHM = Algorithm(
    name="im2col",
    summary="The same matrix lying the other way: one column for each output pixel, for NCHW.",
    source="Jia et al. 2014 (Caffe), arXiv:1408.5093; Chellapilla, Puri & Simard 2006, section 2.1",
    forms={
        "numpy": Form(
            run=_run_numpy,
            bytes_moved=TRAFFIC,
            workspace_bytes=MATRIX,
            pack=channels_first,
            allocate=allocate,
        ),
        "cpu": Form(
            run=_run_cpu,
            bytes_moved=TRAFFIC,
            workspace_bytes=MATRIX,
            packed_bytes=panel_bytes,
            pack=_pack,
            allocate=allocate,
            scratch=("cols",),
            passes=_passes,
            once=lambda: (packing(), packing()),  # channels first, then panels
        ),
        "gpu": gpu_form(
            "im2col",
            parts=("pack", "packed_bytes", "allocate"),
            bytes_moved=TRAFFIC,
            workspace_bytes=MATRIX,
        ),
    },
)
