"""The ladders of GPU kernels, and the layer that each is compared on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module

from convlab.algorithms import Algorithm
from convlab.benchmark import layers
from convlab.benchmark.layers import Workload
from convlab.problem import ConvProblem

IMAGES = 32  # of a layer; what many images take says more of a GPU than what one does


@dataclass(frozen=True)
class Ladder:
    """A table of rungs, the algorithm they belong to, and the layer they are compared on.

    Attributes
    ----------
    name : str
    module : str
        Of `convlab.algorithms`; its `RUNGS` is the table.
    algorithm : str
    workload : Workload
    """

    name: str
    module: str
    algorithm: str
    workload: Workload

    def rungs(self) -> dict[str, Algorithm]:
        """Return each rung as an algorithm, by a name that tells the ladder and the number."""
        table = import_module(f"convlab.algorithms.{self.module}").RUNGS
        return {
            f"{self.name} {number}: {rung.name}": rung.algorithm(self.algorithm)
            for number, rung in enumerate(table, 1)
        }


def image() -> Workload:
    """Return the large picture of one channel with one filter of 7x7."""
    return Workload("image", "4000x4000", ConvProblem(1, 4000, 4000, 1, 1, 7, 7, padding=3))


def ladders() -> list[Ladder]:
    """Return all ladders."""
    by_name = {one.name: one for one in layers.convolutions()}
    dense = in_batches(by_name["resnet18 layer1.0.conv1"], IMAGES)
    separate = in_batches(layers.depthwise()[0], IMAGES)
    return [
        Ladder("filter", "direct.gpu_filter", "direct", image()),
        Ladder("direct", "direct.gpu", "direct", dense),
        Ladder("im2row", "im2row.gpu", "im2row", dense),
        Ladder("implicit GEMM", "implicit_gemm.gpu", "implicit_gemm", dense),
        Ladder("depthwise", "depthwise.gpu", "depthwise", separate),
    ]


def in_batches(workload: Workload, images: int) -> Workload:
    """Return the layer with another number of images."""
    return replace(workload, problem=replace(workload.problem, N=images))
