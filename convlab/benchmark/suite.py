"""The parts of `convlab bench cpu`: what is measured, and in which order.

    product     the register tile against the FMA peak of this core
    layers      ResNet-18 and SqueezeNet 1.0, one thread: all our algorithms, all rivals
    depthwise   MobileNetV1's depthwise layers, likewise
    networks    VGG-16 and the MobileNets, one thread: all our algorithms
    autotune    all five networks: what `convlab.autotune` finds, to be held against the parts above
    threads     ResNet-18 and SqueezeNet on all cores: the best of ours, and the rivals
    paper       im2row + GEMM against the indirection buffer, by class of layer, warm and cold
    stacks      ResNet-18 and SqueezeNet 1.0 as a whole, from the photo to the features, one thread
    first       the first call in a fresh process

Each part is a list of steps, a second or two each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import inf

import numpy as np

from convlab.auto.autotune import times
from convlab.auto.roofs import multiply_add
from convlab.auto.timing import alone, summary, timer
from convlab.benchmark import layers as cases
from convlab.benchmark.baselines import Call
from convlab.benchmark.cold_start import first_call
from convlab.benchmark.comparison import Contest, Effort, Rivals
from convlab.benchmark.dukhan_2019 import compare_three
from convlab.benchmark.layers import Case
from convlab.benchmark.network_times import StackContest
from convlab.benchmark.saved import Row
from convlab.benchmark.summary import by_layer
from convlab.machine import system
from convlab.machine.facts import cores_at_hand

PEAK = "FMA peak"
CORES_TOO = ("torch", "torch channels_last", "oneDNN prepacked")

# How long each part may take, a layer; and just enough to see the picture.
FULL = {
    "layers": Effort(rounds=9, budget=2.0),
    "networks": Effort(rounds=7, budget=0.6, patience=2.0),
    "threads": Effort(rounds=9, budget=1.0, patience=2.0),
    "paper": Effort(rounds=25, most=301, budget=1.5, slow=inf),
    "stacks": Effort(rounds=9, most=15, budget=4.0),
}
QUICK = {
    "layers": Effort(rounds=7, budget=0.6, patience=0.3),
    "networks": Effort(rounds=5, budget=0.3, patience=0.3),
    "threads": Effort(rounds=7, budget=0.3, patience=1.0),
    "paper": Effort(rounds=15, budget=0.5, slow=inf),
    "stacks": Effort(rounds=5, budget=0.0),
}


@dataclass(frozen=True)
class Step:
    """A piece of the run: `run` gets all rows so far and returns its own."""

    part: str
    label: str
    run: Callable[[list[Row]], list[Row]]


@dataclass
class Parts:
    """A whole run.

    Attributes
    ----------
    rivals : Rivals
    words : str
        Only layers whose name or class holds this, see `cases.select`.
    quick : bool
        One layer of each class, and fewer rounds.
    left_out : dict
        Filled while the steps run: candidate to the layers that it was too slow for.
    """

    rivals: Rivals
    words: str = ""
    quick: bool = False
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self):
        self._effort = QUICK if self.quick else FULL
        self._cores = cores_at_hand()

    def steps(self) -> list[Step]:
        """Return the steps, in order."""
        layers, fives = self._chosen(cases.convolutions), self._chosen(cases.five_by_five)
        steps = [Step("product", case.name, self._product) for case in self._chosen(cases.product)]
        steps += [self._step("layers", case, self._layer) for case in layers]
        steps += [self._step("depthwise", case, self._layer) for case in self._chosen(cases.depthwise)]
        others = self._chosen(cases.other_networks)
        steps += [self._step("networks", case, self._ours) for case in others]
        steps += [self._step("autotune", case, self._autotune) for case in layers + others]
        if self._cores > 1:
            steps += [self._step("threads", case, self._threads) for case in layers]
        # Nobody knows when a cache is cold whose size the system does not tell.
        for cache in ("warm", "cold") if system.caches() else ("warm",):
            steps += [self._step("paper", case, partial(self._paper, cache)) for case in layers + fives]
        wholes = cases.select(cases.stacks(), self.words)
        steps += [self._step("stacks", case, self._stack) for case in wholes]
        if layers:
            steps.append(Step("first", "a fresh process", lambda rows: first_call(layers[0])))
        return steps

    def _chosen(self, group: Callable[[], list[Case]]) -> list[Case]:
        chosen = cases.select(group(), self.words)
        return cases.one_of_each_kind(chosen) if self.quick else chosen

    def _step(self, part: str, case: Case, run) -> Step:
        return Step(part, case.name, partial(run, part, case))

    # -- the parts -----------------------------------------------------------------------------------------

    def _product(self, rows: list[Row]) -> list[Row]:
        from convlab.cpu.gemm import gemm, pack

        (case,) = cases.product()
        M, N, K = case.problem.gemm
        with alone(1):
            contest = Contest(case, self._effort["layers"])
            panels, y = pack(contest.w.reshape(1, N, K)), np.empty(case.problem.y_shape, np.float32)

            def product():
                gemm(contest.x.reshape(-1), K, 1, panels[0], y.reshape(-1), N, M, N, K)
                return y

            contest.enter("gemm", Call(product), ours=True)
            contest.enter_rivals(self.rivals)
            peak = timer(lambda: multiply_add(case.problem.flops))  # the same work, nothing to load or store
            contest.enter_timer(PEAK, peak, peak)
            return self._rows(contest, "product")

    def _layer(self, part: str, case: Case, rows: list[Row]) -> list[Row]:
        with alone(1):
            contest = Contest(case, self._effort["layers"])
            contest.enter_ours()
            contest.enter_rivals(self.rivals)
            return self._rows(contest, part)

    def _ours(self, part: str, case: Case, rows: list[Row]) -> list[Row]:
        with alone(1):
            contest = Contest(case, self._effort["networks"])
            contest.enter_ours()
            return self._rows(contest, part)

    def _autotune(self, part: str, case: Case, rows: list[Row]) -> list[Row]:
        return [
            Row(
                *(part, case.network, case.layer, case.count, case.problem, name),
                ours=True,
                threads=1,
                rounds=len(seconds),
                timing=summary(seconds),
            )
            for name, seconds in times(case.problem).items()
        ]

    def _threads(self, part: str, case: Case, rows: list[Row]) -> list[Row]:
        """Let the two algorithms compete that were the fastest on this layer with one thread."""
        before = by_layer(row for row in rows if row.part == "layers" and row.ours)
        ranked = sorted(before.get((case.network, case.layer), ()), key=lambda row: row.seconds)
        with alone(self._cores):
            contest = Contest(case, self._effort["threads"], self._cores)
            contest.enter_ours([row.candidate for row in ranked[:2]])
            contest.enter_rivals(self.rivals, CORES_TOO)
            return self._rows(contest, part)

    def _paper(self, cache: str, part: str, case: Case, rows: list[Row]) -> list[Row]:
        with alone(1):
            return compare_three(case, self._effort["paper"], cache)

    def _stack(self, part: str, case: Case, rows: list[Row]) -> list[Row]:
        with alone(1):
            contest = StackContest(case, self._effort["stacks"])
            contest.enter_ours()
            contest.enter_rivals(self.rivals)
            return self._rows(contest, part)

    def _rows(self, contest: Contest, part: str) -> list[Row]:
        rows = contest.rows(part)
        for name in contest.left_out:
            self.left_out.setdefault(name, []).append(contest.case.name)
        return rows
