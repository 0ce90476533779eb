"""The layers that `convlab bench` measures, each with its class and how many layers of a network are like it.

Every network runs some shapes several times: they are measured once, and counted as often as they occur.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from convlab import networks
from convlab.errors import ParameterError
from convlab.networks import load_model, model_names
from convlab.problem import ConvProblem
from convlab.support.checked import Count, checked

# Filters of 5x5 became rare; these have the sizes of layers that once had them.
_LIKE = {
    "AlexNet-like conv2": ConvProblem(1, 27, 27, 64, 192, 5, 5, padding=2),
    "GoogLeNet-like 3a": ConvProblem(1, 28, 28, 16, 32, 5, 5, padding=2),
    "GoogLeNet-like 5b": ConvProblem(1, 7, 7, 48, 128, 5, 5, padding=2),
}


@checked
@dataclass(frozen=True)
class Case:
    """A layer to be measured.

    Attributes
    ----------
    network, layer : str
        Where it comes from: the first layer of its shape.
    problem : ConvProblem
    count : int
        Layers of that network with this shape.
    """

    network: str
    layer: str
    problem: ConvProblem
    count: Count = 1

    @property
    def name(self) -> str:
        """Network and layer in one word each."""
        return f"{self.network} {self.layer}"

    @property
    def kind(self) -> str:
        """The class of layers it belongs to, as the paper on indirect convolution divides them."""
        return kind(self.problem)


def kind(problem: ConvProblem) -> str:
    """Return the class of a problem, e.g. "3x3 stride 2" or "1x1 stride 1, K = 16"."""
    text = f"{problem.R}x{problem.S} stride {problem.stride[0]}"
    if problem.groups == problem.C > 1:
        return f"{text}, depthwise"
    few = problem.R * problem.S == problem.stride[0] == 1 and problem.K <= 16
    return f"{text}, K = {problem.K}" if few else text


def of_network(name: str) -> list[Case]:
    """Return the distinct layers of a network, in order."""
    first = {}
    for layer in networks.load(name):
        first.setdefault(layer.problem, layer.name)
    return [
        Case(name, first[problem], problem, count)
        for problem, count in networks.load(name).distinct().items()
    ]


def product() -> list[Case]:
    """Return the one matrix product that shows the register tile at its best: a 1x1 filter, stride 1."""
    return [Case("product", "M1008-K1152-N768", ConvProblem(1, 1008, 1, 1152, 768, 1, 1))]


def convolutions() -> list[Case]:
    """Return the distinct layers of ResNet-18 and SqueezeNet 1.0."""
    return of_network("resnet18") + of_network("squeezenet1_0")


def other_networks() -> list[Case]:
    """Return the distinct layers of the networks at hand that are not run as a whole."""
    return [case for name in networks.names() if name not in model_names() for case in of_network(name)]


def depthwise() -> list[Case]:
    """Return MobileNetV1's distinct depthwise layers, padded on both sides.

    Keras pads the strided ones at the bottom and the right only. PyTorch would have to copy the picture for
    that; padded by one pixel all round it need not, and P and Q are the same.
    """
    chosen = [case for case in of_network("mobilenet_v1") if case.problem.groups > 1]
    return [replace(case, problem=replace(case.problem, padding=1)) for case in chosen]


def five_by_five() -> list[Case]:
    """Return layers with 5x5 filters: those of the networks at hand, else some of the sizes they had."""
    there = [
        case
        for name in networks.names()
        for case in of_network(name)
        if case.problem.R == case.problem.S == 5 and case.problem.groups == 1
    ]
    return there or [Case(*name.split(), problem) for name, problem in _LIKE.items()]


def stacks() -> list[Case]:
    """Return the networks that can be run as a whole, each as if it were one layer: its first."""
    return [Case(name, "whole", load_model(name).layers[0].problem) for name in model_names()]


def select(cases: Iterable[Case], words: str) -> list[Case]:
    """Return the cases whose name or class holds `words`, e.g. "resnet18" or "3x3 stride 1"."""
    return [case for case in cases if words.lower() in f"{case.name} {case.kind}".lower()]


def check_words(words: str) -> None:
    """Refuse words that choose no layer at all.

    Raises
    ------
    ParameterError
    """
    everything = product() + convolutions() + depthwise() + other_networks() + five_by_five() + stacks()
    if not select(everything, words):
        kinds = "; ".join(sorted({case.kind for case in everything}))
        raise ParameterError(
            f"--layers={words[:60]!r} chooses no layer; expected a part of a name (resnet18, squeezenet1_0, "
            f"mobilenet_v1, layer1.0.conv1, product, ...) or of a class ({kinds})"
        )


def one_of_each_kind(cases: Iterable[Case]) -> list[Case]:
    """Return the case in the middle, by work, of every class: for a quick run."""
    kinds: dict[str, list[Case]] = {}
    for case in cases:
        kinds.setdefault(case.kind, []).append(case)
    return [sorted(group, key=lambda case: case.problem.macs)[len(group) // 2] for group in kinds.values()]
