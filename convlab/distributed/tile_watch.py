"""Do the pixels suit the transforms that "auto" chose? It has seen none of them: each tile is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from convlab.algorithms.spec import Algorithm
from convlab.auto.magnitudes import largest
from convlab.auto.select import plain
from convlab.auto.watch import Watch
from convlab.distributed.cluster import warn
from convlab.distributed.layers import Layers
from convlab.problem import ConvProblem


@dataclass
class TileWatch:
    """Looks at what a convolution reads, tile after tile, until numbers of one would be lost; then says so.

    Attributes
    ----------
    looks : Watch
        At one tile.
    told : bool
        Once is enough, however many tiles have plans of their own.
    """

    looks: Watch
    told: bool = False

    def see(self, problem: ConvProblem, x: np.ndarray) -> bool:
        """Look at a tile; return whether that is enough."""
        if not self.told and (found := self.looks.lost(problem, x)):
            self.told = True
            warn(
                f'"auto" chose {self.looks.algorithm.name}, and {found}; '
                f"algorithm={self.looks.instead(problem)!r} does not mix pixels"
            )
        return self.told

    def with_weights(self, problem: ConvProblem, w: np.ndarray) -> TileWatch:
        """Return itself: the weights of layers stay."""
        return self


def watches(
    layers: Layers,
    algorithms: Mapping[str, Algorithm],
    wanted: str | Algorithm,
    backend: str,
    threads: int,
) -> dict[str, TileWatch]:
    """Return what looks at the pixels of each convolution that computes by a transform nobody asked for."""
    found = {}
    for node in layers.convolutions:
        algorithm = algorithms[node.name]
        if algorithm.mixing and wanted not in (algorithm, algorithm.name):
            w, instead = layers.weights[node.name][0], partial(plain, backend, threads)
            found[node.name] = TileWatch(
                Watch(algorithm, largest(w), instead, name=f"what {node.name} reads")
            )
    return found
