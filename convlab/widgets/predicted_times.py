"""Predicted times: what the model says of every algorithm on a layer, by phases, and which it chooses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import traitlets

from convlab import networks
from convlab.auto.predict import Prediction, Speeds, predict
from convlab.auto.ranking import order_of
from convlab.problem import ConvProblem
from convlab.support.checks import check_choice, check_whole
from convlab.support.units import time_text
from convlab.widgets.predicted_data import (
    CHOICES,
    HERE,
    LAYERS,
    SLOWER,
    catalogue,
    machines,
    model_table,
    on_cpu,
    own_numbers,
    own_problem,
    plain,
    slowed,
)
from convlab.widgets.roofline_data import refusals
from convlab.widgets.shared.live import Live, Step
from convlab.widgets.shared.traits import Choice, Whole, as_word

OWN = "own"  # the "network" that is the learner's own layer
BATCHES = ("1", "2", "4", "8", "16", "32")
SENTENCES = {
    "finding": "{layer}: the model chooses {algorithm}, {time}",
    "algorithm": "{name} {time}: {phases}",
    "phase": "{name} {time} ({bound})",
}
_LATE = {"network": "resnet18", "layer": list(LAYERS["resnet18"]).index("layer4.0.conv2")}
FIRST_STEPS = (
    Step("Each bar is an algorithm, the shortest first. Choose other layers: who comes first where?"),
    Step("A late layer, small and deep: who leads now, and what does its bar consist of?", _LATE),
    Step(
        "The same layer with caches and memory ten times slower: who leads now?",
        _LATE | {"slower": "moving"},
    ),
)


class PredictedTimes(Live):
    """The predicted time of every algorithm on one layer, in its phases: computing, moving, beginning.

    Parameters
    ----------
    network : str
        One of `convlab.networks.names()`.
    layer : str or int
        A layer of it, by name or position; equal layers count once, by the first one's name.
    own : mapping, optional
        Your own layer, any of `CHOICES`: H, C, K, R, stride, depthwise. Then `network` and `layer` are not
        used; what is not given is as in layer1 of ResNet-18.
    batch : int
        Images: 1, 2, 4, 8, 16 or 32.
    machine : str
        "here", or the name of a saved measurement of the course that has roofs and overheads.
    slower : str
        What is ten times slower than it was measured: "nothing"; "computing", which is multiply-adds;
        "moving", through caches and memory; or "beginning".

    Raises
    ------
    ConvError
        If one of these is not among the choices.

    Notes
    -----
    The speeds are this machine's, if ``convlab bench speeds`` has measured them, else those of a processor
    like it, which the machine's name then says; with this machine's register tile and one thread.

    Examples
    --------
    >>> PredictedTimes(own={"R": 5, "C": 256}).problem.w_shape
    (64, 5, 5, 256)
    """

    sentences = SENTENCES
    first_steps = FIRST_STEPS
    measured_here = None
    network = Choice((*networks.names(), OWN), "resnet18")
    layer = Whole(0, max(map(len, LAYERS.values())) - 1, 0)
    own = traitlets.Dict().tag(sync=True, turned=True)
    batch = Choice(BATCHES)
    machine = traitlets.Unicode().tag(sync=True, turned=True)
    slower = Choice(SLOWER)
    look = traitlets.Unicode().tag(sync=True, turned=True)  # whose phases are listed; "" is the chosen one
    machines = traitlets.Dict().tag(sync=True)
    catalogue, choices, refusals = (traitlets.Dict().tag(sync=True) for _ in range(3))

    def __init__(
        self,
        network: str = "resnet18",
        layer: str | int = "layer1.0.conv1",
        *,
        own: Mapping[str, int] | None = None,
        batch: int = 1,
        machine: str = HERE,
        slower: str = "nothing",
    ):
        check_choice("network", network, LAYERS)
        found = machines()
        check_choice("machine", machine, found)
        self._speeds = {name: speeds for name, (_, speeds) in found.items()}
        position = 0 if own is not None else _position(network, layer)
        super().__init__(
            **{
                "network": network if own is None else OWN,
                "layer": position,
                "batch": as_word("batch", batch, BATCHES),
            },
            **{"own": own_numbers({} if own is None else own), "machine": machine, "slower": slower},
            **{"catalogue": catalogue(), "choices": CHOICES, "refusals": refusals()},
            machines={name: [words, plain(speeds)] for name, (words, speeds) in found.items()},
            limits={"machine": found, "look": ("", *on_cpu())}
            | {f"own.{name}": choices for name, choices in CHOICES.items()},
        )

    @traitlets.validate("machine")
    def _is_machine(self, proposal):
        return check_choice("machine", proposal.value, self._speeds)

    @traitlets.validate("own")
    def _is_own(self, proposal):
        return own_numbers(proposal.value)

    @traitlets.validate("look")
    def _is_algorithm(self, proposal):
        return check_choice("look", proposal.value, ("", *on_cpu()))

    @property
    def problem(self) -> ConvProblem:
        """The layer that is shown now."""
        if self.network == OWN:
            return own_problem(self.own, int(self.batch))
        layers = list(LAYERS[self.network].values())
        return replace(layers[min(self.layer, len(layers) - 1)], N=int(self.batch))

    @property
    def name(self) -> str:
        """The layer's name."""
        names = list(LAYERS.get(self.network, ()))
        return names[min(self.layer, len(names) - 1)] if names else "your layer"

    @property
    def speeds(self) -> Speeds:
        """The speeds of the machine that is shown now."""
        return slowed(self._speeds[self.machine], self.slower)

    def tables(self) -> str:
        """Return the algorithms' phases and formulas as JavaScript."""
        return model_table()

    def describe(self) -> str:
        """Return the present state in words."""
        problem, speeds = self.problem, self.speeds
        reasons = {name: one.supports(problem) for name, one in on_cpu().items()}
        found = {name: predict(problem, name, speeds) for name, reason in reasons.items() if not reason}
        seconds = {name: one.seconds for name, one in found.items()}
        chosen = order_of(seconds, problem)[0]
        finding = self._say("finding", layer=self.name, algorithm=chosen, time=time_text(seconds[chosen]))
        each = "; ".join(phases_text(name, found[name]) for name in sorted(seconds, key=seconds.get))
        refused = "; ".join(f"{name}: {reason}" for name, reason in reasons.items() if reason)
        others = f" These do not serve it: {refused}." if refused else ""
        return f"{finding}. Predicted times, phase by phase: {each}.{others}"


def phases_text(name: str, prediction: Prediction) -> str:
    """Return a prediction in words: "im2row 2.26 ms: fill the matrix 150 µs (moving), ..."."""
    phases = (
        SENTENCES["phase"].format(name=part.name, time=time_text(part.seconds), bound=part.bound)
        for part in prediction.parts
    )
    return SENTENCES["algorithm"].format(
        name=name, time=time_text(prediction.seconds), phases=", ".join(phases)
    )


def _position(network: str, layer: str | int) -> int:
    names = list(LAYERS[network])
    if isinstance(layer, str):
        return names.index(check_choice("layer", layer, names))
    return check_whole("layer", layer, 0, len(names) - 1)
