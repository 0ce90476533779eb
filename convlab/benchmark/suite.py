"""What `convlab bench cpu` measures, and in which order.

    product     the register tile against the FMA peak of this core, in a large product and a cached one
    layers      ResNet-18 and SqueezeNet 1.0, one thread: all our algorithms, all baselines
    depthwise   MobileNetV1's depthwise layers, likewise
    networks    VGG-16 and the MobileNets, one thread: all our algorithms
    passes      ResNet-18, one thread, 8 images: fprop, dgrad and wgrad, all of ours, and PyTorch's autograd
    threads     ResNet-18 and SqueezeNet on all cores: the best of ours, and the baselines
    stacks      ResNet-18, SqueezeNet 1.0 and MobileNetV1 as a whole, from a photo to its features; where
                there are two cores, on two threads, too: "auto", and libraries that run networks
    paper       im2row + GEMM against the indirection buffer, by class of layer, warm and cold

Each of these parts is a list of tasks, a second or two each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import ClassVar

import numpy as np

from convlab.algorithms import ALGORITHMS
from convlab.auto.roofs import flops_after, multiply_add
from convlab.auto.timing import alone, timer
from convlab.benchmark import layers
from convlab.benchmark.baselines import Baseline, Call
from convlab.benchmark.comparison import Comparison, Effort, WallClock
from convlab.benchmark.dukhan_2019 import compare_three
from convlab.benchmark.layers import Workload
from convlab.benchmark.network_comparison import NetworkComparison
from convlab.benchmark.pass_baselines import IN_TRAINING
from convlab.benchmark.pass_comparison import PassComparison
from convlab.benchmark.passes import AUTO, PASSES
from convlab.benchmark.saved import Row
from convlab.benchmark.summary import by_layer
from convlab.machine import system
from convlab.machine.facts import cores_at_hand
from convlab.support.checks import check_choice

PEAK, PEAK_AFTER = "FMA peak", "FMA peak, right after gemm"
IMAGES = 8  # in a step of training
ON_TWO_THREADS = ("ONNX Runtime", "OpenVINO", "LiteRT")  # for whole networks
ON_ALL_CORES = ("torch", "torch channels_last", "oneDNN prepacked", "ONNX Runtime", "OpenVINO", "LiteRT")

# How long each part may take, a layer; and just enough to see the picture.
FULL = {
    "layers": Effort(rounds=9, budget=2.0),
    "networks": Effort(rounds=7, budget=0.6, patience=2.0),
    "passes": Effort(rounds=7, budget=0.6, patience=1.0),
    "threads": Effort(rounds=9, budget=1.0, patience=2.0),
    "stacks": Effort(rounds=9, most=15, budget=4.0),
    "paper": Effort(rounds=25, most=301, budget=1.5, slow=inf),
}
QUICK = {
    "layers": Effort(rounds=7, budget=0.6, patience=0.3),
    "networks": Effort(rounds=5, budget=0.3, patience=0.3),
    "passes": Effort(rounds=5, budget=0.3, patience=0.3),
    "threads": Effort(rounds=7, budget=0.3, patience=1.0),
    "stacks": Effort(rounds=5, budget=0.0),
    "paper": Effort(rounds=15, budget=0.5, slow=inf),
}


@dataclass(frozen=True)
class Task:
    """A piece of the run: `run` gets all rows so far and returns its own."""

    part: str
    label: str
    run: Callable[[list[Row]], list[Row]]


@dataclass
class Suite:
    """A whole run.

    Attributes
    ----------
    baselines : list of Baseline
    words : str
        Only layers whose name or class holds this, see `layers.select`.
    quick : bool
        One layer of each class, and fewer rounds.
    left_out : dict
        Filled while the tasks run: candidate to the layers that it was too slow for.
    """

    PARTS: ClassVar = ("product", "layers", "depthwise", "networks", "passes", "threads", "stacks", "paper")

    baselines: list[Baseline]
    words: str = ""
    quick: bool = False
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self):
        self._effort = QUICK if self.quick else FULL
        self._cores = cores_at_hand()

    def tasks(self) -> list[Task]:
        """Return the tasks, in order."""
        found = [self.task("product", one, self._product) for one in self.chosen(layers.products)]
        convolutions, five_by_five = self.chosen(layers.convolutions), self.chosen(layers.five_by_five)
        found += [self.task("layers", one, self._layer) for one in convolutions]
        found += [self.task("depthwise", one, self._layer) for one in self.chosen(layers.depthwise)]
        found += [self.task("networks", one, self._layer) for one in self.chosen(layers.other_networks)]
        trained = [layers.in_batches(one, IMAGES) for one in self.chosen(layers.trained)]
        for pass_ in PASSES:
            found += [self.task("passes", one, partial(self._pass, pass_), pass_) for one in trained]
        if self._cores > 1:
            found += [self.task("threads", one, self._threads) for one in convolutions]
        whole = layers.select(layers.whole_networks(), self.words)
        found += [self.task("stacks", one, self._network) for one in whole]
        if self._cores > 1:
            found += [self.task("stacks", one, self._network_on_two, "2 threads") for one in whole]
        # Nobody knows when a cache is cold whose size the system does not tell.
        for cache in ("warm", "cold") if system.caches() else ("warm",):
            paper = partial(self._paper, cache)
            found += [self.task("paper", one, paper) for one in convolutions + five_by_five]
        return found

    @classmethod
    def check_part(cls, part: str) -> str:
        """Return the name of a part, or say that there is none of that name; "" is all of them."""
        return part and check_choice("--part", part, cls.PARTS)

    def chosen(self, group: Callable[[], list[Workload]]) -> list[Workload]:
        """Return those of a group that are asked for."""
        chosen = layers.select(group(), self.words)
        return layers.one_of_each_kind(chosen) if self.quick else chosen

    def task(self, part: str, workload: Workload, run, *words: str) -> Task:
        """Return the task of a part on one layer; `run` is given part, workload and the rows so far."""
        return Task(part, " ".join([workload.name, *words]), partial(run, part, workload))

    # -- the parts -----------------------------------------------------------------------------------------

    def _product(self, part: str, workload: Workload, rows: list[Row]) -> list[Row]:
        from convlab.cpu.epilogue import output
        from convlab.cpu.gemm import gemm, pack
        from convlab.cpu.product_tile import tile_of

        M, N, K = workload.problem.gemm
        with alone(1):
            comparison = Comparison(workload, self._effort["layers"])
            x, y = comparison.x.reshape(-1), np.empty(workload.problem.y_shape, np.float32)
            tile = tile_of(workload.problem)
            panels, out = pack(comparison.w.reshape(1, N, K), tile), output(y)

            def product():
                gemm(x, K, 1, panels[0], out, 0, M, N, K, tile=tile)
                return y

            comparison.enter("gemm", Call(product), ours=True)
            comparison.enter_baselines(self.baselines)
            peak = timer(lambda: multiply_add(workload.problem.flops))  # nothing to load or store
            comparison.enter_timer(PEAK, peak, peak)
            after = lambda: workload.problem.flops / flops_after(product)  # noqa: E731
            comparison.enter_timer(PEAK_AFTER, after, after)
            return self.rows_of(comparison, part)

    def _layer(self, part: str, workload: Workload, rows: list[Row]) -> list[Row]:
        """Measure all of ours; the other networks are many layers, and have no baselines."""
        with_baselines = part != "networks"
        with alone(1):
            comparison = Comparison(workload, self._effort["layers" if with_baselines else "networks"])
            comparison.enter_ours()
            if with_baselines:
                comparison.enter_baselines(self.baselines)
            return self.rows_of(comparison, part)

    def _pass(self, pass_: str, part: str, workload: Workload, rows: list[Row]) -> list[Row]:
        with alone(1):
            comparison = PassComparison(workload, pass_, self._effort[part])
            comparison.enter_ours()
            comparison.enter_baselines(one for one in self.baselines if one.name in IN_TRAINING)
            return self.rows_of(comparison, part)

    def _threads(self, part: str, workload: Workload, rows: list[Row]) -> list[Row]:
        """Let the two algorithms compete that were the fastest on this layer with one thread."""
        before = by_layer(row for row in rows if row.part == "layers" and row.ours)
        ranked = sorted(before.get((workload.network, workload.layer), ()), key=lambda row: row.seconds)
        with alone(self._cores):
            comparison = Comparison(workload, self._effort["threads"], WallClock(self._cores))
            comparison.enter_ours({row.candidate: ALGORITHMS[row.candidate] for row in ranked[:2]})
            comparison.enter_baselines(one for one in self.baselines if one.name in ON_ALL_CORES)
            return self.rows_of(comparison, part)

    def _network(self, part: str, workload: Workload, rows: list[Row]) -> list[Row]:
        with alone(1):
            comparison = NetworkComparison(workload, self._effort[part])
            comparison.enter_ours()
            comparison.enter_baselines(self.baselines)
            return self.rows_of(comparison, part)

    def _network_on_two(self, part: str, workload: Workload, rows: list[Row]) -> list[Row]:
        with alone(2):
            comparison = NetworkComparison(workload, replace(self._effort[part], budget=0.0), WallClock(2))
            comparison.enter_ours((AUTO,))
            comparison.enter_baselines(one for one in self.baselines if one.name in ON_TWO_THREADS)
            return self.rows_of(comparison, part)

    def _paper(self, cache: str, part: str, workload: Workload, rows: list[Row]) -> list[Row]:
        with alone(1):
            return compare_three(workload, self._effort["paper"], cache)

    def rows_of(self, comparison: Comparison, part: str) -> list[Row]:
        """Return what a comparison has found, and note who was too slow for it."""
        rows = comparison.rows(part)
        for name in comparison.left_out:
            self.left_out.setdefault(name, []).append(comparison.workload.name)
        return rows
