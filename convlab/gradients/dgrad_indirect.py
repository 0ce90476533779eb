"""dgrad through an indirection buffer: where in dy each tap of a pixel of dx finds its numbers.

    offsets[i, t, j] = where pixel j of tile i finds tap t: how far that pixel of dy is from the start of its
                       picture, or -1 if the tap falls on the border
    places[i, j]     = where that pixel lies in its picture of dx
    dx[m, c]         = sum over taps t, filters k of  (dy at offsets[m, t])[k] * w[k, t, c]

Each phase of the stride (`phases.py`) has a table of its own, with the taps alone that serve its pixels: all
tables together have about R*S/stride^2 entries for a pixel. They are worked out once, and stay when new
weights come.

Dukhan 2019, "The Indirect Convolution Algorithm", arXiv:1907.02129; XNNPACK, deconvolution
(src/operators/deconvolution-nhwc.c), which has such a buffer for subconvolutions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convlab.algorithms.binding import late
from convlab.algorithms.form import WEIGHTS
from convlab.algorithms.indirect.buffer import offsets_of
from convlab.cost.common import ONCE_A_TAP, PANELS_ACROSS_GROUPS, outside
from convlab.cost.formula import Formula
from convlab.gradients.phases import Part, clear_unreached, macs, over_parts, parts, strided, work_of_parts
from convlab.gradients.spec import Form, Gradient, no_arrays
from convlab.problem import ConvProblem
from convlab.support.checks import LARGEST

Table = tuple[np.ndarray, np.ndarray]


def refuses(problem: ConvProblem) -> str | None:
    """Say when a distance would not fit into the 4 bytes it has."""
    for name, (_, *sizes) in (("dx", problem.x_shape), ("dy", problem.y_shape)):
        size = sizes[0] * sizes[1] * sizes[2]
        if size > LARGEST:
            return f"one picture of {name} has {size} numbers, the offsets reach {LARGEST}"
    return None


def tables(problem: ConvProblem, rows: Callable[[ConvProblem], int]) -> list[Table]:
    """Return offsets (tiles, taps, rows) and places (tiles, rows) of each part, `rows` of its problem."""
    return [_table(problem, part, rows(part.problem)) for part in parts(problem)]


def _table(problem: ConvProblem, part: Part, rows: int) -> Table:
    """Return offsets and places of one part; pixels past the last one repeat it."""
    small, down, along = part
    outputs, taps = (small.P, small.Q), (small.R, small.S)
    meeting = (1, 1), (down.corner, along.corner), small.dilation
    offsets = offsets_of(problem.y_shape[1:], outputs, taps, meeting, rows)
    apart = problem.stride, (0, 0), (1, 1)  # in dx, of which each output is one pixel
    places = offsets_of(problem.x_shape[1:], outputs, (1, 1), apart, rows)[:, 0]
    first = (down.pixels.start * problem.W + along.pixels.start) * problem.C
    return offsets, places + np.int32(first)


def pack(problem: ConvProblem, w: np.ndarray, threads: int, before=None, dy=None) -> dict:
    """Return a copy of w, the tables of tiles of one pixel, and the zeros that a tap on the border reads."""
    if before is None:
        outside = np.zeros(problem.gemm[1], problem.dtype)
        before = {"tables": tables(problem, lambda small: 1), "outside": outside}
    return before | {"weights": w.copy()}


def run(problem, given, packed, workspace, dx, threads):
    """Fill dx (N, H, W, C) with the gradient of the input, pixel by pixel and tap by tap."""
    (dy,), (_, K, _), C = given, problem.gemm, problem.C // problem.groups
    clear_unreached(problem, dx)
    for (_, rows, cols), (offsets, places) in zip(parts(problem), packed["tables"], strict=True):
        taps = packed["weights"][:, strided(rows.taps), strided(cols.taps)][:, ::-1, ::-1]
        for n in range(problem.N):
            picture, out = dy[n].reshape(-1), dx[n].reshape(-1)
            for g in range(problem.groups):
                weights = taps[g * K : (g + 1) * K].reshape(K, -1, C)
                for place, of_taps in zip(places[:, 0] + g * C, offsets[:, :, 0], strict=True):
                    sums = 0
                    for t, offset in enumerate(of_taps):
                        row = packed["outside"] if offset < 0 else picture[offset + g * K :][:K]
                        sums = sums + row @ weights[:, t]
                    out[place : place + C] = sums


def table_bytes(rows: str, zeros: str = "K/G"):
    """Return the bytes of the tables, of tiles of so many rows, and of so many zeros."""
    of_part = over_parts(Formula(f"ceil(P*Q/{rows})*{rows} * (R*S + 1) * 4"))
    of_zeros = Formula(f"{zeros} * b")
    return lambda problem, threads: {
        "tables": of_part(problem, threads),
        "outside": of_zeros(problem, threads),
    }


def moved(rows: str):
    """Return the bytes that are moved: dy once a tap, w, dx, and the tables once a picture."""
    return over_parts(Formula(f"{ONCE_A_TAP.text} + N * ceil(P*Q/{rows})*{rows} * (R*S + 1) * 4"))


_CPU = f"{__name__}_cpu"

ALGORITHM = Gradient(
    name="indirect",
    summary="Leave dy in place and multiply through tables of where it lies, one for each phase.",
    source="Dukhan 2019, arXiv:1907.02129; XNNPACK, deconvolution",
    forms={
        "numpy": Form(run, no_arrays, moved("1"), pack=pack, packed_bytes=WEIGHTS, tables=table_bytes("1")),
        "cpu": Form(
            late(_CPU, "run"),
            no_arrays,
            moved("TR"),
            pack=late(_CPU, "pack"),
            packed_bytes=over_parts(PANELS_ACROSS_GROUPS),
            tables=table_bytes("TR", outside("K/G")),
            phases=work_of_parts("indirect"),
        ),
    },
    refuses=refuses,
    macs=macs,
)
