"""Predicted times: what the model says of every algorithm on a layer, pass by pass, and which it chooses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import traitlets

from convlab import networks
from convlab.auto.predict import Speeds, predict
from convlab.figures import prediction
from convlab.figures.picture import Picture
from convlab.problem import ConvProblem
from convlab.support.checks import check_whole
from convlab.widgets import predicted_data as data
from convlab.widgets.base import Choice, Live, Whole, as_word, check_choice
from convlab.widgets.predicted_data import CHOICES, HERE, LAYERS
from convlab.widgets.roofline_data import refusals

OWN = "own"  # the "network" that is the learner's own layer
BATCHES = ("1", "2", "4", "8", "16", "32")


class PredictedTimes(Live):
    """The predicted time of every algorithm on one layer, in its passes: computing, moving, beginning.

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
        "here", or the name of a saved measurement of the course that has roofs and paces.
    slower : str
        What is ten times slower than it was measured: "nothing"; "computing", which is multiply-adds;
        "moving", through caches and memory; or "beginning".

    Raises
    ------
    ConvError
        If one of these is not among the choices.

    Notes
    -----
    Speeds that were measured on this machine, with its register tile and one thread. The first use on a
    machine measures it, in about a second.

    Examples
    --------
    >>> PredictedTimes(own={"R": 5, "C": 256}).problem.w_shape
    (64, 5, 5, 256)
    """

    source = ("refusals.js", "prediction.js", "predicted_bars.js", "predicted_times.js")
    network = Choice((*networks.names(), OWN), "resnet18")
    layer = Whole(0, max(map(len, LAYERS.values())) - 1, 0)
    own = traitlets.Dict().tag(sync=True)
    batch = Choice(BATCHES)
    machine = traitlets.Unicode().tag(sync=True)
    slower = Choice(data.SLOWER)
    look = traitlets.Unicode().tag(sync=True)  # the algorithm whose passes are listed; "" is the chosen one
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
        found = data.machines()
        check_choice("machine", machine, found)
        self._speeds = {name: speeds for name, (_, speeds) in found.items()}
        position = 0 if own is not None else _position(network, layer)
        super().__init__(
            **{
                "network": network if own is None else OWN,
                "layer": position,
                "batch": as_word("batch", batch, BATCHES),
            },
            **{"own": data.own_numbers({} if own is None else own), "machine": machine, "slower": slower},
            **{"catalogue": data.catalogue(), "choices": CHOICES, "refusals": refusals()},
            machines={name: [words, data.plain(speeds)] for name, (words, speeds) in found.items()},
        )

    @traitlets.validate("own")
    def _is_own(self, proposal):
        return data.own_numbers(proposal.value)

    @traitlets.validate("look")
    def _is_algorithm(self, proposal):
        return check_choice("look", proposal.value, ("", *data.on_cpu()))

    @property
    def problem(self) -> ConvProblem:
        """The layer that is shown now."""
        if self.network == OWN:
            return data.own_problem(self.own, int(self.batch))
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
        return data.slowed(self._speeds[self.machine], self.slower)

    def module(self) -> str:
        """Return the JavaScript, with the algorithms' passes and formulas written into it."""
        return data.model_table() + super().module()

    def draw(self) -> Picture:
        """Return a picture of the present state."""
        problem, speeds = self.problem, self.speeds
        reasons = {name: one.supports(problem) for name, one in data.on_cpu().items()}
        found = {name: predict(problem, name, speeds) for name, reason in reasons.items() if not reason}
        return prediction.bars_of(
            found, problem, name=self.name, refused={name: words for name, words in reasons.items() if words}
        )


def _position(network: str, layer: str | int) -> int:
    names = list(LAYERS[network])
    if isinstance(layer, str):
        return names.index(check_choice("layer", layer, names))
    return check_whole("layer", layer, 0, len(names) - 1)
