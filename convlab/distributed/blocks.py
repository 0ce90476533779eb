"""A picture that lies in blocks: where those of the result are cut, and what each needs of the others.

A block of the result belongs with the block of the picture in which its windows have their centres. So most
of what it reads is there already, and only borders come from elsewhere. Nothing has to divide anything, and
a border may be thicker than a block: then it comes from several.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise, product
from typing import NamedTuple

from convlab.distributed.regions import Region
from convlab.distributed.span import Span, Windows, windows
from convlab.networks.graph import Node
from convlab.support.integers import ceil_div

Sizes = tuple[int, ...]


class Part(NamedTuple):
    """What a block of the result reads of one block of the picture.

    Attributes
    ----------
    block : tuple of int
        Which one: down, and across.
    inside : Region
        Which part of it, counted from its own corner.
    place : Region
        Where that goes in the region that is read.
    """

    block: tuple[int, int]
    inside: Region
    place: Region

    def alone(self) -> Part:
        """Return the same of a block from which all else was cut off."""
        rows, columns = self.inside
        return self._replace(inside=Region(Span(0, rows.size), Span(0, columns.size)))


def cuts(sizes: Sizes) -> list[int]:
    """Return where blocks of some sizes begin, and where the last one ends."""
    return [0, *accumulate(sizes)]


def result_sizes(nodes: Sequence[Node], rows: Sizes, columns: Sizes) -> tuple[Sizes, Sizes]:
    """Return the sizes of the result's blocks, from those of the picture's: down, and across.

    A block of the picture in which no window has its centre has none.
    """
    shapes = {node.name: node.shape for node in nodes}
    found = {nodes[0].name: (cuts(rows), cuts(columns))}
    for node in nodes[1:]:
        before = node.inputs[0]
        both = zip(found[before], windows(node, shapes[before]), strict=True)
        down, across = (_cuts_behind(edges, axis) for edges, axis in both)
        found[node.name] = down, across
    down, across = found[nodes[-1].name]
    return _sizes(down), _sizes(across)


def _cuts_behind(edges: Sequence[int], axis: Windows) -> list[int]:
    """Return the cuts in the output of a layer: each window goes where its centre lies."""
    centre = axis.extent // 2 - axis.corner  # of the first window
    inner = (min(max(ceil_div(edge - centre, axis.stride), 0), axis.out) for edge in edges[1:-1])
    return sorted({0, axis.out, *inner})


def _sizes(edges: Sequence[int]) -> Sizes:
    return tuple(stop - start for start, stop in pairwise(edges))


def regions(down: Sizes, across: Sizes) -> Iterator[tuple[tuple[int, int], Region]]:
    """Yield each block of some sizes: which one it is, and its region."""
    rows, columns = ([Span(*ends) for ends in pairwise(cuts(sizes))] for sizes in (down, across))
    for (i, one), (j, other) in product(enumerate(rows), enumerate(columns)):
        yield (i, j), Region(one, other)


def parts(region: Region, rows: Sequence[int], columns: Sequence[int]) -> list[Part]:
    """Return what a region of the picture takes of each block, if it is cut at `rows` and `columns`."""
    both = product(_along(region.rows, rows), _along(region.columns, columns))
    return [
        Part((i, j), Region(inside_rows, inside_columns), Region(place_rows, place_columns))
        for (i, inside_rows, place_rows), (j, inside_columns, place_columns) in both
    ]


def _along(span: Span, edges: Sequence[int]) -> list[tuple[int, Span, Span]]:
    """Return the blocks that a span meets along an axis: number, rows inside of it, and where they go."""
    found = []
    for number in range(bisect_right(edges, span.start) - 1, bisect_left(edges, span.stop)):
        start, stop = max(span.start, edges[number]), min(span.stop, edges[number + 1])
        inside = Span(start - edges[number], stop - edges[number])
        found.append((number, inside, Span(start - span.start, stop - span.start)))
    return found
