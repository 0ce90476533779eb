"""fft_tiled: the same product for each frequency, of small tiles instead of whole pictures.

    a tile of rows x cols input pixels  ->  (rows-R+1) x (cols-S+1) outputs; the next tile begins there

The windows of a tile's last R-1 rows and S-1 columns stick out and wrap around. These outputs are wrong and
are thrown away, and neighbouring tiles overlap by as much: signal processing knows that as overlap-save.

Why smaller? A spectrum of weights has as many numbers as the transform, for each pair of a filter and a
channel. With a whole picture it is huge, and serves each picture of the batch once. With tiles it is small,
however large the picture is, and serves all tiles. What is thrown away is the price: a tile must be a good
deal larger than the filter. Tiles here have at most 32 rows and columns, or about twice the filter's where
that is more. All have one size that shares the picture evenly: two tiles of 30 rows, rather than one of 32
and a small rest. cuDNN's FFT_TILING takes 32 x 32 too.

What is rounded stays in its tile as well: the error is that of `fft`, with the mean square of the tile
instead of the picture's. A huge pixel costs its own tiles their digits, and no others.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convlab.algorithms.fft import multiply, pack, refuses
from convlab.algorithms.fft.costs import costs, gpu_form_of
from convlab.algorithms.fft.cpu import CPU_BUFFERS, allocate_cpu, multiply_cpu, pack_cpu, panel_bytes
from convlab.algorithms.fft.transforms import (
    BUFFERS,
    allocate,
    as_real,
    backward,
    chunks,
    forward,
    growth,
    rounding,
)
from convlab.algorithms.spec import Algorithm, Form, Mixing
from convlab.cost.formula import fast_size
from convlab.problem import ConvProblem

TILE = 32  # rows and columns, if the filter has less than half of that


def tile_size(problem: ConvProblem) -> tuple[int, int]:
    """Return rows and columns of a tile; the columns are even."""
    rows, cols = (
        -(-out // -(-out // max(TILE - taps + 1, taps + 1))) + taps - 1  # an even share of the outputs
        for out, taps in ((problem.P, problem.R), (problem.Q, problem.S))
    )
    return fast_size(rows), 2 * fast_size(-(-cols // 2))


def good_outputs(problem: ConvProblem, size: tuple[int, int]) -> tuple[int, int]:
    """Return rows and columns of a tile's outputs that do not wrap around."""
    return size[0] - problem.R + 1, size[1] - problem.S + 1


def tiles(problem: ConvProblem, size: tuple[int, int]) -> list[tuple[int, int, int]]:
    """Return where every tile's outputs begin, as (n, p, q)."""
    step = good_outputs(problem, size)
    return [
        (n, p, q)
        for n in range(problem.N)
        for p in range(0, problem.P, step[0])
        for q in range(0, problem.Q, step[1])
    ]


def _cut(problem: ConvProblem, x: np.ndarray, corners, pictures: np.ndarray) -> None:
    """Copy the tiles at some corners from x into pictures (B, rows, cols, C), zero outside of x."""
    (top, _), (left, _) = problem.padding
    for picture, (n, p, q) in zip(pictures, corners, strict=True):
        picture[...] = 0
        rows, into_rows = _overlap(p - top, picture.shape[0], problem.H)
        cols, into_cols = _overlap(q - left, picture.shape[1], problem.W)
        picture[into_rows, into_cols] = x[n, rows, cols]


def _overlap(first: int, count: int, size: int) -> tuple[slice, slice]:
    """Return which of `count` pixels from `first` on lie in a picture of `size`: there, and counted here."""
    low, high = max(first, 0), max(min(first + count, size), 0)
    low = min(low, high)
    return slice(low, high), slice(low - first, high - first)


def _corners(problem: ConvProblem, size) -> Iterator[list[tuple[int, int, int]]]:
    places = tiles(problem, size)
    return (places[chunk] for chunk in chunks(len(places)))


def _run_with(multiply):
    """Return a form's `run`: cut, there, multiply, back, put together."""

    def run(problem, x, packed, workspace, y, threads):
        size, buffers = tile_size(problem), (workspace["here"], workspace["there"])
        good = good_outputs(problem, size)
        for corners in _corners(problem, size):
            pictures = as_real(buffers[1], (len(corners), *size, problem.C))
            _cut(problem, x, corners, pictures)
            products = multiply(problem, forward(pictures, size, buffers), packed, workspace, threads)
            for part, (n, p, q) in zip(backward(products, good[0], size, buffers), corners, strict=True):
                out = y[n, p : p + good[0], q : q + good[1]]  # less at the lower and the right edge
                out[...] = part[: out.shape[0], : out.shape[1]]

    return run


def _count(problem: ConvProblem) -> int:
    step = good_outputs(problem, tile_size(problem))
    return problem.N * -(-problem.P // step[0]) * -(-problem.Q // step[1])


# -- what it costs -----------------------------------------------------------------------------------------

_PARTS = {
    "down": f"ceil(P/max({TILE + 1}-R, R+1))",  # so many shares of the outputs, from top to bottom
    "rows": "fast(ceil(P/down)+R-1)",
    "across": f"ceil(Q/max({TILE + 1}-S, S+1))",
    "half": "fast((ceil(Q/across)+S-1)/2)",
    "tiles": "N*ceil(P/(rows-R+1))*ceil(Q/(2*half-S+1))",
}


def _mixing(problem: ConvProblem) -> Mixing:
    size = tile_size(problem)
    return Mixing(size, good_outputs(problem, size), growth(problem, size))


COSTS = costs("tiles", _PARTS, h="rows", p="(rows-R+1)")

ALGORITHM = Algorithm(
    name="fft_tiled",
    summary="Transform overlapping tiles of 32 x 32; then one product for each frequency.",
    source="Mathieu, Henaff & LeCun 2013, arXiv:1312.5851; tiles as cuDNN's FFT_TILING",
    refuses=refuses,
    flops=COSTS["flops"],
    rounding=rounding(TILE, TILE),
    ieee=False,
    mixing=_mixing,
    forms={
        "numpy": Form(
            run=_run_with(multiply),
            bytes_moved=COSTS["bytes_moved"],
            workspace_bytes=COSTS["numpy"],
            packed_bytes=COSTS["packed"],
            pack=lambda problem, w: pack(problem, w, tile_size(problem)),
            allocate=lambda problem, threads: allocate(problem, _count(problem), tile_size(problem)),
            scratch=BUFFERS,
            packs_for=tile_size,
        ),
        "cpu": Form(
            run=_run_with(multiply_cpu),
            bytes_moved=COSTS["bytes_moved"],
            workspace_bytes=COSTS["cpu"],
            packed_bytes=lambda problem: panel_bytes(problem, tile_size(problem)),
            pack=lambda problem, w: pack_cpu(problem, w, tile_size(problem)),
            allocate=lambda problem, threads: allocate_cpu(
                problem, threads, _count(problem), tile_size(problem)
            ),
            scratch=CPU_BUFFERS,
            packs_for=tile_size,
            passes=lambda: COSTS["passes"],
            once=lambda: COSTS["once"],
        ),
        "gpu": gpu_form_of("tiles", COSTS, tile_size),
    },
)
