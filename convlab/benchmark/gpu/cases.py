"""The layers of `convlab bench gpu`, and the ladders of kernels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec

from convlab.algorithms.spec import Algorithm
from convlab.benchmark import layers as cases
from convlab.benchmark.layers import Case
from convlab.problem import ConvProblem

BATCHES = (32, 1)


@dataclass(frozen=True)
class Ladder:
    """A table of rungs, the algorithm they belong to, and the layer they are compared on.

    Attributes
    ----------
    name : str
    module : str
        Of ``convlab.gpu``; its `RUNGS` is the table.
    algorithm : str
    case : Case
    """

    name: str
    module: str
    algorithm: str
    case: Case

    def rungs(self) -> dict[str, Algorithm]:
        """Return each rung as an algorithm, by a name that tells the ladder and the number."""
        table = import_module(f"convlab.algorithms.{self.module}").RUNGS
        return {
            f"{self.name} {number}: {rung.name}": rung.algorithm(self.algorithm)
            for number, rung in enumerate(table, 1)
        }


def image() -> Case:
    """Return the large picture of one channel with one filter of 7x7."""
    return Case("image", "4000x4000", ConvProblem(1, 4000, 4000, 1, 1, 7, 7, padding=3))


def ladders() -> list[Ladder]:
    """Return the ladders whose kernels are here."""
    layers = {case.name: case for case in cases.convolutions() + cases.depthwise()}
    dense = in_batches(layers["resnet18 layer1.0.conv1"], BATCHES[0])
    separate = in_batches(cases.depthwise()[0], BATCHES[0])
    all_of_them = (
        Ladder("filter", "direct.gpu_filter", "direct", image()),
        Ladder("direct", "direct.gpu", "direct", dense),
        Ladder("im2row", "im2row.gpu", "im2row", dense),
        Ladder("implicit GEMM", "implicit_gemm.gpu", "implicit_gemm", dense),
        Ladder("depthwise", "depthwise.gpu", "depthwise", separate),
    )
    return [ladder for ladder in all_of_them if _has_rungs(ladder.module)]


def _has_rungs(module: str) -> bool:
    name = f"convlab.algorithms.{module}"
    return find_spec(name) is not None and hasattr(import_module(name), "RUNGS")


def in_batches(case: Case, images: int) -> Case:
    """Return the layer with another number of images."""
    return replace(case, problem=replace(case.problem, N=images))


def chosen(group: Iterable[Case], words: str) -> list[Case]:
    """Return the cases whose name or class holds `words`."""
    return cases.select(group, words)
