"""Do the pixels suit the transforms that "auto" chose? It has seen none of them: each tile is looked at."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from convlab.algorithms.spec import Algorithm
from convlab.auto.select import plain
from convlab.auto.watch import Watch
from convlab.distributed.layers import Layers
from convlab.problem import ConvProblem

Say = Callable[[str], None]


@dataclass
class TileWatch:
    """Looks at what a convolution reads, tile after tile, until numbers of one would be lost; then says so.

    Attributes
    ----------
    looks : Watch
        At one tile.
    say : callable
        Takes the words.
    told : bool
        Once is enough, however many tiles have plans of their own.
    """

    looks: Watch
    say: Say
    told: bool = False

    def see(self, problem: ConvProblem, x: np.ndarray) -> bool:
        """Look at a tile; return whether that is enough."""
        if not self.told and (found := self.looks.lost(problem, x)):
            self.told = True
            self.say(
                f'"auto" chose {self.looks.algorithm.name}, and {found}; '
                f"algorithm={self.looks.instead(problem)!r} does not mix pixels"
            )
        return self.told

    def with_weights(self, problem: ConvProblem, w: np.ndarray) -> TileWatch:
        """Return itself: the weights of layers stay."""
        return self


def warn(message: str) -> None:
    """Say it where this process says its warnings."""
    warnings.warn(message, RuntimeWarning, stacklevel=2)


def watches(
    layers: Layers,
    algorithms: Mapping[str, Algorithm],
    wanted: str | Algorithm,
    backend: str,
    threads: int,
    say: Say = warn,
) -> dict[str, TileWatch]:
    """Return what looks at the pixels of each convolution that computes by a transform nobody asked for."""
    found = {}
    for node in layers.convolutions:
        algorithm = algorithms[node.name]
        if algorithm.mixing and wanted not in (algorithm, algorithm.name):
            w, instead = layers.weights[node.name][0], partial(plain, backend, threads)
            largest = float(max(w.max(), -w.min()))
            looks = Watch(algorithm, largest, instead, name=f"what {node.name} reads")
            found[node.name] = TileWatch(looks, say)
    return found
