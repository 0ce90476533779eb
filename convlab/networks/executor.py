"""A whole network made ready, and run: photos in, features out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from convlab.networks.graph import Node
from convlab.networks.memory_plan import alive
from convlab.networks.prepared import Prepared
from convlab.networks.profile import NodeProfile, Profile
from convlab.support.checked import Count, checked
from convlab.support.progress import shown

if TYPE_CHECKING:
    from convlab.networks.model import Model


class Executor(Prepared):
    """A network ready to run, see `Model.prepare`; the attributes are those of `Prepared`."""

    model: Model

    def run(self, photo: np.ndarray) -> np.ndarray:
        """Return the features of some photos.

        Parameters
        ----------
        photo : ndarray, (N, H, W, 3)
            Numbers from 0 to 1, as `figures.photograph(224)` returns them.

        Returns
        -------
        ndarray, (N, features)

        Raises
        ------
        ConvError
            If the photos do not fit.
        """
        self.model.check_photo(photo)
        with self.borrowed() as graph:
            graph.photo = np.ascontiguousarray(photo)
            graph.run()
            return graph.features.reshape(len(photo), -1).copy()

    @checked
    def profile(self, photo: np.ndarray, rounds: Count = 7, progress: bool = True) -> Profile:
        """Run some photos several times, and return the time and the memory of every node.

        Parameters
        ----------
        photo : ndarray, (N, H, W, 3)
        rounds : int
            Each node's time is the median over so many runs, after one that does not count.
        progress : bool
            Show a bar.
        """
        self.run(photo)  # compiles, checks, warms up
        seconds = np.empty((rounds, len(self.nodes)))
        with self.borrowed() as graph:
            graph.photo = np.ascontiguousarray(photo)
            for row in shown(seconds, f"running {self.model.title}", progress):
                for place, action in enumerate(graph.actions):
                    start = time.perf_counter()
                    action()
                    row[place] = time.perf_counter() - start
        nodes = [
            NodeProfile(node, self._algorithm(node), float(median), live, self._workspace_bytes(node))
            for node, median, live in zip(
                self.nodes, np.median(seconds, axis=0), alive(self.nodes), strict=True
            )
        ]
        return Profile(self.model.title, self.threads, tuple(nodes), self.memory)

    def _algorithm(self, node: Node) -> str | None:
        return self.plans[node.layer or node.name].algorithm.name if node.op == "conv" else None

    def _workspace_bytes(self, node: Node) -> int:
        return self.plans[node.layer or node.name].cost.workspace_bytes if node.op == "conv" else 0
