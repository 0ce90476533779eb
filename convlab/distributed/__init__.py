"""Beyond one device: pictures larger than memory, in strips whose borders are right.

    layers = Layers.on((1, 30_000, 30_000, 3)).conv(w, bias, padding=1, relu=True).max_pool(2)
    done = run(layers, "scan.npy", "result.npy", memory="1 GiB")

Read in this order:

    span            which rows of its input a layer reads, for some rows of its output
    layers          what is done to a picture
    regions         the same through a whole network: what a tile of the result needs of every array
    piece           a tile as a small network of its own
    budget          how much memory that takes, and how tall a strip may be
    rows_in         where the picture comes from: rows of a file, or of an array
    rows_out        where the result goes, so that a part of it is never taken for the whole
    tile_runner     tile after tile, with what was prepared for the one before
    strips          borders computed twice
    stages          a network cut where borders arise
    exchange        layer by layer, over the disk: borders are read
    line_buffers    all layers at once, row by row: borders are kept
    out_of_core     the door to all three
    blocks          a picture that lies in blocks: what each needs of the others
    dask_worker     what a machine does: one block
    dask_arrays     `conv2d` and `apply` on arrays of Dask's
    cluster         workers on this machine, or elsewhere
"""

from __future__ import annotations

from typing import Any

from convlab.distributed.regions import Region, Tile, needs, tiles
from convlab.distributed.span import Span
from convlab.support.lazy import door


def _offer() -> dict[str, Any]:
    from convlab.distributed.cluster import connect
    from convlab.distributed.dask_arrays import apply, conv2d
    from convlab.distributed.layers import Layers
    from convlab.distributed.out_of_core import run
    from convlab.distributed.report import Run

    return locals()


_taking_numba, __getattr__ = door(__name__, _offer)
__all__ = sorted(["Region", "Span", "Tile", "needs", "tiles", *_taking_numba])
