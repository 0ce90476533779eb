"""Who we measure ourselves against on a GPU: cuDNN, as PyTorch calls it, in every form a user can ask for.

    cuDNN                  float32, and float32 multiplications too (TF32 off)
    cuDNN TF32             float32 whose multiplications run on tensor cores, rounded to 11 bits
    cuDNN fp16             float16 in memory, tensor cores
    ... channels_last      the same with arrays in NHWC order

cuDNN chooses the algorithm: its benchmark mode is on, so it has tried them on the first call of each shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from convlab.algorithms import ALGORITHMS
from convlab.benchmark.baselines import Call
from convlab.problem import ConvProblem

HALF = 2**13  # how much coarser numbers of 11 bits are than float32's, of 24
# float32 is free to use Winograd's transforms, which lose some bits.
_ROUNDING = {"float32": ALGORITHMS["winograd_4x4"].rounding, "TF32": HALF, "fp16": HALF}


@dataclass(frozen=True)
class DeviceRival:
    """One way to have cuDNN compute a convolution.

    Attributes
    ----------
    name : str
    numbers : str
        "float32", "TF32" or "fp16".
    channels_last : bool
    """

    name: str
    numbers: str
    channels_last: bool

    @property
    def rounding(self) -> float:
        """How far it may be off, as `Algorithm.rounding`."""
        return _ROUNDING[self.numbers]

    def refuses(self, problem: ConvProblem) -> str | None:
        """Return why it cannot serve a problem, or None."""
        if any(before != after for before, after in problem.padding):
            return "padding on one side needs a copy of x"
        return None

    def prepare(self, problem: ConvProblem, x: np.ndarray, w: np.ndarray, where: str = "cuda") -> Call:
        """Put x and w on the device in the order that this form wants, and return the call."""
        import torch

        torch.set_grad_enabled(False)
        kind = torch.float16 if self.numbers == "fp16" else torch.float32
        order = torch.channels_last if self.channels_last else torch.contiguous_format
        x_, w_ = (
            torch.from_numpy(array).to(where).permute(0, 3, 1, 2).to(kind).contiguous(memory_format=order)
            for array in (x, w)
        )
        padding = [before for before, _ in problem.padding]
        step = problem.stride, padding, problem.dilation, problem.groups
        tf32, cudnn, convolve = self.numbers != "float32", torch.backends.cudnn, torch.nn.functional.conv2d

        def run():
            cudnn.benchmark, cudnn.allow_tf32 = True, tf32
            return convolve(x_, w_, None, *step)

        return Call(run, lambda y: y.permute(0, 2, 3, 1).float().cpu().numpy())


RIVALS = {
    rival.name: rival
    for rival in (
        DeviceRival(f"cuDNN{number}{order}", numbers, bool(order))
        for number, numbers in (("", "float32"), (" TF32", "TF32"), (" fp16", "fp16"))
        for order in ("", " channels_last")
    )
}
FLOAT32 = ("cuDNN", "cuDNN channels_last")
TF32 = ("cuDNN TF32", "cuDNN TF32 channels_last")
FP16 = ("cuDNN fp16", "cuDNN fp16 channels_last")


def missing(wanted: bool, simulated: bool) -> str | None:
    """Return why no rival takes part, or None if they do."""
    if simulated:
        return "there is no GPU: this is the simulator"
    if not wanted:
        return "not asked for"
    if not find_spec("torch"):
        return "PyTorch is not installed"
    try:
        import torch

        return None if torch.cuda.is_available() else "this PyTorch finds no GPU"
    except Exception as error:  # a library built for another machine fails in ways of its own
        return f"PyTorch does not work here: {type(error).__name__}: {error}"
