"""What a worker of a cluster does: one block of the result, from the parts of the picture that it was sent.

Nothing here is Dask's: a worker calls `block` as any function.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np

from convlab.algorithms import ALGORITHMS
from convlab.distributed.blocks import Part
from convlab.distributed.layers import Layers
from convlab.distributed.piece import piece
from convlab.distributed.regions import Region, Tile, tile_of
from convlab.distributed.tile_watch import watches
from convlab.errors import UnsupportedError
from convlab.networks.prepared import Prepared
from convlab.support.version import VERSION

# A grid has nine kinds of block, by the edges they have, and layers take turns. Large blocks take so long
# that it matters little if their plans are made anew; small ones take little memory.
LEAST, MOST = 4, 256 << 20  # plans, and bytes of more than that


@dataclass(frozen=True, eq=False)
class Work:
    """What all blocks of a result have in common; it is sent to each worker once.

    Attributes
    ----------
    layers : Layers
        On one picture.
    algorithms : dict of str to str
        Their names, by convolution: the same on every machine.
    wanted : str
        The one that was asked for, or "auto".
    backend : str
    threads : int
    token : str
        Tells these weights from others, and how they are used.
    version : str
        The version of convlab that has cut the picture.
    """

    layers: Layers
    algorithms: dict[str, str]
    wanted: str
    backend: str
    threads: int
    token: str
    version: str


def border(array: np.ndarray, inside: Region) -> np.ndarray:
    """Return a part of a block (N, H, W, C): a copy, for a view would keep all of the block alive."""
    return array[:, slice(*inside.rows), slice(*inside.columns)].copy(order="C")


def block(work: Work, output: Region, parts: Sequence[Part], *arrays: np.ndarray) -> np.ndarray:
    """Return a block of the result, (N, rows, columns, K).

    Parameters
    ----------
    work : Work
    output : Region
        Which block.
    parts : sequence of Part
        What is taken of each array, and where it goes.
    *arrays : ndarray, (N, rows, columns, C)

    Raises
    ------
    UnsupportedError
        If this worker has another version of convlab: its numbers may be others.
    """
    if work.version != VERSION:
        raise UnsupportedError(f"a worker has convlab {VERSION}; expected {work.version}, the caller's")
    ready = READY.take(work, tile_of(work.layers.nodes, output))
    K, dtype = work.layers.shape[3], work.layers.dtype
    result = np.empty((len(arrays[0]), output.rows.size, output.columns.size, K), dtype)
    for picture in range(len(result)):
        with ready.borrowed() as graph:
            (read,) = graph.inputs.values()  # (1, rows, columns, C)
            for part, array in zip(parts, arrays, strict=True):
                taken = array[picture, slice(*part.inside.rows), slice(*part.inside.columns)]
                read[0, slice(*part.place.rows), slice(*part.place.columns)] = taken
            graph.run()
            result[picture] = graph.features[0]  # the next picture is written over it
    return result


class Ready:
    """The newest tiles that were prepared: blocks of the same shape and place use the same plans.

    They keep their memory until newer ones push them out: all but a few, if they take much together.

    Attributes
    ----------
    made, used : int
        How often one was prepared, and taken.
    nbytes : int
        What those that are kept take together.
    """

    def __init__(self, least: int, most: int) -> None:
        self._least, self._most, self._lock = least, most, Lock()
        self._kept: OrderedDict[tuple, Prepared] = OrderedDict()
        self.made = self.used = self.nbytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, work: Work, tile: Tile) -> Prepared:
        """Return what computes a tile, prepared now or before."""
        small = piece(work.layers, tile)
        key = work.token, small.nodes
        with self._lock:
            self.used += 1
            if key not in self._kept:
                self.made += 1
                algorithms = {name: ALGORITHMS[one] for name, one in work.algorithms.items()}
                how = work.backend, work.threads
                seen = watches(work.layers, algorithms, work.wanted, *how)
                ready = Prepared(small, algorithms, *how, True, False, seen)
                self._kept[key] = ready
                self.nbytes += sum(ready.memory.values())
            self._kept.move_to_end(key)
            while len(self._kept) > self._least and self.nbytes > self._most:
                _, oldest = self._kept.popitem(last=False)
                self.nbytes -= sum(oldest.memory.values())
            return self._kept[key]


READY = Ready(LEAST, MOST)
