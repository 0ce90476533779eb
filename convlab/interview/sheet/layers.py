"""The layers that the sheet works out: an ordinary one, a first, a late one, and a depthwise one."""

from __future__ import annotations

from typing import NamedTuple

from convlab.networks import load
from convlab.problem import ConvProblem


class Named(NamedTuple):
    """A layer of a network, and what the sheet calls it."""

    name: str
    problem: ConvProblem


def _named(network: str, layer: str) -> Named:
    return Named(f"{layer} of {load(network).title}", load(network)[layer].problem)


def usual() -> Named:
    """Return the layer of the course: 3 x 3 taps on 56 x 56 pixels."""
    return _named("resnet18", "layer1.0.conv1")


def first() -> Named:
    """Return a network's first layer: few channels, 7 x 7 taps, stride 2."""
    return _named("resnet18", "conv1")


def small() -> Named:
    """Return a layer late in a network: few pixels, many channels."""
    return _named("resnet18", "layer4.1.conv2")


def depthwise() -> Named:
    """Return a layer in which each filter reads one channel."""
    return _named("mobilenet_v1", "conv_dw_3")


def shape_text(p: ConvProblem) -> str:
    """Return the sizes of a layer: "56 × 56, C = 64, K = 64, 3 × 3, stride 1"."""
    groups = f", {p.groups} groups" if p.groups > 1 else ""
    return f"{p.H} × {p.W}, C = {p.C}, K = {p.K}, {p.R} × {p.S}, stride {p.stride[0]}{groups}"
