"""Real networks: their convolution layers, and whole networks that run from a photograph to features.

    networks.load("resnet18")["conv1"].problem           the shape of a layer; tables lie in `data/networks/`
    model = networks.load_model("resnet18")              the whole network, with random weights
    features = model.prepare("auto").run(photograph(224))

Read in this order:

    layers              the tables of layers
    architectures       how ResNet-18, SqueezeNet 1.0 and MobileNetV1 are put together
    graph               an architecture as a list of nodes
    model               the front door to a network that runs: its graph, and weights for it
    ops                 what lies between convolutions: pooling, sums, copies
    fuse                which of that a convolution can do on its way
    memory_plan         which arrays the nodes need, and how few; one workspace for all convolutions
    bind, executor      a plan for every layer, and the loop that runs them
    profile             what a run took
    training            a small network that learns
"""

from __future__ import annotations

from typing import Any

from convlab.networks.layers import Layer, Network, load, names
from convlab.support.lazy import door


def _offer() -> dict[str, Any]:
    from convlab.networks.executor import Executor
    from convlab.networks.model import Model, load_model, model_names
    from convlab.networks.profile import Profile
    from convlab.networks.training.checkpointing import Checkpointed, checkpointing
    from convlab.networks.training.descent import Training
    from convlab.networks.training.digits import load_digits
    from convlab.networks.training.layers import Conv, Dense, MaxPool, ReLU
    from convlab.networks.training.loss import SoftmaxCrossEntropy
    from convlab.networks.training.sequential import Sequential, digits_network

    return locals()


_taking_numba, __getattr__ = door(__name__, _offer)
__all__ = sorted(["Layer", "Network", "load", "names", *_taking_numba])
