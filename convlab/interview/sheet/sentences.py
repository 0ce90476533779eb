"""Ten sentences that interviewers want to hear, with the numbers of the sheet's layers."""

from __future__ import annotations

from dataclasses import replace

from convlab.benchmark import datasheets
from convlab.cost.layers import cost_of
from convlab.gpu.gemm.heuristics import TILES
from convlab.gpu.gemm.tile import Tile
from convlab.interview.sheet.block import Block
from convlab.interview.sheet.choices import error_text, products_saved
from convlab.interview.sheet.layers import depthwise, small, usual
from convlab.interview.sheet.machines import ridge, short_name
from convlab.support.units import bytes_text, count_text, number_text, ratio_2


def sentences() -> Block:
    """Return the ten sentences."""
    p, late, thin = usual().problem, small().problem, depthwise().problem
    cost, halved, thinner = cost_of(p), cost_of(replace(p, dtype="float16")), cost_of(thin)
    sheet = datasheets.load("nvidia_h100")
    gpu, flat, steep = short_name(sheet), ridge(sheet), ridge(sheet, "float16")
    pixels, filters, taps = p.gemm
    wide, *_, narrow = TILES["float32", 4]
    share = 100 * min(1.0, thinner.intensity / flat)
    return Block(
        "Ten sentences that interviewers want to hear",
        lines=(
            f"“I count first: {count_text(cost.flops)}FLOP over {bytes_text(cost.bytes)} are "
            f"{number_text(cost.intensity, 3)} FLOP/B; the ridge of {gpu} in float32 is at "
            f"{number_text(flat, 2)}. In float16 on tensor cores it is "
            f"{number_text(halved.intensity, 3)} against {number_text(steep, 3)}: there the "
            f"{_limit(halved.intensity, steep)} is the limit.”",
            f"“It is a matrix product, {pixels} × {filters} × {taps} here, and nobody has to store the large "
            "matrix.”",
            f"“im2col writes each pixel up to {p.R * p.S} times and reads it back. Implicit GEMM works out "
            "addresses where it loads; indirection looks them up in a table that has no channels.”",
            f"“A tile of {wide.block_m} × {wide.block_n} sums does {_reuse(wide)} multiply-adds for each "
            f"number it fetches, one of {narrow.block_m} × {narrow.block_n} does {_reuse(narrow)}. A small "
            "output has too few tiles for all multiprocessors, so there I split the sum.”",
            "“Which memory do you mean? L2, shared memory and registers have a roof each, and each its own "
            "reuse.”",
            f"“Depthwise does {number_text(thinner.intensity, 3)} FLOP/B, so at full bandwidth {gpu} can "
            f"give {share:.0f} % of its float32 peak. I move fewer bytes: fuse it with its neighbour, or use "
            "shorter numbers.”",
            f"“Winograd wants stride 1 and {p.R} × {p.S} taps. Tiles of 4 × 4 take "
            f"{ratio_2(products_saved(4, p))} fewer products at {p.P} × {p.Q}, "
            f"{ratio_2(products_saved(4, late))} at {late.P} × {late.Q}, and err about "
            f"{error_text(4)} as much: in float16 I test that first.”",
            "“Occupancy hides waiting; it is no aim. Sums in registers get by with few warps, if each has "
            "several loads on their way.”",
            f"“The gradient of the weights has {count_text(filters * taps)} sums of N·P·Q numbers. I cut "
            "them, and fix the order in which parts are added, or two runs differ.”",
            "“I check against float64 before I time. Then I warm up, take turns, report the median and its "
            "spread, and name the roof that holds it up.”",
        ),
        numbered=True,
    )


def _limit(intensity: float, ridge: float) -> str:
    return "arithmetic" if intensity > ridge else "memory"


def _reuse(tile: Tile) -> str:
    """Return the multiply-adds of a tile for each number that it fetches."""
    return number_text(tile.block_m * tile.block_n / (tile.block_m + tile.block_n), 3)
