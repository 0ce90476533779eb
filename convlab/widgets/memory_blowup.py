"""The memory blow-up explorer: what each algorithm allocates beside x, w and y, layer by layer."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import traitlets

from convlab import networks
from convlab.algorithms import ALGORITHMS, Algorithm, Form, Formula
from convlab.cost.formula import readable
from convlab.errors import ConvError, ParameterError
from convlab.problem import DTYPES, ConvProblem
from convlab.support.checks import check_choice, check_whole
from convlab.support.units import bytes_text, ratio_text
from convlab.widgets.shared.live import Live
from convlab.widgets.shared.traits import Choice, Whole, check_range

OWN = "own"  # the "network" that is the learner's own layer

# The numbers of an own layer and their ranges.
_OWN_RANGES = {
    **{"H": (1, 8192), "W": (1, 8192), "C": (1, 8192), "K": (1, 8192), "R": (1, 31), "S": (1, 31)},
    **{"stride": (1, 16), "padding": (0, 31), "dilation": (1, 31), "groups": (1, 8192)},
}

# All windows written out, and a problem of different primes, where no other formula comes to the same.
_WINDOWS = Formula("N*P*Q * R*S*C * b")
_PRIMES = ConvProblem(N=7, H=31, W=43, C=11 * 13, K=11 * 17, R=3, S=5, stride=2, groups=11)


SENTENCES = {
    "refused": "{algorithm} does not serve {layer}",
    "nothing": "{layer}: {algorithm} needs nothing beside x, w and y",
    "ratio": "{layer}: the {algorithm} workspace is {ratio} its input",
}

# Memories to hold the bars against: bytes, and what has as much.
MEMORIES = {
    8 << 30: "laptop",
    16 << 30: "laptop",
    24 << 30: "graphics card",
    80 << 30: "data-centre GPU",
}


class MemoryBlowup(Live):
    """The bytes of every layer of a network, and of every algorithm's workspace, here and at its peak.

    Parameters
    ----------
    network : str
        One of `convlab.networks.names()`.
    layer : str or int, optional
        The layer to look at, by name or position. By default the one with the largest workspace.
    problem : ConvProblem, optional
        Your own layer; then `network` and `layer` are not used. Its N and dtype count, and stride, padding
        and dilation must be the same on both axes.
    batch : int
        Images in the batch, 1 to 4096.
    dtype : str
        "float16", "float32" or "float64".
    algorithm : str
        The algorithm whose workspace is drawn for every layer.

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
    algorithm = traitlets.Unicode().tag(sync=True)
    own = traitlets.Dict().tag(sync=True)
    own_ranges = traitlets.Dict(_OWN_RANGES).tag(sync=True)
    own_refusals = traitlets.Dict().tag(sync=True)  # for the own layer as it is now: asked of the kernel
    catalogue = traitlets.List().tag(sync=True)  # the networks and their layers
    refusals = traitlets.Dict().tag(sync=True)  # reasons, by dtype, network and layer

    def __init__(
        self,
        network="resnet18",
        layer=None,
        *,
        problem=None,
        batch=1,
        dtype="float32",
        algorithm="im2row",
    ):
        algorithm_named(algorithm)
        if problem is not None:
            if not isinstance(problem, ConvProblem):
                raise ParameterError(f"problem is a {type(problem).__name__}; expected a ConvProblem")
            batches = MemoryBlowup.batch
            check_range("problem.N", problem.N, [problem.N], batches.least, batches.most)
            network, batch, dtype, own = OWN, problem.N, problem.dtype, _own_numbers(problem)
            position = 0
        else:
            loaded = networks.load(network)
            position = _position(loaded, layer, algorithm)
            own = _largest_numbers(loaded.layers[position].problem)
        catalogue = [_network_data(name) for name in networks.names()]
        super().__init__(
            **{"network": network, "layer": position, "batch": batch, "dtype": dtype, "algorithm": algorithm},
            **{"own": own, "catalogue": catalogue, "refusals": _refusals()},
        )
        self.observe(self._ask, ("own", "batch", "dtype"))
        self._ask()

    @traitlets.validate("algorithm")
    def _is_algorithm(self, proposal):
        algorithm_named(proposal.value)
        return proposal.value

    @property
    def problem(self) -> ConvProblem:
        """The layer that is shown now, with the batch and the dtype that are shown now."""
        if self.network == OWN:
            return ConvProblem(N=self.batch, dtype=self.dtype, **self.own)
        layers = networks.load(self.network, batch=self.batch, dtype=self.dtype).layers
        return layers[min(self.layer, len(layers) - 1)].problem

    def tables(self) -> str:
        """Return the algorithms and the memories as JavaScript."""
        return algorithm_table() + f"const MEMORIES = {json.dumps(list(MEMORIES.items()))};\n"

    def describe(self) -> str:
        """Return the present state in words."""
        algorithm, problem = algorithm_named(self.algorithm), self.problem
        if self.network == OWN:
            return f"{self._finding('your layer')}. Bars: {'; '.join(bars_in_words(problem))}."
        network = networks.load(self.network, batch=self.batch, dtype=self.dtype)
        name = network.layers[min(self.layer, len(network) - 1)].name
        return (
            f"Above, for each of the {len(network)} convolutions of {network.title}, two bars: the input and "
            f"the {algorithm.name} workspace. {self._finding(name)}. "
            f"Below, bars: {'; '.join(bars_in_words(problem, network))}."
        )

    def _finding(self, layer: str) -> str:
        """Return what the figure says about one layer, as its title."""
        algorithm, problem = algorithm_named(self.algorithm), self.problem
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
        reasons = _reasons(problem)
        self.own_refusals = {"own": self.own, "dtype": self.dtype, "batch": self.batch, "reasons": reasons}


