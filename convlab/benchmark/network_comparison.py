"""Whole networks, ours and others': the same photo and weights, the answers held against float64, in turns.

A comparison as for one layer, but what competes is everything from the photo to the features. Its pixels are
random: the times do not depend on them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from convlab.benchmark.baselines import Baseline, Call
from convlab.benchmark.comparison import Comparison
from convlab.benchmark.rivals import NETWORK
from convlab.networks import load_model

OURS = ("auto", "indirect", "im2row", "winograd_4x4")  # where one cannot serve a layer, "auto" chooses


class NetworkComparison(Comparison):
    """Candidates for a whole network; the workload's problem says how many photos, and of what size."""

    def prepare(self) -> None:
        """Make a photo, and what all candidates are held against."""
        problem = self.workload.problem
        self.network = load_model(self.workload.network, size=(problem.H, problem.W), batch=problem.N)
        self.x = self.x_there = np.random.default_rng(0).random(problem.x_shape, np.float32)
        self.expected, self.pixels, self.y_there = self.network.reference(self.x), ..., None
        self.limit = self.network.tolerance(self.expected)

    def enter_ours(self, names: Iterable[str] = OURS) -> None:
        """Take in our own, one for each algorithm."""
        for name in names:
            ready = self.network.prepare(name, backend="cpu", threads=self.clock.threads, progress=False)
            self.enter(name, Call(partial(ready.run, self.x)), ours=True, rounding=ready.rounding)

    def enter_baselines(self, baselines: Iterable[Baseline]) -> None:
        """Take in those that run whole networks."""
        for one in baselines:
            if one.pass_ == NETWORK and not one.refuses(self.workload.problem):
                make = partial(one.prepare, self.network, self.x, self.clock.threads)
                self.attempt(one.name, make, rounding=one.rounding)
