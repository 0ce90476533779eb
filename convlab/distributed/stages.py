"""A network cut into stages: each looks through the windows of one layer, and can be run by itself.

Borders arise where windows are: at convolutions and pools. What computes each pixel from one pixel, ReLU or
a sum, goes with the layer before it. Between two stages lies an array: on the disk, on another machine, or as
far as it is needed in a buffer of a few rows.
"""

from __future__ import annotations

from convlab.distributed.layers import Layers
from convlab.networks.graph import Node

WINDOWED = ("conv", "max_pool")


def stages(layers: Layers) -> list[Layers]:
    """Return the stages of some layers, in order.

    The last node of each makes the array that it hands on; its nodes of op "input" are what it reads, by the
    names of the stages' last nodes, or of the picture.
    """
    made = {node.name: node for node in layers.nodes}
    return [_alone(group, made, layers) for group in _groups(layers.nodes)]


def _groups(nodes: tuple[Node, ...]) -> list[list[Node]]:
    readers = {node.name: [one for one in nodes if node.name in one.inputs] for node in nodes}
    groups: list[list[Node]] = [[]]
    for node in nodes:
        if node.op == "input":
            continue
        group = groups[-1]
        windowed = node.op in WINDOWED and any(one.op in WINDOWED for one in group)
        # What lies inside of a stage is read by nobody but the node after it.
        if group and (windowed or readers[group[-1].name] != [node]):
            groups.append([])
        groups[-1].append(node)
    return groups


def _alone(group: list[Node], made: dict[str, Node], layers: Layers) -> Layers:
    inside = {node.name for node in group}
    outside = dict.fromkeys(name for node in group for name in node.inputs if name not in inside)
    inputs = [Node(name, "input", (), made[name].shape, made[name].dtype) for name in outside]
    weights = {node.name: layers.weights[node.name] for node in group if node.name in layers.weights}
    return Layers((*inputs, *group), weights, group[-1].name)


def inputs(step: Layers) -> tuple[Node, ...]:
    """Return the arrays that a stage reads."""
    return tuple(node for node in step.nodes if node.op == "input")
