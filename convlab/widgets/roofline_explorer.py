"""The roofline explorer: a layer as a point under the roofs of a machine, and what holds it up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import traitlets

from convlab import networks
from convlab.algorithms import ALGORITHMS
from convlab.benchmark.roofline import BOUND, Roofline, in_a_sentence
from convlab.benchmark.roofline_points import Point, point
from convlab.figures.roofline_chart import in_words
from convlab.problem import ConvProblem
from convlab.support.checked import check_hint
from convlab.support.checks import check_choice, check_whole
from convlab.support.units import count_text
from convlab.widgets.roofline_data import (
    MOST_TAPS,
    STEPS,
    backend_of,
    cost_table,
    machines,
    network_data,
    plain,
    refusals,
    refused,
    shaped,
)
from convlab.widgets.shared.live import Live, Step
from convlab.widgets.shared.traits import Choice, Whole

SENTENCES = BOUND | {
    "most": "{layer} with {algorithm}: at most {speed}, by {bound}",
    "refused": "{algorithm} does not serve {layer}",
}
GPU = "nvidia_h200"  # a datasheet to compare with


class RooflineExplorer(Live):
    """A layer under the roofs of a machine: where it stands by the cost model, and by the clock.

    Parameters
    ----------
    network : str
        One of `convlab.networks.names()`.
    layer : str or int
        By name or position.
    algorithm : str
    batch : int
        Images, 1 to 4096.
    C, K, R : int
        Channels, filters, and rows and columns of a filter, in place of the layer's own; 0 for those. A
        depthwise layer stays depthwise: K and the groups follow C.
    machine : str, optional
        A datasheet (`datasheets.names()`) or a saved measurement, by the name of its file, or "here". By
        default "here" if it is given, else the first measurement.
    here : Roofline, optional
        The roofs of this machine, `convlab.benchmark.roofline.here()`.
    measured : sequence of Point
        What was measured on this machine.

    Raises
    ------
    ConvError
        If one of these does not exist, or is out of range.

    Examples
    --------
    >>> RooflineExplorer(layer="conv1", machine="nvidia_t4").bound
    'the multiply-adds'
    """

    sentences = SENTENCES
    measured_here = ("here", "measured")
    network = Choice(networks.names(), "resnet18")
    layer = Whole(0, 999, 0)
    batch = Whole(1, 4096, 1)
    algorithm = Choice(tuple(ALGORITHMS), "indirect")
    C, K, R = Whole(0, 4096, 0), Whole(0, 4096, 0), Whole(0, MOST_TAPS, 0)
    machine = traitlets.Unicode().tag(sync=True, turned=True)
    machines = traitlets.Dict().tag(sync=True)
    catalogue = traitlets.List().tag(sync=True)
    refusals = traitlets.Dict().tag(sync=True)
    steps = traitlets.Dict(STEPS).tag(sync=True)

    def __init__(
        self,
        network: str = "resnet18",
        layer: str | int = "layer1.0.conv1",
        *,
        algorithm: str = "indirect",
        batch: int = 1,
        C: int = 0,
        K: int = 0,
        R: int = 0,
        machine: str | None = None,
        here: Roofline | None = None,
        measured: Sequence[Point] = (),
    ):
        check_hint("here", here, Roofline | None)
        check_hint("measured", measured, Sequence[Point])
        loaded = networks.load(network)
        if not isinstance(layer, str):
            check_whole("layer", layer, 0, len(loaded) - 1)
        at = loaded.layers.index(loaded[layer])
        self._lines, self._times = machines(here, measured)
        if machine is not None:
            check_choice("machine", machine, self._lines)
        super().__init__(
            **{"network": network, "layer": at, "algorithm": algorithm},
            **{"batch": batch, "C": C, "K": K, "R": R},
            machine=next(iter(self._lines)) if machine is None else machine,
            machines={key: plain(key, line) for key, line in self._lines.items()},
            catalogue=[network_data(name, self._times) for name in networks.names()],
            refusals=refusals(),
            limits={"machine": self._lines},
        )

    def lead(self) -> list[Step]:
        """Return the steps: fewer channels, more bytes, other roofs."""
        other = "im2row" if self.algorithm != "im2row" else "direct"
        return [
            Step("Make C smaller: the point walks to the left. When does it leave the flat roof?"),
            Step(
                f"The same layer with {other}: which way does the point move, and why?", {"algorithm": other}
            ),
            Step(
                "The same layer on a GPU, by its datasheet: the roofs have moved. What holds it up there?",
                {"machine": GPU, "algorithm": "implicit_gemm"},
            ),
        ]

    @traitlets.validate("machine")
    def _is_machine(self, proposal):
        return check_choice("machine", proposal.value, self._lines)

    @property
    def line(self) -> Roofline:
        """The roofs that are shown now."""
        return self._lines[self.machine]

    @property
    def problem(self) -> ConvProblem:
        """The layer that is shown now."""
        layers = networks.load(self.network).layers
        own = layers[min(self.layer, len(layers) - 1)].problem
        return shaped(own, self.batch, self.C, self.K, self.R)

    @property
    def point(self) -> Point | None:
        """Where the layer stands by the model, as near to the roofs as it can come; None if it is refused."""
        problem = self.problem
        if refused(self.algorithm, self.machine, problem):
            return None
        one = point(problem, self.algorithm, 1.0, backend=backend_of(self.machine))
        return replace(one, seconds=problem.flops / self.line.ceiling(one))

    @property
    def bound(self) -> str:
        """What holds it up there."""
        name = max(self.line.shares(self.point).items(), key=lambda one: one[1])[0]
        return in_a_sentence(name)

    def tables(self) -> str:
        """Return the cost model of every algorithm as JavaScript."""
        return cost_table()

    def describe(self) -> str:
        """Return the present state in words."""
        layers = networks.load(self.network).layers
        names = {"layer": layers[min(self.layer, len(layers) - 1)].name, "algorithm": self.algorithm}
        one, line = self.point, self.line
        if one is None:
            reason = refused(self.algorithm, self.machine, self.problem)
            return in_words(f"{self._say('refused', **names)}: {reason}", line)
        finding = self._say("most", speed=f"{count_text(one.speed)}FLOP/s", bound=self.bound, **names)
        seconds = self._times.get(self.machine, {}).get(self.problem, {}).get(self.algorithm)
        took = [replace(one, seconds=seconds)] if seconds else []
        most = replace(one, algorithm=f"{self.algorithm}, at most")
        return in_words(finding, line, [most, *took])
