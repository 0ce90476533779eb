"""Whole networks, ours and PyTorch's: the same photo and weights, the answers held against float64, in turns.

A comparison as for one layer, but what competes is everything from the photo to the features. Its pixels are
random: the times do not depend on them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from convlab.benchmark.baselines import Baseline, Call
from convlab.benchmark.comparison import Comparison
from convlab.benchmark.layers import Workload
from convlab.networks import load_model, model_names
from tools.torch_network import in_torch

OURS = ("auto", "indirect", "im2row", "winograd_4x4")  # where one cannot serve a layer, "auto" chooses
LAYOUTS = {"torch": False, "torch channels_last": True}  # baseline, and whether its arrays are NHWC


def whole_networks() -> list[Workload]:
    """Return the networks that can be run as a whole, each as if it were one layer: its first."""
    return [Workload(name, "whole", load_model(name).layers[0].problem) for name in model_names()]


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
        """Take in PyTorch, if it is here."""
        for name in (one.name for one in baselines if one.name in LAYOUTS):
            run = in_torch(self.network, channels_last=LAYOUTS[name], threads=self.clock.threads)
            self.enter(name, Call(partial(run, self.x)))
