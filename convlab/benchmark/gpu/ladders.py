"""What is measured on a GPU: every algorithm, and ladders of kernels with the layers they are compared on."""

from __future__ import annotations

from dataclasses import dataclass

from convlab.algorithms import ALGORITHMS, Algorithm
from convlab.algorithms.depthwise import gpu as depthwise
from convlab.algorithms.direct import gpu as direct
from convlab.algorithms.direct import gpu_filter
from convlab.algorithms.im2row import gpu as im2row
from convlab.algorithms.implicit_gemm import gpu as implicit_gemm
from convlab.algorithms.ladder import Rung
from convlab.algorithms.tensor_core import KINDS, tensor_core
from convlab.benchmark import layers
from convlab.benchmark.layers import Workload
from convlab.problem import ConvProblem
from convlab.support.checks import check_choice

IMAGES = 32  # of a layer; what many images take says more of a GPU than what one does


@dataclass(frozen=True)
class Ladder:
    """A table of rungs, the algorithm they belong to, and the layer they are compared on."""

    name: str
    table: tuple[Rung, ...]
    algorithm: str
    workload: Workload

    def rungs(self) -> dict[str, Algorithm]:
        """Return each rung as an algorithm, by a name that tells the ladder and the number."""
        return {
            f"{self.name} {number}: {rung.name}": rung.algorithm(self.algorithm)
            for number, rung in enumerate(self.table, 1)
        }


def on_a_gpu() -> dict[str, Algorithm]:
    """Return every algorithm that has a form for the GPU, those on tensor cores included."""
    ours = {name: one for name, one in ALGORITHMS.items() if "gpu" in one.forms}
    return ours | {one.name: one for one in map(tensor_core, KINDS)}


def image() -> Workload:
    """Return the large picture of one channel with one filter of 7x7."""
    return Workload("image", "4000x4000", ConvProblem(1, 4000, 4000, 1, 1, 7, 7, padding=3))


def ladder_named(name: str) -> Ladder:
    """Return a ladder by its name, or say which there are."""
    by_name = {ladder.name: ladder for ladder in ladders()}
    return by_name[check_choice("ladder", name, by_name)]


def ladders() -> list[Ladder]:
    """Return all ladders."""
    by_name = {one.name: one for one in layers.convolutions()}
    dense = layers.in_batches(by_name["resnet18 layer1.0.conv1"], IMAGES)
    separate = layers.in_batches(layers.depthwise()[0], IMAGES)
    return [
        Ladder("filter", gpu_filter.RUNGS, "direct", image()),
        Ladder("direct", direct.RUNGS, "direct", dense),
        Ladder("im2row", im2row.RUNGS, "im2row", dense),
        Ladder("implicit GEMM", implicit_gemm.RUNGS, "implicit_gemm", dense),
        Ladder("depthwise", depthwise.RUNGS, "depthwise", separate),
    ]