def algorithm_named(name: str) -> Algorithm:
    """Return an algorithm of the table, or say which there are."""
    return ALGORITHMS[check_choice("algorithm", name, ALGORITHMS)]


def form_of(algorithm: Algorithm) -> Form:
    """Return the form whose memory is shown: the one for the CPU, else the algorithm's first."""
    return algorithm.forms.get("cpu") or next(iter(algorithm.forms.values()))


def workspace_of(algorithm: Algorithm, problem: ConvProblem) -> int:
    """Return the workspace of that form, or 0 where the algorithm refuses and so allocates nothing."""
    return 0 if algorithm.supports(problem) else form_of(algorithm).workspace_bytes(problem)


def bars_in_words(problem: ConvProblem, network: networks.Network | None = None) -> list[str]:
    """Return x, w, y and the workspace of every algorithm; of x and the workspaces also their peaks."""

    def peak(count) -> str:
        top = max(network, key=lambda layer: count(layer.problem)) if network else None
        most = count(top.problem) if top else 0
        return f" (peak {bytes_text(most)} at {top.name})" if most else ""

    def workspace(algorithm: Algorithm) -> str:
        size, reason = workspace_of(algorithm, problem), algorithm.supports(problem)
        words = f"{bytes_text(size)}, {ratio_text(size / problem.x_bytes)} input" if size else "0"
        words = f"refused: {reason}" if reason else words
        return f"{algorithm.name} {words}{peak(lambda p: workspace_of(algorithm, p))}"

    return [
        f"input x {bytes_text(problem.x_bytes)}{peak(lambda p: p.x_bytes)}",
        f"filter w {bytes_text(problem.w_bytes)}",
        f"output y {bytes_text(problem.y_bytes)}",
        *map(workspace, ALGORITHMS.values()),
    ]


def algorithm_table() -> str:
    """Return `ALGORITHMS` as JavaScript: names, words, and each workspace formula as a function."""
    lines = ["export const ALGORITHMS = ["]
    for algorithm in ALGORITHMS.values():
        formula = form_of(algorithm).workspace_bytes
        facts = {
            "name": algorithm.name,
            "summary": algorithm.summary,
            "formula": str(formula),
            "parts": [[name, readable(expression)] for name, expression in formula.parts.items()],
            "unrolls": formula(_PRIMES) == _WINDOWS(_PRIMES),  # is this the matrix of all windows?
        }
        fields = ", ".join(f"{key}: {json.dumps(fact, ensure_ascii=False)}" for key, fact in facts.items())
        workspace, values = (
            f"({{ N, H, W, C, K, R, S, P, Q, G, b }}) => {{ {body} }}"
            for body in (formula.javascript, formula.javascript_values)
        )
        lines.append(f"  {{ {fields}, workspace: {workspace}, values: {values} }},")
    return "\n".join([*lines, "];\n"])


def _position(network: networks.Network, layer: str | int | None, algorithm: str) -> int:
    if layer is None:
        table = algorithm_named(algorithm)
        return max(range(len(network)), key=lambda i: workspace_of(table, network.layers[i].problem))
    if isinstance(layer, str):
        return network.layers.index(network[layer])
    try:
        return check_whole("layer", layer, 0, len(network) - 1)
    except ParameterError as error:
        raise ParameterError(f"{error}, or the name of a layer of {network.title}") from None


def _largest_numbers(problem: ConvProblem) -> dict[str, int]:
    """Return a problem as the ten numbers of an own layer, the largest where it has several."""
    numbers = {name: getattr(problem, name) for name in _OWN_RANGES}
    return {name: int(np.max(number)) for name, number in numbers.items()}


def _own_numbers(problem: ConvProblem) -> dict[str, int]:
    """Return a problem as the ten numbers of an own layer, or say what this figure cannot show."""
    for name, (least, most) in _OWN_RANGES.items():
        given = getattr(problem, name)
        entries = np.unique(given).tolist()
        if len(entries) > 1:
            raise ParameterError(f"problem.{name}={given}; this figure takes the same {name} on every side")
        check_range(f"problem.{name}", given, entries, least, most)
    return _largest_numbers(problem)


def _network_data(name: str) -> dict:
    network = networks.load(name)
    layers = [
        {"name": layer.name, **{letter: getattr(layer.problem, letter) for letter in "HWCKRS"}}
        | {key: getattr(layer.problem, key) for key in ("stride", "padding", "dilation", "groups")}
        for layer in network
    ]
    return {"name": name, "title": network.title, "source": network.source, "layers": layers}


def _reasons(problem: ConvProblem) -> dict[str, str]:
    reasons = {name: algorithm.supports(problem) for name, algorithm in ALGORITHMS.items()}
    return {name: reason for name, reason in reasons.items() if reason}


def _refusals() -> dict:
    """Return why algorithms refuse layers: {dtype: {network: {layer: {algorithm: reason}}}}."""
    found = {}
    for dtype in DTYPES:
        for name in networks.names():
            for position, layer in enumerate(networks.load(name)):
                if reasons := _reasons(replace(layer.problem, dtype=dtype)):
                    found.setdefault(dtype, {}).setdefault(name, {})[str(position)] = reasons
    return found
