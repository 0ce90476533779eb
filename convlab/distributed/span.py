"""Which rows of its input a layer reads to compute some rows of its output; columns alike.

Output row p looks through a window of `extent` rows that begins at row p·stride − corner. So the rows
start..stop of the output look at (stop − start − 1)·stride + extent rows of the input: each window begins a
stride further on than the one before, and the last one is seen whole. Part of that may be padding.
"""

from __future__ import annotations

from typing import NamedTuple

from convlab.networks.graph import Node
from convlab.problem import ConvProblem
from convlab.support.checked import checked
from convlab.support.integers import ceil_div


class Span(NamedTuple):
    """Rows, or columns, from `start` to `stop`, which is not one of them."""

    start: int
    stop: int

    @property
    def size(self) -> int:
        """How many they are."""
        return self.stop - self.start

    def hull(self, other: Span) -> Span:
        """Return the shortest span that holds both."""
        return Span(min(self.start, other.start), max(self.stop, other.stop))

    def within(self, outer: Span) -> slice:
        """Return where these rows lie in an array that holds the rows of `outer`."""
        return slice(self.start - outer.start, self.stop - outer.start)


class Windows(NamedTuple):
    """How the windows of a layer lie along one axis.

    Attributes
    ----------
    size, out : int
        Rows of the input and of the output.
    stride : int
        Distance of two windows.
    taps, dilation : int
        Rows that a window looks at, and the distance of two of them.
    corner : int
        How far before the first row the first window begins: the padding there.
    """

    size: int
    out: int
    stride: int = 1
    taps: int = 1
    dilation: int = 1
    corner: int = 0

    @property
    def extent(self) -> int:
        """Rows that a window covers, the holes of a dilation among them."""
        return (self.taps - 1) * self.dilation + 1

    def look_at(self, rows: Span) -> Span:
        """Return the rows, padding among them, that some rows of the output look at."""
        start = rows.start * self.stride - self.corner
        return Span(start, start + (rows.size - 1) * self.stride + self.extent)

    def read(self, rows: Span) -> Span:
        """Return the rows of the input that some rows of the output read: at least one, and no padding."""
        first, last = self.look_at(rows)
        if first >= 0 and last <= self.size:
            return Span(first, last)
        # At the edge a tap may lie on padding, and the next one, a dilation further on, inside.
        starts, stops = [], []
        for tap in range(self.taps):
            begin = first + tap * self.dilation
            end = begin + (rows.size - 1) * self.stride
            begin += max(0, ceil_div(-begin, self.stride)) * self.stride  # the first that is not above
            end -= max(0, ceil_div(end + 1 - self.size, self.stride)) * self.stride  # the last, not below
            if begin <= end:
                starts.append(begin)
                stops.append(end + 1)
        if not starts:  # the rows before may have been read already; of these none is asked for again
            start = self.size - 1 if last > self.size else 0
            return Span(start, start + 1)
        return Span(min(starts), max(stops))

    def padding(self, rows: Span) -> tuple[int, int]:
        """Return the rows of padding that they look at, before and after those of the input."""
        (first, last), read = self.look_at(rows), self.read(rows)
        return max(read.start - first, 0), max(last - read.stop, 0)

    def widened(self, rows: Span) -> Span:
        """Return these rows of the output, and others if these look at nothing but padding.

        A convolution of nothing is none. With as few rows more as will do, something of the input is seen;
        where no window at all sees it, these are all rows there are.
        """
        first_to_see = (self.corner - self.extent) // self.stride + 1
        last_to_see = (self.size - 1 + self.corner) // self.stride
        return Span(min(rows.start, last_to_see), max(rows.stop, min(self.out, first_to_see + 1)))


def windows_of(problem: ConvProblem) -> tuple[Windows, Windows]:
    """Return how the windows of a convolution lie: along its rows, along its columns."""
    (H, W), (P, Q), taps = problem.x_shape[1:3], problem.y_shape[1:3], (problem.R, problem.S)
    stride, corner, dilation = problem.geometry
    axes = zip((H, W), (P, Q), stride, taps, dilation, corner, strict=True)
    rows, columns = (Windows(*axis) for axis in axes)
    return rows, columns


@checked
def windows(node: Node, shape: tuple[int, int, int, int]) -> tuple[Windows, Windows]:
    """Return how the windows of a node lie on an array that it reads: along its rows, along its columns.

    Parameters
    ----------
    node : Node
        A convolution, a max pool, or what computes each pixel from one pixel: a sum, ReLU, a concatenation.
        The mean over all pixels is one window, which covers everything.
    shape : tuple of int
        The array's shape, (N, H, W, C).
    """
    if node.op == "conv":
        return windows_of(node.convolution)
    sides = list(zip(shape[1:3], node.shape[1:3], strict=True))
    axes = [(1, 1, 1, 0)] * 2  # stride, taps, dilation, corner
    if node.op == "max_pool":
        axes = [(node.stride, node.window, 1, node.padding)] * 2
    elif node.op == "mean":
        axes = [(1, size, 1, 0) for size, _ in sides]
    rows, columns = (Windows(*side, *axis) for side, axis in zip(sides, axes, strict=True))
    return rows, columns
