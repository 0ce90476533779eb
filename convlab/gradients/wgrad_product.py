"""wgrad as a product of matrices: a long sum, N*P*Q terms, and a small output.

    dw[k, (r, s, c)] = sum over m of dy[m, k] * rows[m, (r, s, c)]      m: output pixels, of all pictures

`rows` is im2row's matrix. `im2row` makes all of it. `parts` makes so many rows at a time, multiplies, adds
that to dw and forgets them: its workspace is the same for every layer. The parts do not depend on the number
of threads, and are added in one order: threads share the columns of dw, never the sum. So the answer is the
same to the last bit, from run to run and for any number of threads. (Who has many more threads than dw has
tiles, as a GPU, must cut the sum as well, and then add the pieces in a fixed order.)

An indirection buffer could do little here. Forwards, and for the gradient of the input, the sum runs over the
channels of a pixel: an address is looked up once for C/G * 2*VL multiply-adds of a row of the tile. Here it
runs over the pixels: every step of a tile is another pixel and would look up another address, one for
MR * 2*VL multiply-adds, as often as data are read. All it could save is the copy, and that is made once for
all filters: a number is copied for K/G multiply-adds. So the larger the layer, the less there is to save.

Chetlur et al. 2014 (cuDNN), arXiv:1410.0759, section 3; CUTLASS, wgrad and split-K.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from convlab.algorithms.binding import late
from convlab.algorithms.im2row import reference as im2row
from convlab.cost.common import MATRIX, ONCE, ONCE_A_TAP, THROUGH_A_MATRIX
from convlab.cost.formula import Formula
from convlab.cost.phases import IN_CACHE, Phase, Stream, fill_phase, stream
from convlab.gradients.spec import Form, Gradient, Shapes, Work
from convlab.gradients.wgrad_blocks import COLUMNS, ROWS, cuts, row_step, tile_of
from convlab.problem import ConvProblem

# -- NumPy -------------------------------------------------------------------------------------------------


def shapes(problem: ConvProblem, threads: int) -> Shapes:
    """Return the shape of the matrix (N*P*Q, R*S*C)."""
    M, _, taps = problem.gemm
    return {"matrix": (M, problem.groups * taps)}


def run(problem, given, packed, workspace, dw, threads):
    """Fill dw (K, R, S, C/groups) with the gradient of the weights."""
    (x, dy), rows = given, workspace["matrix"]
    rows[...] = 0
    im2row.fill(x, problem, rows)
    _multiply(problem, rows, dy, dw)


def _lines(problem: ConvProblem) -> int:
    """Return the lines of dy in a part: so many of one picture as have about `ROWS` pixels."""
    return min(problem.P, max(1, ROWS // problem.Q))


def shapes_of_parts(problem: ConvProblem, threads: int) -> Shapes:
    """Return the shapes of a part of the matrix, and of its product."""
    _, _, taps = problem.gemm
    return {"rows": (_lines(problem) * problem.Q, problem.groups * taps), "product": problem.w_shape}


def run_parts(problem, given, packed, workspace, dw, threads):
    """Fill dw likewise, some lines of a picture at a time."""
    dw[...] = 0
    for image, gradient in zip(*given, strict=True):
        for p in range(0, problem.P, _lines(problem)):
            lines = gradient[p : p + _lines(problem)]
            rows = workspace["rows"][: len(lines) * problem.Q]
            rows[...] = 0
            im2row.fill(image[None], problem, rows, p)
            _multiply(problem, rows, lines, workspace["product"])
            dw += workspace["product"]


def _multiply(problem: ConvProblem, rows: np.ndarray, dy: np.ndarray, dw: np.ndarray) -> None:
    """Fill dw with the product of some rows of the matrix and the gradients of their pixels."""
    _, filters, taps = problem.gemm
    a = dy.reshape(len(rows), problem.groups, filters).transpose(1, 2, 0)  # (G, K/G, rows)
    b = rows.reshape(len(rows), problem.groups, taps).swapaxes(0, 1)  # (G, rows, R*S*C/G)
    np.matmul(a, b, out=dw.reshape(problem.groups, filters, taps))


# -- compiled ----------------------------------------------------------------------------------------------


def shapes_cpu(problem: ConvProblem, threads: int) -> Shapes:
    """Return the shape of the matrix, its rows a little apart."""
    M, _, taps = problem.gemm
    room = tile_of(problem).lanes  # the last tile of the last row looks so far beyond it
    return {"matrix": (M, row_step(problem, problem.groups * taps + room))}


def shapes_of_parts_cpu(problem: ConvProblem, threads: int) -> Shapes:
    """Return the shape of a part of the matrix for each thread."""
    M, _, taps = problem.gemm
    return {"rows": (len(cuts(problem, threads)), min(ROWS, M), row_step(problem, min(COLUMNS, taps)))}


def _multiplying(rows: Stream) -> Phase:
    """Return the phase of the product: a tile of dw is loaded and stored for each part of the pixels."""
    parts = {"parts": f"ceil(N*P*Q/{ROWS})", "columns": "ceil(R*S*C/G/VL)"}
    return Phase(
        "multiply",
        Formula("2 * G * tiled(K/G) * columns*VL * N*P*Q", parts),
        (
            rows,
            stream("N*P*Q*K * ceil(columns/2) * b", f"min(N*P*Q, {ROWS})*K * b", parts),
            stream("2 * parts * K*R*S*C/G * b", "K*R*S*C/G * b", parts),
        ),
        {"tile": Formula("G * ceil(K/G/MR) * ceil(columns/2) * parts", parts)},
    )


def phases(problem: ConvProblem, threads: int) -> list[Work]:
    """Return what a run consists of, with the whole matrix."""
    return [((fill_phase(MATRIX.text), _multiplying(stream(MATRIX.text))), problem)]


def phases_of_parts(problem: ConvProblem, threads: int) -> list[Work]:
    """Return the same with parts of it, each made just before by the thread that multiplies it."""
    made = fill_phase(MATRIX.text, f"min({ROWS}, N*P*Q) * min({COLUMNS}, R*S*C/G) * b")
    return [((replace(made, shared=True), _multiplying(IN_CACHE)), problem)]


_CPU, _GPU = f"{__name__}_cpu", f"{__name__}_gpu"

IM2ROW = Gradient(
    name="im2row",
    summary="im2row's whole matrix, and one product whose sums run over all output pixels.",
    source="Chellapilla, Puri & Simard 2006; Chetlur et al. 2014, arXiv:1410.0759",
    forms={
        "numpy": Form(run, shapes, THROUGH_A_MATRIX),
        "cpu": Form(late(_CPU, "run"), shapes_cpu, THROUGH_A_MATRIX, phases=phases),
    },
)
PARTS = Gradient(
    name="parts",
    summary="The same product, a part of the rows at a time, added in one fixed order.",
    source="Chetlur et al. 2014, arXiv:1410.0759, section 3; CUTLASS, wgrad",
    forms={
        "numpy": Form(run_parts, shapes_of_parts, ONCE_A_TAP),
        "cpu": Form(late(_CPU, "run_parts"), shapes_of_parts_cpu, ONCE_A_TAP, phases=phases_of_parts),
        "gpu": Form(late(_GPU, "run"), late(_GPU, "shapes"), ONCE),
    },
)
