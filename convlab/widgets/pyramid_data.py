"""What a cut through some layers costs two machines: the rows that both need, work, bytes, seconds.

Array 0 is the picture, array l what layer l makes of it. The result is cut, and with it every array before
it; each machine has its part. The rows beyond the cut that a machine needs it gets from the other one, in a
message before every so many layers. Layers without a message between them compute rows of the other machine
as well: with one message, before all layers, that is what `distributed.run` calls "recompute", with one
before every layer "exchange". What lies between is Ding & He, "A ghost cell expansion method for reducing
communications in solving PDE problems", SC 2001, doi:10.1109/SC.2001.10042.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from convlab.distributed.layers import Layers
from convlab.distributed.regions import Region, needs
from convlab.distributed.span import Span
from convlab.networks.graph import Node
from convlab.support.checked import Count, checked


class Line(NamedTuple):
    """An array, and who has which rows of it.

    Attributes
    ----------
    size, cut : int
        Its rows, and the first that is the second machine's.
    made : (Span, Span)
        The rows that each machine computes; of the picture those that it has.
    sent : (int, int)
        The rows that each gets from the other, before the next layer.
    """

    size: int
    cut: int
    made: tuple[Span, Span]
    sent: tuple[int, int] = (0, 0)

    @property
    def own(self) -> tuple[Span, Span]:
        """The rows of each machine's part."""
        return Span(0, self.cut), Span(self.cut, self.size)

    @property
    def twice(self) -> int:
        """How many rows both compute."""
        return max(self.made[0].stop - self.made[1].start, 0)


class Machine(NamedTuple):
    """What each of the two machines can do, and the network between them.

    Attributes
    ----------
    flops : float
        Floating-point operations a second.
    latency, bandwidth : float
        A message of n bytes takes latency + n / bandwidth seconds: Hockney, "The communication challenge for
        MPP: Intel Paragon and Meiko CS-2", Parallel Computing 20 (1994).
    """

    flops: float
    latency: float
    bandwidth: float


class Cost(NamedTuple):
    """What a cut costs.

    Attributes
    ----------
    messages : int
        Each way, one after the other.
    bytes : int
        Sent, both ways together.
    share : float
        Multiply-adds that are done twice, over those of the undivided layers.
    own, repeated, waiting, sending : float
        Seconds of a machine for its own part, for rows of the other, for the messages' latency, their bytes.
    """

    messages: int
    bytes: int
    share: float
    own: float
    repeated: float
    waiting: float
    sending: float

    @property
    def seconds(self) -> float:
        """All together: nothing is computed while a message is on its way."""
        return self.own + self.repeated + self.waiting + self.sending


def stack(layers: int, H: int, W: int, C: int, taps: int, stride: int, dilation: int) -> Layers:
    """Return layers of `taps` x `taps` filters, padded to "same", on a picture (1, H, W, C), C channels each.

    The stride is the first layer's. The weights are all the same zero.
    """
    w = np.broadcast_to(np.float32(0), (C, taps, taps, C))  # (K, R, S, C), of four bytes
    made = Layers.on((1, H, W, C))
    for layer in range(layers):
        made = made.conv(w, stride=1 if layer else stride, padding="same", dilation=dilation)
    return made


@checked
def pyramid(layers: Layers, cut: Count, every: Count) -> list[Line]:
    """Return which rows of every array two machines have, from the picture to the result.

    Parameters
    ----------
    layers : Layers
        One after the other, as `stack` makes them.
    cut : int
        The first row of the result that is the second machine's.
    every : int
        Before how many layers there is a message.

    Raises
    ------
    ConvError
        If no row is left for one of them.

    Examples
    --------
    >>> [line.twice for line in pyramid(stack(3, 9, 9, 1, 3, 1, 1), cut=4, every=3)]
    [0, 4, 2, 0]
    """
    nodes = layers.nodes
    lines = _cut_in_two(nodes, cut)
    for first in range(0, len(nodes) - 1, every):
        last = min(first + every, len(nodes) - 1)
        group = (_given(nodes[first]), *nodes[first + 1 : last + 1])
        one, other = (needs(group, _rows(nodes[last], rows)) for rows in lines[last].own)
        for at in range(first + 1, last):
            name = nodes[at].name
            lines[at] = lines[at]._replace(made=(one[name].rows, other[name].rows))
        name, begins = nodes[first].name, lines[first]
        beyond = one[name].rows.stop - begins.cut, begins.cut - other[name].rows.start
        lines[first] = begins._replace(sent=(max(beyond[0], 0), max(beyond[1], 0)))
    return lines


def cost(layers: Layers, lines: Sequence[Line], every: int, machine: Machine) -> Cost:
    """Return what that takes; the slower of the two machines counts, and both ways are free at once."""
    nodes = layers.nodes
    work = [2 * (node.convolution.macs // node.shape[1]) for node in nodes[1:]]  # FLOPs of a row
    row = [node.nbytes // node.shape[1] for node in nodes]  # bytes
    own = done = 0.0
    for first in range(0, len(work), every):
        here = list(zip(work, lines[1:], strict=True))[first : first + every]
        own += max(sum(each * line.own[side].size for each, line in here) for side in (0, 1))
        done += max(sum(each * line.made[side].size for each, line in here) for side in (0, 1))
    messages = sum(any(line.sent) for line in lines)
    longest = sum(each * max(line.sent) for each, line in zip(row, lines, strict=True))
    return Cost(
        messages=messages,
        bytes=sum(each * sum(line.sent) for each, line in zip(row, lines, strict=True)),
        share=sum(each * line.twice for each, line in zip(work, lines[1:], strict=True))
        / sum(each * line.size for each, line in zip(work, lines[1:], strict=True)),
        own=own / machine.flops,
        repeated=(done - own) / machine.flops,
        waiting=messages * machine.latency,
        sending=longest / machine.bandwidth,
    )


def ways(layers: Layers, cut: int, machine: Machine) -> list[Cost]:
    """Return the costs of a message before every layer, before every second, and so on to one before all."""
    each = range(1, len(layers.nodes))
    return [cost(layers, pyramid(layers, cut, every), every, machine) for every in each]


def _cut_in_two(nodes: Sequence[Node], cut: int) -> list[Line]:
    """Return each array with the cut where that of the result comes from, and no border yet."""
    found = []
    for node in reversed(nodes):
        size = node.shape[1]
        cut = min(cut, size)
        found.append(Line(size, cut, (Span(0, cut), Span(cut, size))))
        cut *= node.convolution.stride[0] if node.op == "conv" else 1
    return found[::-1]


def _given(node: Node) -> Node:
    return Node(node.name, "input", (), node.shape, node.dtype)


def _rows(node: Node, rows: Span) -> Region:
    return Region(rows, Span(0, node.shape[2]))
