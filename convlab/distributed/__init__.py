"""Beyond one device: pictures larger than memory, in strips whose borders are right.

    layers = Layers.on((1, 30_000, 30_000, 3)).conv(w, bias, padding=1, relu=True).max_pool(2)
    done = run(layers, "scan.npy", "result.npy", memory="1 GiB")

Read in this order:

    span            which rows of its input a layer reads, for some rows of its output
    layers          what is done to a picture
    regions         the same through a whole network: what a tile of the result needs of every array
    piece           a tile as a small network of its own
    budget          how much memory that takes, and how tall a strip may be
    sources         where the picture comes from: rows of a file, or of an array
    mapped          arrays that are mapped from a file: which, and where in it they lie
    rows_in         what a picture may be
    targets         where the result goes
    unfinished      results that are not whole, and never taken for it
    npy_out         a .npy file as the result
    zarr_out        a Zarr array as the result
    rows_out        what a target may be
    tile_runner     tile after tile, with what was prepared for the one before
    strips          borders computed twice
    stages          a network cut where borders arise
    exchange        layer by layer, over the disk: borders are read
    rounds          what happens when, if all layers run at once
    line_buffers    all layers at once, row by row: borders are kept
    out_of_core     the door to all three
    mosaic          a picture of any size to try it with
    blocks          a picture that lies in blocks: what each needs of the others
    dask_worker     what a machine does: one block
    dask_arrays     `conv2d` and `apply` on arrays of Dask's
    cluster         workers on this machine, or elsewhere
    computed        what is lazy is computed, and how far that is
    network         what a message takes; rings
    network_speed   the same, measured between two processes
    shares          which rows several devices have, and which they read
    splits          along which axes a convolution is cut
    traffic         what travels then, and how many bytes
    split_time      which split is the fastest
    third_roof      the network in the roofline
    border_cost     compute a border twice, or send it
    simulated       what a simulation of many machines tells
    slowness        machines that are slower than others
    simulation      many machines that take tiles from one queue
    lockstep        neighbours that exchange borders layer by layer
"""

from __future__ import annotations

from typing import Any

from convlab.distributed.lockstep import simulate_lockstep
from convlab.distributed.mosaic import Mosaic
from convlab.distributed.network import Network
from convlab.distributed.network_speed import measure_network
from convlab.distributed.regions import Region, Tile, needs, tiles
from convlab.distributed.simulated import Simulated, Timeline
from convlab.distributed.simulation import simulate_queue
from convlab.distributed.slowness import lognormal, stragglers
from convlab.distributed.span import Span
from convlab.distributed.split_time import Device, SplitTime, best_splits, time_of
from convlab.distributed.splits import Split
from convlab.distributed.third_roof import NetworkRoof, network_roof
from convlab.distributed.traffic import Message, messages
from convlab.support.lazy import door

_NEEDING_NUMPY = [
    *["Mosaic", "Region", "Span", "Tile", "needs", "tiles"],
    *["Device", "Message", "Network", "NetworkRoof", "Split", "SplitTime"],
    *["best_splits", "measure_network", "messages", "network_roof", "time_of"],
    *["Simulated", "Timeline", "lognormal", "simulate_lockstep", "simulate_queue", "stragglers"],
]


def _offer() -> dict[str, Any]:
    from convlab.distributed.border_cost import BorderCost, BreakEven, break_even
    from convlab.distributed.cluster import connect
    from convlab.distributed.computed import compute
    from convlab.distributed.dask_arrays import apply, conv2d
    from convlab.distributed.layers import Layers
    from convlab.distributed.out_of_core import run
    from convlab.distributed.report import Run

    return locals()


_taking_numba, __getattr__ = door(__name__, _offer)
__all__ = sorted([*_NEEDING_NUMPY, *_taking_numba])
