"""The parts of `convlab bench gpu`: what is measured, and in which order, what matters most first.

    roofs          copying, reading from L2, multiplying and adding; what nothing costs
    image          the picture of 4000x4000 pixels with a filter of 7x7, against a copy of as many bytes
    layers_32      ResNet-18 and SqueezeNet 1.0, 32 images: all our algorithms, all of cuDNN's forms
    depthwise_32   MobileNetV1's depthwise layers, likewise
    ladder         kernels rung by rung, a step for each ladder
    layers_1, depthwise_1   one image

Each part is a list of steps, some seconds each, and has a share of the time; what it does not need is left to
all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from convlab.algorithms import ALGORITHMS
from convlab.benchmark import layers as networks
from convlab.benchmark.comparison import Effort
from convlab.benchmark.gpu import cases, roofs
from convlab.benchmark.gpu.cases import Ladder
from convlab.benchmark.gpu.contest import Attempts, DeviceContest
from convlab.benchmark.gpu.rivals import DeviceRival
from convlab.benchmark.layers import Case
from convlab.benchmark.saved import Row
from convlab.errors import ParameterError
from convlab.problem import ConvProblem

FULL = Effort(rounds=7, most=101, budget=0.4, slow=8.0, patience=0.8)
SHARES = {
    "roofs": 0.05,
    "image": 0.10,
    "layers_32": 0.40,
    "depthwise_32": 0.10,
    "ladder": 0.15,
    "layers_1": 0.15,
    "depthwise_1": 0.05,
}
FOR_PICTURES = "direct", "depthwise"  # the others would multiply matrices of one column
TINY = Effort(rounds=1, most=1, budget=0.0)
# What the lane simulator can do in a moment: for trying the command where there is no GPU.
TINY_IMAGE = Case("image", "16x12", ConvProblem(1, 16, 12, 1, 1, 3, 3, padding=1))
TINY_LAYER = Case("tiny", "layer", ConvProblem(1, 5, 4, 4, 8, 3, 3, padding=1), 2)
TINY_DEPTHWISE = Case("tiny", "depthwise", ConvProblem(1, 5, 4, 2, 2, 3, 3, padding=1, groups=2))


@dataclass(frozen=True)
class Step:
    """A piece of the run: its part, a key of `SHARES`; its name; `run` gets all rows, returns its own."""

    part: str
    name: str
    run: Callable[[list[Row]], list[Row]]


@dataclass
class DeviceParts:
    """A whole run.

    Attributes
    ----------
    clock : EventClock or StandIn
        With a stand-in everything is tiny.
    header : dict
        Of the measurement: the roofs are written there, and who failed.
    rivals : list of DeviceRival
    words : str
        Only layers whose name or class holds this.
    on_attempt : callable
        Called before a candidate first runs.
    """

    clock: object
    header: dict
    rivals: list[DeviceRival]
    words: str = ""
    on_attempt: Callable[[], None] = lambda: None

    def steps(self) -> list[Step]:
        """Return the steps, in order."""
        images, layers, depthwise = [cases.image()], networks.convolutions(), networks.depthwise()
        (many, one), batches = cases.BATCHES, cases.BATCHES
        if self.clock.simulated:
            images, layers, depthwise, batches = [TINY_IMAGE], [TINY_LAYER], [TINY_DEPTHWISE], (2, 1)
        steps = [Step("roofs", "roofs: of this device", self._roofs)]
        steps += [
            self._step("image", "image", case, self._image) for case in cases.chosen(images, self.words)
        ]
        for part, images in zip((many, one), batches, strict=True):
            for name, group in {"layers": layers, "depthwise": depthwise}.items():
                for case in cases.chosen(group, self.words):
                    batch = cases.in_batches(case, images)
                    steps.append(self._step(f"{name}_{part}", f"{name}_{images}", batch, self._layer))
            if part == many:
                steps += self._ladders()
        return steps

    def _ladders(self) -> list[Step]:
        return [
            Step("ladder", f"ladder: {ladder.name}", partial(self._ladder, ladder))
            for ladder in cases.ladders()
            if cases.chosen([self._case_of(ladder)], self.words)
        ]

    def _step(self, part: str, rows: str, case: Case, run) -> Step:
        """Return a step; `rows` is what the part of its rows is called."""
        return Step(part, f"{rows}: {case.name}", partial(run, rows, case))

    # -- the parts -----------------------------------------------------------------------------------------

    def _roofs(self, rows: list[Row]) -> list[Row]:
        count = self.header["device"].get("multiprocessors") or 1
        found = roofs.measure(self.clock, count, tiny=self.clock.simulated)
        if not self.clock.simulated:
            self.header["roofs"] = found.as_dict()
        return []

    def _image(self, part: str, case: Case, rows: list[Row]) -> list[Row]:
        with self._contest(f"{part}: {case.name}", case) as contest:
            contest.enter_copy()
            contest.enter_ours({name: ALGORITHMS[name] for name in FOR_PICTURES})
            contest.enter_rivals(rival for rival in self.rivals if rival.numbers == "float32")
            return contest.rows(part)

    def _ladder(self, ladder: Ladder, rows: list[Row]) -> list[Row]:
        case = self._case_of(ladder)
        with self._contest(f"ladder: {ladder.name}", case) as contest:
            rungs = list(ladder.rungs().items())
            if self.clock.simulated:
                del rungs[2:]  # the higher ones have large tiles, which take the simulator seconds each
            contest.enter_ours(dict(rungs))
            contest.enter_rivals(rival for rival in self.rivals if rival.numbers == "float32")
            return contest.rows(f"ladder {ladder.name}")

    def _case_of(self, ladder: Ladder) -> Case:
        if not self.clock.simulated:
            return ladder.case
        return {"filter": TINY_IMAGE, "depthwise": TINY_DEPTHWISE}.get(ladder.name, TINY_LAYER)

    def _layer(self, part: str, case: Case, rows: list[Row]) -> list[Row]:
        with self._contest(f"{part}: {case.name}", case) as contest:
            contest.enter_ours()
            contest.enter_rivals(self.rivals)
            return contest.rows(part)

    @contextmanager
    def _contest(self, label: str, case: Case) -> Iterator[DeviceContest]:
        """Open a contest without those who did harm before; the header is told who tries, and who fails."""

        def on_attempt(name):
            self.header["at"] = [label, name]
            self.on_attempt()

        attempts = Attempts(on_attempt, self.header["avoid"].get(label, ()))
        contest = DeviceContest(case, TINY if self.clock.simulated else FULL, self.clock, attempts)
        try:
            yield contest
        finally:
            for name in contest.left_out:
                self.header["left out"].setdefault(name, []).append(label)
            for kind in ("wrong", "refused"):
                for name, reason in getattr(attempts, kind).items():
                    self.header[kind].setdefault(name, {})[label] = reason


def check_words(words: str, simulate: bool = False) -> None:
    """Refuse words that choose no layer at all; in the simulator there are only the tiny ones.

    Raises
    ------
    ParameterError
    """
    everything = [cases.image(), *networks.convolutions(), *networks.depthwise()]
    if simulate:
        everything = [TINY_IMAGE, TINY_LAYER, TINY_DEPTHWISE]
    if not cases.chosen(everything, words):
        names = ", ".join(dict.fromkeys(case.network for case in everything))
        kinds = "; ".join(sorted({case.kind for case in everything}))
        raise ParameterError(
            f"--layers={words[:60]!r} chooses no layer; expected a part of a name ({names}, "
            f"{everything[1].layer}, ...) or of a class ({kinds})"
        )
