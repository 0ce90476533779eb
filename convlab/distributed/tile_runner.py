"""What computes tile after tile, and how that is settled beforehand: how tall, and by which algorithms."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from convlab.algorithms.spec import Algorithm
from convlab.auto.select import choose
from convlab.distributed.budget import Algorithms, strip, strip_takes, tallest
from convlab.distributed.layers import Layers
from convlab.distributed.piece import Piece, piece
from convlab.distributed.regions import Tile
from convlab.distributed.report import Clock
from convlab.distributed.settings import Settings
from convlab.distributed.sources import Source, read_into
from convlab.distributed.tile_watch import watches
from convlab.errors import UnsupportedError, WorkspaceError
from convlab.machine.freed_memory import give_back
from convlab.machine.memory import Memory
from convlab.networks.prepared import Prepared
from convlab.support.units import bytes_text


class Tiles:
    """Computes tiles. What was prepared for one serves the next, if that has the same shape and borders."""

    def __init__(self, layers: Layers, algorithms: Algorithms, how: Settings) -> None:
        mine = {node.name: algorithms[node.name] for node in layers.convolutions}
        seen = watches(layers, mine, how.algorithm, how.backend, how.threads)
        self._layers, self._how = layers, (mine, how.backend, how.threads, True, False, seen)
        self._ready: tuple[Piece, Prepared] | None = None

    def compute(self, tile: Tile, sources: Mapping[str, Source], picture: int, clock: Clock) -> np.ndarray:
        """Return the rows of the result (rows, Q, K); they are written over by the next tile.

        Parameters
        ----------
        tile : Tile
        sources : mapping of str to Source
            Of each node of op "input".
        picture : int
        clock : Clock
        """
        small = piece(self._layers, tile)
        if self._ready is None or self._ready[0].nodes != small.nodes:
            self._ready = None  # its memory is free before the next one takes any
            give_back()
            self._ready = small, Prepared(small, *self._how)
        with self._ready[1].borrowed() as graph:
            with clock.on("read"):
                for name, array in graph.inputs.items():
                    read_into(sources[name], picture, *tile.needs[name], array[0])
            with clock.on("computed"):
                graph.run()
            return graph.features[0]


def chosen(layers: Layers, tile: Tile, how: Settings) -> dict[str, Algorithm]:
    """Return the algorithm of each convolution: the one that is wanted, or the best one for a tile."""
    found = {}
    for node in piece(layers, tile).layers:
        rest = how.backend, how.threads, Memory(), layers.weights[node.name][0]
        try:
            found[node.name] = choose(node.convolution, how.algorithm, *rest).algorithm
        except UnsupportedError:
            found[node.name] = choose(node.convolution, "auto", *rest).algorithm
    return found


def settled(layers: Layers, how: Settings) -> tuple[int, dict[str, Algorithm]]:
    """Return how many rows of the result are computed at once, and the algorithm of each convolution.

    What is best depends on the height, and what fits on the algorithm: so a single row is asked first.

    Raises
    ------
    WorkspaceError
        If the budget does not suffice.
    """
    P, way = layers.shape[1], (how.backend, how.threads)

    def best(rows: int) -> dict[str, Algorithm]:
        return chosen(layers, strip(layers, max(0, (P - rows) // 2), rows), how)

    if how.height is not None:
        algorithms = best(how.height)
        if (size := strip_takes(layers, how.height, algorithms, *way) + how.beside) > how.budget:
            raise WorkspaceError(
                f"memory={bytes_text(how.budget)}; a strip of height={how.height} takes {bytes_text(size)}"
            )
        return how.height, algorithms
    guess = tallest(layers, how.budget, best(1), *way, how.beside)
    algorithms = best(guess)
    return tallest(layers, how.budget, algorithms, *way, how.beside), algorithms
