"""A whole network in PyTorch: the same steps and the same weights, as one writes them there.

Eager mode, for inference: `conv2d` with its bias, ReLU in place, one call after the other.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convlab.networks.graph import STRIDE, WINDOW, Step
from convlab.networks.network import Stack
from convlab.networks.ops import MEAN, SPREAD


def in_torch(stack: Stack, *, channels_last: bool, threads: int = 1) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function from photos (N, H, W, 3) to features (N, features), computed by PyTorch.

    Parameters
    ----------
    stack : Stack
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

    weights = {name: (ordered(w), torch.from_numpy(bias)) for name, (w, bias) in stack.weights.items()}
    mean, spread = (ordered(np.array(each, stack.dtype).reshape(1, 1, 1, 3)) for each in (MEAN, SPREAD))

    def run(photo: np.ndarray) -> np.ndarray:
        made = {}
        with torch.inference_mode():
            made["photo"] = (ordered(photo) - mean) / spread
            for step in stack.steps[1:]:
                made[step.name] = _do(step, [made[name] for name in step.takes], weights.get(step.name))
        return made[stack.steps[-1].name].numpy()

    return run


def _do(step: Step, takes: list, weights):
    """Take one step."""
    import torch

    if step.does == "conv":
        padding = [before for before, _ in step.problem.padding]
        p = step.problem
        y = torch.nn.functional.conv2d(*takes, *weights, p.stride, padding, p.dilation, p.groups)
        return y.relu_() if step.relu else y
    if step.does == "max_pool":
        return torch.nn.functional.max_pool2d(*takes, WINDOW, STRIDE, step.padding, ceil_mode=step.round_up)
    if step.does == "add":
        return takes[0].add_(takes[1]).relu_()
    return torch.cat(takes, 1) if step.does == "concat" else takes[0].mean((2, 3))
