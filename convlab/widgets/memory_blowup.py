"""The memory blow-up explorer: what each algorithm allocates beside x, w and y, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence

import traitlets

from convlab import networks
from convlab.algorithms import Algorithm
from convlab.errors import ConvError, ParameterError
from convlab.problem import DTYPES, ConvProblem
from convlab.support.checks import check_whole
from convlab.support.units import ratio_text
from convlab.widgets.memory_data import (
    OWN_RANGES,
    algorithm_named,
    bars_in_words,
    known_names,
    largest_numbers,
    network_data,
    reasons_of,
    refusals,
    tables,
    workspace_of,
)
from convlab.widgets.shared.live import Live, Step
from convlab.widgets.shared.traits import Choice, Whole, Wholes

OWN = "own"  # the "network" that is the learner's own layer

SENTENCES = {
    "refused": "{algorithm} does not serve {layer}",
    "nothing": "{layer}: {algorithm} needs nothing beside x, w and y",
    "ratio": "{layer}: the {algorithm} workspace is {ratio} its input",
}
FIRST_STEPS = (
    Step(
        "Click through the bars, layer by layer: where does the matrix tower over its input, and where not?"
    ),
    Step("The direct loops on this layer: which bars are left, which one is gone?", {"algorithm": "direct"}),
    Step(
        "A batch of 4,096 images: the dashed lines are memories one can buy. Which of them hold the peak?",
        {"batch": 4096},
    ),
)


class MemoryBlowup(Live):
    """The bytes of every layer of a network, and of every algorithm's workspace, here and at its peak.

    Parameters
    ----------
    network : str
        One of `convlab.networks.names()`.
    layer : str or int, optional
        The layer to look at, by name or position. By default the one with the largest workspace.
    batch : int
        Images in the batch, 1 to 4096.
    dtype : str
        "float16", "float32" or "float64".
    algorithm : str
        The algorithm whose workspace is drawn for every layer.
    known : sequence of str, optional
        The algorithms that are listed, such as those that a reader has met; by default all.

    Raises
    ------
    ConvError
        If there is no such network, layer or algorithm, or a number is out of range.

    Notes
    -----
    The algorithms come from `convlab.ALGORITHMS`, with the formulas of their cost model; the figure knows
    none of them by name.

    Examples
    --------
    >>> MemoryBlowup(network="vgg16", batch=8).problem.x_shape
    (8, 224, 224, 64)
    """

    sentences = SENTENCES
    network = Choice((*networks.names(), OWN), "resnet18")
    layer = Whole(0, 999, 0)
    batch = Whole(1, 4096, 1)
    dtype = Choice(DTYPES, "float32")
    algorithm = traitlets.Unicode().tag(sync=True, turned=True)
    own = Wholes(OWN_RANGES)
    own_ranges = traitlets.Dict(OWN_RANGES).tag(sync=True)
    own_refusals = traitlets.Dict().tag(sync=True)  # for the own layer as it is now: asked of the kernel
    catalogue = traitlets.List().tag(sync=True)  # the networks and their layers
    refusals = traitlets.Dict().tag(sync=True)  # reasons, by dtype, network and layer

    def __init__(
        self,
        network: str = "resnet18",
        layer: str | int | None = None,
        *,
        batch: int = 1,
        dtype: str = "float32",
        algorithm: str = "im2row",
        known: Sequence[str] | None = None,
    ):
        self._known = known_names(known)
        chosen = algorithm_named(algorithm, self._known)
        loaded = networks.load(network)
        position = _position(loaded, layer, chosen)
        own = largest_numbers(loaded.layers[position].problem)
        catalogue = [network_data(name) for name in networks.names()]
        super().__init__(
            **{"network": network, "layer": position, "batch": batch, "dtype": dtype, "algorithm": algorithm},
            **{"own": own, "catalogue": catalogue, "refusals": refusals()},
            limits={"algorithm": self._known},
        )
        self.observe(self._ask, ("own", "batch", "dtype"))

    def open(self):
        """Tell the page of this widget, with what is refused of the own layer as it is now."""
        self._ask()
        super().open()

    @traitlets.validate("algorithm")
    def _is_algorithm(self, proposal):
        algorithm_named(proposal.value, self._known)
        return proposal.value

    @property
    def problem(self) -> ConvProblem:
        """The layer that is shown now, with the batch and the dtype that are shown now."""
        if self.network == OWN:
            return ConvProblem(N=self.batch, dtype=self.dtype, **self.own)
        layers = networks.load(self.network, batch=self.batch, dtype=self.dtype).layers
        return layers[min(self.layer, len(layers) - 1)].problem

    def lead(self) -> list[Step]:
        """Return the steps; one on an algorithm that is not listed is left out."""
        return [step for step in FIRST_STEPS if step.state.get("algorithm", self.algorithm) in self._known]

    def tables(self) -> str:
        """Return the algorithms and the memories as JavaScript."""
        return tables(self._known)

    def describe(self) -> str:
        """Return the present state in words."""
        algorithm, problem = algorithm_named(self.algorithm, self._known), self.problem
        if self.network == OWN:
            return f"{self._finding('your layer')}. Bars: {'; '.join(bars_in_words(problem, self._known))}."
        network = networks.load(self.network, batch=self.batch, dtype=self.dtype)
        name = network.layers[min(self.layer, len(network) - 1)].name
        return (
            f"Above, for each of the {len(network)} convolutions of {network.title}, two bars: the input and "
            f"the {algorithm.name} workspace. {self._finding(name)}. "
            f"Below, bars: {'; '.join(bars_in_words(problem, self._known, network))}."
        )

    def _finding(self, layer: str) -> str:
        """Return what the figure says about one layer, as its title."""
        algorithm, problem = algorithm_named(self.algorithm, self._known), self.problem
        space = workspace_of(algorithm, problem)
        word = "refused" if algorithm.supports(problem) else "ratio" if space else "nothing"
        ratio = ratio_text(space / problem.x_bytes)
        return self._say(word, algorithm=algorithm.name, layer=layer, ratio=ratio)

    def _ask(self, change=None):
        """Say which algorithms refuse the own layer; a page without a kernel cannot know."""
        try:
            problem = ConvProblem(N=self.batch, dtype=self.dtype, **self.own)
        except ConvError:
            return  # the figure itself says why this is no convolution
        reasons = reasons_of(problem)
        self.own_refusals = {"own": self.own, "dtype": self.dtype, "batch": self.batch, "reasons": reasons}


def _position(network: networks.Network, layer: str | int | None, algorithm: Algorithm) -> int:
    if layer is None:
        return max(range(len(network)), key=lambda i: workspace_of(algorithm, network.layers[i].problem))
    if isinstance(layer, str):
        return network.layers.index(network[layer])
    try:
        return check_whole("layer", layer, 0, len(network) - 1)
    except ParameterError as error:
        raise ParameterError(f"{error}, or the name of a layer of {network.title}") from None
