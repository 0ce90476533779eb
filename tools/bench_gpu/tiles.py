"""Every tile of a product by itself: is the one that the model chooses the fastest, and how far is it off?"""

from __future__ import annotations

from collections.abc import Iterable

from convlab.algorithms import Algorithm
from convlab.algorithms.implicit_gemm.gpu import rung
from convlab.algorithms.tensor_core import KINDS, tensor_core
from convlab.algorithms.tensor_core import TILES as WARP_TILES
from convlab.auto.predict_gpu import predict_on_gpu
from convlab.benchmark.gpu.model_error import speeds_of
from convlab.benchmark.layers import Workload
from convlab.benchmark.saved import Measurement, Row
from convlab.benchmark.summary import by_layer, fastest
from convlab.gpu.gemm.heuristics import TILES
from convlab.support.tables import TextTable
from convlab.support.units import time_text

PART = "tiles"  # of a run, with the kind of the product behind it
NUMBERS = *KINDS, "float32"


def tiles(numbers: str) -> dict[str, Algorithm]:
    """Return the tiles of one kind of product, as algorithms, by names that tell their sizes."""
    if numbers in KINDS:
        return {
            f"{tile.block_m}x{tile.block_n}, a warp {tile.warp_m}x{tile.warp_n}": tensor_core(numbers, tile)
            for tile in WARP_TILES
        }
    found = {}
    for tile in TILES[numbers, 4]:
        name = f"{tile.block_m}x{tile.block_n}x{tile.block_k}, a thread {tile.thread_m}x{tile.thread_n}"
        found[name] = rung(name, tile, "", "").algorithm("implicit_gemm")
    return found


def served(group: Iterable[Workload]) -> list[Workload]:
    """Return the layers that tiles are compared on: 3x3, stride 1."""
    return [one for one in group if one.problem.R == one.problem.S == 3 and one.problem.stride == (1, 1)]


def table(measurement: Measurement) -> TextTable:
    """Return for each layer the fastest tile, the one predicted to be, and how well all are predicted."""
    lines, speeds = [], speeds_of(measurement.header)
    for numbers in NUMBERS if speeds else ():
        known = tiles(numbers)
        rows = [row for row in measurement.part(f"{PART}_{numbers}") if row.candidate in known]
        for group in by_layer(rows).values():
            seconds = {
                row.candidate: sum(
                    time.seconds for time in predict_on_gpu(row.problem, known[row.candidate], speeds)
                )
                for row in group
            }
            lines.append((numbers, *_line(group, seconds)))
    titles = "", "layer", "fastest", "time", "predicted to be", "its time", "predicted / measured, of all"
    return TextTable("Tiles", titles, lines)


def _line(group: list[Row], seconds: dict[str, float]) -> tuple[str, ...]:
    best, chosen = fastest(group), min(group, key=lambda row: seconds[row.candidate])
    ratios = [seconds[row.candidate] / row.seconds for row in group]
    return (
        f"{best.network} {best.layer}",
        best.candidate,
        time_text(best.seconds),
        chosen.candidate,
        f"{chosen.seconds / best.seconds:.2f} times that",
        f"{min(ratios):.2f} to {max(ratios):.2f}",
    )
