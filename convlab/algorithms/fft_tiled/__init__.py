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

from convlab.algorithms.binding import forms
from convlab.algorithms.fft import refuses
from convlab.algorithms.fft.costs import form_costs
from convlab.algorithms.fft.tiles import TILE, good_outputs, tile_size
from convlab.algorithms.fft.transforms import growth, rounding
from convlab.algorithms.spec import Algorithm, Mixing
from convlab.problem import ConvProblem

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


FLOPS, COSTS = form_costs("tiles", _PARTS, h="rows", p="(rows-R+1)")

ALGORITHM = Algorithm(
    name="fft_tiled",
    summary="Transform overlapping tiles of 32 x 32; then one product for each frequency.",
    source="Mathieu, Henaff & LeCun 2013, arXiv:1312.5851; tiles as cuDNN's FFT_TILING",
    refuses=refuses,
    flops=FLOPS,
    rounding=rounding(TILE, TILE),
    mixing=_mixing,
    family="fourier",
    forms=forms(__name__, COSTS, functions=("pack", "allocate"), pack_key=tile_size),
)
