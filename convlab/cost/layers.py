"""What layers cost whatever the algorithm: multiply-adds, weights, and every array moved once."""

from __future__ import annotations

from dataclasses import dataclass

from convlab.problem import ConvProblem
from convlab.support.checked import checked


@dataclass(frozen=True)
class LayerCost:
    """What some layers cost together, every array moved once."""

    flops: int
    weights: int
    bytes: int

    @property
    def intensity(self) -> float:
        """FLOPs for each byte."""
        return self.flops / self.bytes


@checked
def cost_of(*layers: ConvProblem) -> LayerCost:
    """Return the FLOPs, weights and bytes of some layers together.

    Parameters
    ----------
    layers : ConvProblem
        Run one after the other: what lies between two of them is written once and read once.
    """
    return LayerCost(
        sum(layer.flops for layer in layers),
        sum(layer.w_bytes // layer.itemsize for layer in layers),
        sum(layer.x_bytes + layer.w_bytes + layer.y_bytes for layer in layers),
    )
