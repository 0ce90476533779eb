"""The layers that `convlab bench` measures, each with its class and how many layers of a network are like it.

Every network runs some shapes several times: they are measured once, and counted as often as they occur.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from convlab import networks
from convlab.errors import ParameterError
from convlab.problem import ConvProblem
from convlab.support.checked import Count, checked

BESIDE_OTHERS = ("resnet18", "squeezenet1_0")  # whose layers the baselines run, too


@checked
@dataclass(frozen=True)
class Workload:
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


def of_network(name: str) -> list[Workload]:
    """Return the distinct layers of a network, in order."""
    first = {}
    for layer in networks.load(name):
        first.setdefault(layer.problem, layer.name)
    return [
        Workload(name, first[problem], problem, count)
        for problem, count in networks.load(name).distinct().items()
    ]


def in_batches(workload: Workload, images: int) -> Workload:
    """Return the layer with another number of images."""
    return replace(workload, problem=replace(workload.problem, N=images))


def products() -> list[Workload]:
    """Return the matrix products that show the register tile at its best: a 1x1 filter, stride 1.

    A large one, and one whose operands all lie in a second cache of 1 MiB.
    """
    sizes = (1008, 1152, 768), (84, 768, 128)
    return [Workload("product", f"M{M}-K{K}-N{N}", ConvProblem(1, M, 1, K, N, 1, 1)) for M, K, N in sizes]


def convolutions() -> list[Workload]:
    """Return the distinct layers of ResNet-18 and SqueezeNet 1.0."""
    return [one for name in BESIDE_OTHERS for one in of_network(name)]


def trained() -> list[Workload]:
    """Return the distinct layers of ResNet-18, whose passes backwards are measured."""
    return of_network("resnet18")


def other_networks() -> list[Workload]:
    """Return the distinct layers of the other networks at hand."""
    others = [name for name in networks.names() if name not in BESIDE_OTHERS]
    return [one for name in others for one in of_network(name)]


def depthwise() -> list[Workload]:
    """Return MobileNetV1's distinct depthwise layers, padded on both sides.

    Keras pads the strided ones at the bottom and the right only. PyTorch would have to copy the picture for
    that; padded by one pixel all round it need not, and P and Q are the same.
    """
    chosen = [one for one in of_network("mobilenet_v1") if one.problem.groups > 1]
    return [replace(one, problem=replace(one.problem, padding=1)) for one in chosen]


def whole_networks() -> list[Workload]:
    """Return the networks that can be run as a whole, each as if it were one layer: its first."""
    models = {name: networks.load_model(name) for name in networks.model_names()}
    return [Workload(name, "whole", model.layers[0].problem) for name, model in models.items()]


def five_by_five() -> list[Workload]:
    """Return layers with 5x5 filters, of sizes that networks once had: those at hand have none."""
    return [
        Workload("AlexNet-like", "conv2", ConvProblem(1, 27, 27, 64, 192, 5, 5, padding=2)),
        Workload("GoogLeNet-like", "3a", ConvProblem(1, 28, 28, 16, 32, 5, 5, padding=2)),
        Workload("GoogLeNet-like", "5b", ConvProblem(1, 7, 7, 48, 128, 5, 5, padding=2)),
    ]


def select(workloads: Iterable[Workload], words: str) -> list[Workload]:
    """Return the workloads whose name or class holds `words`, e.g. "resnet18" or "3x3 stride 1"."""
    return [one for one in workloads if words.lower() in f"{one.name} {one.kind}".lower()]


def check_words(words: str, group: Iterable[Workload] | None = None) -> None:
    """Refuse words that choose no layer at all of a group; by default of all that are measured on a CPU.

    Raises
    ------
    ParameterError
    """
    groups = products, convolutions, depthwise, other_networks, whole_networks, five_by_five
    everything = [one for group in groups for one in group()] if group is None else list(group)
    if not select(everything, words):
        networks = ", ".join(dict.fromkeys(one.network for one in everything))
        kinds = "; ".join(sorted({one.kind for one in everything}))
        raise ParameterError(
            f"--layers={words[:60]!r} chooses no layer; expected a part of a name ({networks}, "
            f"{everything[1].layer}, ...) or of a class ({kinds})"
        )


def one_of_each_kind(workloads: Iterable[Workload]) -> list[Workload]:
    """Return the workload in the middle, by work, of every class: for a quick run."""
    kinds: dict[str, list[Workload]] = {}
    for one in workloads:
        kinds.setdefault(one.kind, []).append(one)
    return [sorted(group, key=lambda one: one.problem.macs)[len(group) // 2] for group in kinds.values()]
