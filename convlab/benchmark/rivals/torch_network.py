"""A whole network in PyTorch: the same graph and the same weights, as one writes them there.

Eager mode: `conv2d` with its bias, ReLU in place, one call after the other. Or compiled by PyTorch's inductor
with the weights frozen: it puts them into oneDNN's order once, and joins what lies between the convolutions.
"""

from __future__ import annotations

import numpy as np

from convlab.benchmark.baselines import Call, load_torch, one_side, torch_refuses
from convlab.benchmark.rivals.graph import Graph
from convlab.networks.graph import Node
from convlab.networks.ops import MEAN, SPREAD


def eager(channels_last: bool, graph: Graph, x: np.ndarray, threads: int) -> Call:
    """Prepare the graph in eager mode; arrays are in NHWC order in memory, or in PyTorch's own, NCHW."""
    network, photo = _ready(graph, x, threads, channels_last)
    return _call(network, photo)


def inductor(graph: Graph, x: np.ndarray, threads: int) -> Call:
    """Prepare the graph compiled, which takes some seconds; how arrays lie inside is its own choice."""
    network, photo = _ready(graph, x, threads, channels_last=True)
    with _freezing(threads), load_torch().no_grad():
        compiled = load_torch().compile(network, dynamic=False)
        compiled(photo)
    return _call(compiled, photo)


def compiles() -> object:
    """Compile next to nothing; an error where inductor finds no compiler for C++."""
    torch = load_torch()
    with _freezing(1), torch.no_grad():
        return torch.compile(torch.nn.ReLU())(torch.zeros(8))


def _freezing(threads: int):
    import torch._inductor.config

    return torch._inductor.config.patch({"freezing": True, "cpp.threads": threads})


def _call(network, photo) -> Call:
    def run():
        with load_torch().no_grad():
            return network(photo)

    return Call(run, lambda y: y.permute(0, 2, 3, 1).numpy())


def _ready(graph: Graph, x: np.ndarray, threads: int, channels_last: bool):
    """Return the network as a module, and its input, both in the order that is asked for."""
    torch = load_torch()
    torch.set_num_threads(threads)  # for the whole process: PyTorch has no other way
    order = torch.channels_last if channels_last else torch.contiguous_format

    def ordered(array):  # NHWC or KRSC in NumPy, NCHW or KCRS for PyTorch
        return torch.from_numpy(array).permute(0, 3, 1, 2).contiguous(memory_format=order)

    weights = {name: (ordered(w), torch.from_numpy(bias)) for name, (w, bias) in graph.weights.items()}
    mean, spread = (ordered(np.array(each, x.dtype).reshape(1, 1, 1, 3)) for each in (MEAN, SPREAD))

    class Network(torch.nn.Module):
        """What is frozen must be a module's own."""

        def __init__(self):
            super().__init__()
            self.register_buffer("mean", mean)
            self.register_buffer("spread", spread)
            for place, pair in enumerate(weights.values()):
                for kind, array in zip(("w", "bias"), pair, strict=True):
                    self.register_buffer(f"{kind}{place}", array)
            self.places = {name: place for place, name in enumerate(weights)}

        def forward(self, photo):
            first, *rest = graph.nodes
            made = {first.name: (photo - self.mean) / self.spread}
            for node in rest:
                place = self.places.get(node.name)
                pair = None if place is None else (getattr(self, f"w{place}"), getattr(self, f"bias{place}"))
                made[node.name] = compute(node, [made[name] for name in node.inputs], pair)
            return made[rest[-1].name]

    return Network(), ordered(x)


def compute(node: Node, inputs: list, weights):
    """Compute one node from what PyTorch made of those before it; weights are (w, bias) of a convolution."""
    torch = load_torch()
    if node.op == "conv":
        p = node.problem
        if torch_refuses(p):  # the padding of its two sides differs, which needs a copy
            (top, bottom), (left, right) = p.padding
            inputs, padding = [torch.nn.functional.pad(*inputs, (left, right, top, bottom))], (0, 0)
        else:
            padding = one_side(p)
        y = torch.nn.functional.conv2d(*inputs, *weights, p.stride, padding, p.dilation, p.groups)
        return y.relu_() if node.relu else y
    if node.op == "max_pool":
        sizes = node.window, node.stride, node.padding
        return torch.nn.functional.max_pool2d(*inputs, *sizes, ceil_mode=node.round_up)
    if node.op == "add":
        return inputs[0].add_(inputs[1]).relu_()
    return torch.cat(inputs, 1) if node.op == "concat" else inputs[0].mean((2, 3), keepdim=True)
