"""Compute a border twice, or send it: when both take as long.

Each device makes some rows of the result. Either it fetches of the picture all that its rows need, through
all layers, and computes the borders of every layer itself: one exchange, and work that its neighbours do as
well. Or it fetches the border of each array when it is needed: an exchange for each layer, and no work twice.
The first is quick where latency is long, the second where computing is slow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from convlab.distributed.layers import Layers
from convlab.distributed.network import Network
from convlab.distributed.piece import piece
from convlab.distributed.regions import Region, tile_of
from convlab.distributed.shares import rows_read, share
from convlab.distributed.span import Span, windows
from convlab.distributed.split_time import Device
from convlab.distributed.strips import work
from convlab.errors import ParameterError
from convlab.networks.graph import Node
from convlab.support.checked import Count, checked
from convlab.support.integers import ceil_div


class BorderCost(NamedTuple):
    """What one way takes, at the device with the most of it.

    Attributes
    ----------
    flops : float
        Twice the multiply-adds; what pools compare counts like them.
    exchanges : int
        Times that it waits for the rows of its neighbours.
    nbytes : int
        Bytes that it receives in all of them.
    seconds : float
        To compute, and then to wait for what travels.
    """

    flops: float
    exchanges: int
    nbytes: int
    seconds: float


class BreakEven(NamedTuple):
    """Both ways, and where they take as long.

    Attributes
    ----------
    recompute, exchange : BorderCost
    latency : float or None
        Seconds at which they do, with the bandwidth that was given. None: at no latency. The way of fewer
        exchanges, to compute the border twice, is the faster one above it.
    bandwidth : float or None
        Bytes/s at which they do, with the latency that was given. None: at no bandwidth. The way of fewer
        bytes is the faster one below it.
    """

    recompute: BorderCost
    exchange: BorderCost
    latency: float | None
    bandwidth: float | None


@checked
def break_even(layers: Layers, devices: Count, device: Device, network: Network) -> BreakEven:
    """Return what it takes to compute the borders twice, and to exchange them.

    Parameters
    ----------
    layers : Layers
        A mean over all pixels at their end is left out.
    devices : int
        Each has as many rows of every array as the others, or one fewer.
    device : Device
        Its FLOP/s count, not its memory.
    network : Network
        All neighbours send at once.

    Raises
    ------
    ParameterError
        If there are more devices than rows of the result.

    Notes
    -----
    In both ways the picture lies there in shares, and the border of the picture is fetched.
    """
    maps = layers.but_for_the_mean()
    if devices > maps.shape[1]:
        raise ParameterError(f"devices={devices}; expected {maps.shape[1]} at most, the rows of the result")
    ways = _recomputing(maps, devices), _exchanging(maps, devices)
    recompute, exchange = (_cost(*counted, device, network) for counted in ways)
    work_more = (recompute.flops - exchange.flops) / device.flops
    waits_less = exchange.exchanges - recompute.exchanges
    bytes_less = exchange.nbytes - recompute.nbytes
    latency = _root(work_more - bytes_less / network.bandwidth, waits_less)
    slowness = _root(work_more - waits_less * network.latency, bytes_less)  # seconds of a byte
    return BreakEven(recompute, exchange, latency, 1 / slowness if slowness else None)


def _cost(flops: float, exchanges: int, nbytes: int, device: Device, network: Network) -> BorderCost:
    waiting = network.seconds(nbytes, exchanges) if exchanges else 0.0
    return BorderCost(flops, exchanges, nbytes, flops / device.flops + waiting)


def _root(more: float, less: float) -> float | None:
    """Return the number above zero at which so much less of each makes up for so much more."""
    found = more / less if less else 0.0
    return found if found > 0 else None


def _recomputing(layers: Layers, devices: int) -> tuple[float, int, int]:
    """Return FLOPs, exchanges and bytes received where each device computes its borders itself."""
    _, P, Q, _ = layers.shape
    picture = layers.nodes[0]
    flops, rows = 0, 0
    for one in range(devices):
        output = Region(share(P, devices, one), Span(0, Q))
        tile = tile_of(layers.nodes, output)
        flops = max(flops, 2 * work(piece(layers, tile).nodes))
        needed, own = tile.needs[picture.name].rows, share(picture.shape[1], devices, one)
        kept = max(0, min(needed.stop, own.stop) - max(needed.start, own.start))
        rows = max(rows, needed.size - kept)
    return flops, int(rows > 0), rows * _row_bytes(picture)


def _exchanging(layers: Layers, devices: int) -> tuple[float, int, int]:
    """Return FLOPs, exchanges and bytes received where each array's border is fetched."""
    borders = {node.name: _border(node, layers.nodes, devices) for node in layers.nodes}
    nbytes = sum(borders[node.name] * _row_bytes(node) for node in layers.nodes)
    flops = sum(2 * work([node]) * ceil_div(node.shape[1], devices) / node.shape[1] for node in layers.nodes)
    return flops, sum(rows > 0 for rows in borders.values()), nbytes


def _border(node: Node, nodes: tuple[Node, ...], devices: int) -> int:
    """Return how many rows of an array a device fetches, for all that read it."""
    most = 0
    for one in range(devices):
        own = share(node.shape[1], devices, one)
        reading = [
            rows_read(windows(reader, node.shape)[0], share(reader.shape[1], devices, one))
            for reader in nodes
            if node.name in reader.inputs
        ]
        rows = np.unique(np.concatenate(reading)) if reading else np.empty(0, int)
        most = max(most, int(((rows < own.start) | (rows >= own.stop)).sum()))
    return most


def _row_bytes(node: Node) -> int:
    return node.nbytes // node.shape[1]
