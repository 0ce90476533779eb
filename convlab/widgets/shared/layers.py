"""Layers as a page takes them: plain numbers by their names."""

from __future__ import annotations

from convlab import networks
from convlab.problem import ConvProblem

_SIZES = ("H", "W", "C", "K", "R", "S", "stride", "padding", "dilation", "groups")


def plain_layer(name: str, problem: ConvProblem) -> dict:
    """Return a layer's name and sizes; the page adds its batch and dtype."""
    return {"name": name} | {size: getattr(problem, size) for size in _SIZES}


def distinct_layers(network: str) -> dict[str, ConvProblem]:
    """Return the layers of a network that differ, by the first name of each."""
    names: dict[ConvProblem, str] = {}
    for layer in networks.load(network):
        names.setdefault(layer.problem, layer.name)
    return {name: problem for problem, name in names.items()}
