"""dgrad as implicit GEMM: a product with a matrix of dy that is never stored, and has no inserted zero.

    dx[m, c] = sum over j of D[m, j] * w[j, c]       D[m, j] = a number of dy, or 0: `index_maps.DgradMap`

Row m is a pixel of dx, column j a tap and a filter. In rows of one phase of the stride (`phases.py`) the same
taps meet dy, and the columns of the others are zeros throughout. So a phase is multiplied by itself, with its
taps alone; what is left of zeros falls on the border. As forwards, a block of D is gathered, multiplied, and
overwritten by the next.

CUTLASS 2.7, strided dgrad (discussion 327); Chetlur et al. 2014 (cuDNN), arXiv:1410.0759.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

import numpy as np

from convlab.algorithms import ALGORITHMS
from convlab.algorithms.binding import late
from convlab.algorithms.form import WEIGHTS
from convlab.algorithms.implicit_gemm import TILES
from convlab.algorithms.implicit_gemm.reference import BLOCKS, taken
from convlab.cost.common import ONCE, ONCE_A_TAP, PANELS
from convlab.cpu.tile_size import tile_for
from convlab.gradients.index_maps import DgradMap
from convlab.gradients.phases import clear_unreached, macs, over_parts, parts, work_of_parts
from convlab.gradients.spec import Form, Gradient, Shapes, copy_of_w, no_arrays
from convlab.problem import ConvProblem

FORWARD = ALGORITHMS["implicit_gemm"].forms["cpu"]


def pack(problem: ConvProblem, w: np.ndarray, threads: int, before=None, dy=None) -> np.ndarray:
    """Return a copy of w."""
    return w.copy()


def run(problem, given, w, workspace, dx, threads):
    """Fill dx (N, H, W, C) with the gradient of the input."""
    (dy,) = given
    block_m, block_n, block_k = BLOCKS
    index = DgradMap(problem)
    channels, filters = problem.C // problem.groups, problem.K // problem.groups
    out = dx.reshape(-1, problem.groups, channels)
    clear_unreached(problem, dx)
    for (_, rows, cols), g in product(parts(problem), range(problem.groups)):
        for n, h, v in _blocks(block_m, range(problem.N), rows.pixels, cols.pixels):
            m = (n * problem.H + h) * problem.W + v  # (block_m,)
            for c0 in range(0, channels, block_n):
                sums = 0  # (block_m, block_n)
                for r, s, k in _blocks(block_k, rows.taps, cols.taps, range(filters)):
                    j = (r * problem.S + s) * filters + k  # (block_k,)
                    d = taken(dy, index.dy_at(m[:, None], j, g))  # (block_m, block_k)
                    sums = sums + d @ w[g * filters + k, r, s, c0 : c0 + block_n]
                out[m, g, c0 : c0 + block_n] = sums


def _blocks(size: int, *axes: range) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield all combinations of what some axes run through, the last one fastest, so many at a time."""
    shape = tuple(map(len, axes))
    for first in range(0, prod(shape), size):
        at = np.unravel_index(np.arange(first, min(first + size, prod(shape))), shape)
        yield tuple(axis.start + i * axis.step for axis, i in zip(axes, at, strict=True))


def shapes_cpu(problem: ConvProblem, threads: int) -> Shapes:
    """Return the shapes of a block of the matrix for each thread, and of the places of its rows."""
    blocks = [FORWARD.workspace_bytes(part.problem, threads) // problem.itemsize for part in parts(problem)]
    places = TILES * tile_for(problem.dtype).rows * 8 // problem.itemsize  # 8 bytes each
    return {"block": (threads, max(blocks, default=0) // threads), "places": (threads, places)}


_CPU, _GPU = f"{__name__}_cpu", f"{__name__}_gpu"
MOVED = over_parts(ONCE_A_TAP)  # dy once a tap, from wherever it lies; w is read and dx is written

ALGORITHM = Gradient(
    name="implicit_gemm",
    summary="Multiply blocks of a matrix of dy that is never stored, each phase of the stride by itself.",
    source="CUTLASS 2.7, strided dgrad; Chetlur et al. 2014, arXiv:1410.0759",
    forms={
        "numpy": Form(run, no_arrays, MOVED, pack=pack, packed_bytes=WEIGHTS),
        "cpu": Form(
            late(_CPU, "run"),
            shapes_cpu,
            MOVED,
            pack=late(_CPU, "pack"),
            packed_bytes=over_parts(PANELS),
            phases=work_of_parts("implicit_gemm"),
        ),
        "gpu": Form(
            late(_GPU, "run"),
            late(_GPU, "shapes"),
            ONCE,
            pack=late(_GPU, "pack"),
            packed_bytes=late(_GPU, "packed_bytes"),
            tables=copy_of_w,
        ),
    },
    macs=macs,
)
