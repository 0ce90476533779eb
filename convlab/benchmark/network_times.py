"""Whole networks, ours and PyTorch's: the same photo and weights, the answers held against float64, in turns.

A contest as for one layer, but what competes is everything from the photo to the features. Its pixels are
random: the times do not depend on them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from convlab.benchmark.baselines import Call
from convlab.benchmark.comparison import Contest, Rivals
from convlab.benchmark.torch_network import in_torch
from convlab.networks import load_model

OURS = ("auto", "indirect", "im2row", "winograd_4x4")  # where one cannot serve a layer, "auto" chooses
LAYOUTS = {"torch": False, "torch channels_last": True}  # rival, and whether its arrays are NHWC


class StackContest(Contest):
    """Candidates for a whole network; `case.problem` says how many photos there are, and of what size."""

    def prepare(self) -> None:
        """Make a photo, and what all candidates are held against."""
        problem = self.case.problem
        self.stack = load_model(self.case.network, size=(problem.H, problem.W), batch=problem.N)
        self.x = np.random.default_rng(0).random(problem.x_shape, np.float32)
        self.expected = self.stack.reference(self.x)
        self.limit = self.stack.tolerance(self.expected)

    def enter_ours(self, names: Iterable[str] | None = None) -> None:
        """Take in our own, one for each algorithm."""
        for name in OURS if names is None else names:
            ready = self.stack.prepare(name, backend="cpu", threads=self.threads, progress=False)
            self.enter(name, Call(lambda ready=ready: ready.run(self.x)), ours=True, rounding=ready.rounding)

    def enter_rivals(self, rivals: Rivals, names: Iterable[str] | None = None) -> None:
        """Take in PyTorch, if it is here."""
        for name in (rival.name for rival in rivals.here if rival.name in LAYOUTS):
            if names is None or name in names:
                run = in_torch(self.stack, channels_last=LAYOUTS[name], threads=self.threads)
                self.enter(name, Call(lambda run=run: run(self.x)))
