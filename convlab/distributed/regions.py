"""Which part of every array a tile of the result needs, through a whole network.

The way goes from the last layer to the first. A tile of the result reads a part of the array before it; to
compute that part, a larger part of the array before that one is read, and so on to the picture. Layer upon
layer the border grows: by extent − 1 rows a layer, each as thick as all strides before it.

Where a network branches, both branches need something of the array in which they begin, and the shorter one
less of it. That array is computed as far as either wants it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from convlab.distributed.span import Span, windows
from convlab.errors import ParameterError
from convlab.networks.graph import Node
from convlab.support.checked import Count, Filled, checked


class Region(NamedTuple):
    """Some rows and columns of an array (N, H, W, C); all pictures and channels of it."""

    rows: Span
    columns: Span

    @property
    def pixels(self) -> int:
        """How many there are, in one picture."""
        return self.rows.size * self.columns.size

    def hull(self, other: Region) -> Region:
        """Return the smallest region that holds both."""
        return Region(self.rows.hull(other.rows), self.columns.hull(other.columns))

    def within(self, outer: Region) -> tuple[slice, slice, slice]:
        """Return where it lies in an array that holds the region `outer`."""
        return slice(None), self.rows.within(outer.rows), self.columns.within(outer.columns)


class Tile(NamedTuple):
    """A part of the result.

    Attributes
    ----------
    output : Region
        Which part it is.
    needs : dict of str to Region
        Which part of every array it takes, by the name of the node; of those that it takes nothing of there
        is none. That of the result is `output`, or a little more where that looks at padding alone.
    """

    output: Region
    needs: dict[str, Region]


@checked
def needs(nodes: Filled[Sequence[Node]], output: Region) -> dict[str, Region]:
    """Return the region of every array that a region of the last one takes.

    Parameters
    ----------
    nodes : sequence of Node
        A network, in the order in which it runs.
    output : Region
        Of the array that the last node makes.

    Raises
    ------
    ConvError
        If that array has no such region.
    """
    shapes = {node.name: node.shape for node in nodes}
    for name, span, size in zip(("rows", "columns"), output, nodes[-1].shape[1:3], strict=True):
        if not 0 <= span[0] < span[1] <= size:
            raise ParameterError(
                f"{name} {span[0]} to {span[1]} of {nodes[-1].name}; expected some of its {size} {name}"
            )
    found = {nodes[-1].name: output}
    for node in reversed(nodes):
        if node.name not in found:
            continue
        for name in node.inputs:
            down, across = windows(node, shapes[name])
            region = found[node.name]
            region = Region(down.widened(region.rows), across.widened(region.columns))
            found[node.name] = region
            read = Region(down.read(region.rows), across.read(region.columns))
            found[name] = found[name].hull(read) if name in found else read
    return found


def tile_of(nodes: Sequence[Node], output: Region) -> Tile:
    """Return a region of the result as a tile, with what it needs."""
    return Tile(output, needs(nodes, output))


@checked
def tiles(nodes: Filled[Sequence[Node]], height: Count, width: Count | None = None) -> Iterator[Tile]:
    """Cut the result of a network into tiles, and return for each which part of every array it needs.

    Parameters
    ----------
    nodes : sequence of Node
        Of a network: `Layers.nodes`, `Model.nodes`, or those of one convolution.
    height, width : int
        Rows and columns of a tile of the result; the last ones may be smaller. Without a width the tiles are
        strips, as wide as the result.

    Yields
    ------
    Tile
        Row by row, from the left to the right.

    Examples
    --------
    >>> from convlab.networks import load_model
    >>> nodes = load_model("resnet18").nodes[:-1]          # but for the mean over the whole picture
    >>> tile = next(tiles(nodes, 1))
    >>> tile.needs["photo"].rows                           # one row of seven, of 224 of the photo
    Span(start=0, stop=218)
    """
    _, P, Q, _ = nodes[-1].shape
    width = width or Q
    for top in range(0, P, height):
        for left in range(0, Q, width):
            rows = Span(top, min(top + height, P))
            output = Region(rows, Span(left, min(left + width, Q)))
            yield tile_of(nodes, output)
