"""A tile of the result as a small network of its own, which is prepared and run like any other.

What a tile needs of each array is an array of its own there. Where windows look over the edge of the picture
they see padding, as they do in the whole; where they look over an edge that the cut has made they find what
the border has brought. So the same kernels add the same numbers in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from convlab.distributed.layers import Layers, Weights
from convlab.distributed.regions import Region, Tile
from convlab.distributed.span import windows
from convlab.networks.graph import Node


@dataclass(frozen=True, repr=False)
class Piece:
    """A network that computes a tile; an `Executor` runs it.

    Attributes
    ----------
    title : str
    nodes : tuple of Node
        Those of op "input" are the parts of the arrays that it reads.
    weights : dict of str to (ndarray, ndarray)
        Those of the whole network.
    """

    title: str
    nodes: tuple[Node, ...]
    weights: Weights

    @property
    def layers(self) -> tuple[Node, ...]:
        """The convolutions among the nodes."""
        return tuple(node for node in self.nodes if node.op == "conv")


def piece(layers: Layers, tile: Tile) -> Piece:
    """Return the network that computes a tile of what some layers make."""
    nodes = cut(layers.nodes, tile.needs)
    result = layers.nodes[-1].name
    if tile.needs[result] != tile.output:
        nodes.append(crop(nodes[-1], tile.needs[result], tile.output, f"{result}, cut"))
    return Piece(f"a tile of {layers.title}", tuple(nodes), layers.weights)


def cut(nodes: Sequence[Node], needs: Mapping[str, Region]) -> list[Node]:
    """Return the nodes that compute some regions of their arrays."""
    whole = {node.name: node for node in nodes}
    made: dict[str, Node] = {}
    for node in nodes:
        if node.name not in needs:
            continue
        region = needs[node.name]
        small = replace(node, shape=_shape(node, region))
        for name in node.inputs:
            down, across = windows(node, whole[name].shape)
            read = Region(down.read(region.rows), across.read(region.columns))
            if read != needs[name]:  # another node needs more of it
                part = crop(made[name], needs[name], read, f"{name} for {node.name}")
                made[part.name] = part
                small = replace(
                    small, inputs=tuple(part.name if one == name else one for one in small.inputs)
                )
            around = down.padding(region.rows), across.padding(region.columns)
            if node.op == "conv":
                H, W = read.rows.size, read.columns.size
                small = replace(small, problem=replace(node.convolution, H=H, W=W, padding=around))
            elif node.op == "max_pool":
                small = replace(small, corner=(around[0][0], around[1][0]))
        made[node.name] = small
    return list(made.values())


def crop(node: Node, held: Region, wanted: Region, name: str) -> Node:
    """Return the node that takes a region out of an array that holds a larger one."""
    _, rows, columns = wanted.within(held)
    shape, corner = _shape(node, wanted), (rows.start, columns.start)
    return Node(name, "crop", (node.name,), shape, node.dtype, corner=corner)


def _shape(node: Node, region: Region) -> tuple[int, int, int, int]:
    return node.shape[0], region.rows.size, region.columns.size, node.shape[3]
