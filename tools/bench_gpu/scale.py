"""How large a run is: layers of real networks on a GPU, tiny ones where every step is only tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from convlab.benchmark import layers
from convlab.benchmark.comparison import Effort
from convlab.benchmark.gpu.ladders import IMAGES, Ladder, image
from convlab.benchmark.gpu.roofs import LARGE, SMALL, RoofSizes
from convlab.benchmark.layers import Workload
from convlab.problem import ConvProblem
from tools.bench_gpu.places import GPU


@dataclass(frozen=True)
class Scale:
    """What the steps of a run are taken on.

    Attributes
    ----------
    effort : Effort
    images : int
        Of a layer, where there are many.
    roofs : RoofSizes
    picture : Workload
        One channel and one filter.
    resnet, squeezenet, depthwise : tuple of Workload
        Each network's layers, one image.
    of_ladder : callable
        ``of_ladder(ladder)`` returns the layer that its rungs are compared on.
    """

    effort: Effort
    images: int
    roofs: RoofSizes
    picture: Workload
    resnet: tuple[Workload, ...]
    squeezenet: tuple[Workload, ...]
    depthwise: tuple[Workload, ...]
    of_ladder: Callable[[Ladder], Workload]

    @property
    def layers(self) -> tuple[Workload, ...]:
        """Every layer that a run can be told to keep to."""
        return self.picture, *self.resnet, *self.squeezenet, *self.depthwise


REAL = Scale(
    Effort(rounds=7, most=101, budget=0.4, slow=8.0, patience=0.8),
    IMAGES,
    LARGE,
    image(),
    tuple(layers.of_network("resnet18")),
    tuple(layers.of_network("squeezenet1_0")),
    tuple(layers.depthwise()),
    lambda ladder: ladder.workload,
)

# What the lane simulator can do in a moment.
TINY_IMAGE = Workload("image", "16x12", ConvProblem(1, 16, 12, 1, 1, 3, 3, padding=1))
TINY_LAYER = Workload("tiny", "layer", ConvProblem(1, 5, 4, 4, 8, 3, 3, padding=1), 2)
TINY_DEPTHWISE = Workload("tiny", "depthwise", ConvProblem(1, 5, 4, 2, 2, 3, 3, padding=1, groups=2))

TINY = Scale(
    Effort(rounds=1, most=1, budget=0.0),
    2,
    SMALL,
    TINY_IMAGE,
    (TINY_LAYER,),
    (),
    (TINY_DEPTHWISE,),
    lambda ladder: {"filter": TINY_IMAGE, "depthwise": TINY_DEPTHWISE}.get(ladder.name, TINY_LAYER),
)


def scale_at(place: str) -> Scale:
    """Return how large a run is at a place."""
    return REAL if place == GPU else TINY
