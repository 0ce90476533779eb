"""A whole network in PyTorch: the same graph and the same weights, as one writes them there.

Eager mode, for inference: `conv2d` with its bias, ReLU in place, one call after the other.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convlab.networks.graph import Node
from convlab.networks.model import Model
from convlab.networks.ops import MEAN, SPREAD


def in_torch(model: Model, *, channels_last: bool, threads: int = 1) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function from photos (N, H, W, 3) to features (N, features), computed by PyTorch.

    Parameters
    ----------
    model : Model
    channels_last : bool
        Arrays in NHWC order in memory, else in PyTorch's own, NCHW.
    threads : int
        For the whole process: PyTorch has no other way.

    Raises
    ------
    ImportError
        If PyTorch is not installed.
    """
    import torch

    torch.set_num_threads(threads)
    order = torch.channels_last if channels_last else torch.contiguous_format

    def ordered(array):  # NHWC or KRSC in NumPy, NCHW or KCRS for PyTorch
        return torch.from_numpy(array).permute(0, 3, 1, 2).contiguous(memory_format=order)

    weights = {name: (ordered(w), torch.from_numpy(bias)) for name, (w, bias) in model.weights.items()}
    mean, spread = (ordered(np.array(each, model.dtype).reshape(1, 1, 1, 3)) for each in (MEAN, SPREAD))

    def run(photo: np.ndarray) -> np.ndarray:
        made = {}
        with torch.inference_mode():
            made["photo"] = (ordered(photo) - mean) / spread
            for node in model.nodes[1:]:
                made[node.name] = _do(node, [made[name] for name in node.inputs], weights.get(node.name))
        return made[model.nodes[-1].name].numpy()

    return run


def _do(node: Node, inputs: list, weights):
    """Compute one node."""
    import torch

    if node.op == "conv":
        p = node.problem
        padding = [before for before, _ in p.padding]
        y = torch.nn.functional.conv2d(*inputs, *weights, p.stride, padding, p.dilation, p.groups)
        return y.relu_() if node.relu else y
    if node.op == "max_pool":
        sizes = node.window, node.stride, node.padding
        return torch.nn.functional.max_pool2d(*inputs, *sizes, ceil_mode=node.round_up)
    if node.op == "add":
        return inputs[0].add_(inputs[1]).relu_()
    return torch.cat(inputs, 1) if node.op == "concat" else inputs[0].mean((2, 3))
