"""The baseline on a GPU: cuDNN, as PyTorch calls it, in every form a user can ask for.

    cuDNN                  float32, and float32 multiplications too (TF32 off)
    cuDNN TF32             float32 whose multiplications run on tensor cores, rounded to 11 bits
    cuDNN fp16             float16 in memory, tensor cores
    ... channels_last      the same with arrays in NHWC order
    PyTorch, PyTorch ...   depthwise layers in NCHW order, which it mostly does not give to cuDNN

cuDNN chooses the algorithm: its benchmark mode is on, so it has tried them on the first call of each shape.

Where each filter reads one channel, and arrays are in NCHW order, PyTorch has kernels of its own. It takes
them for float32, TF32 or not; for float16 a list of sizes says where it calls cuDNN all the same. In NHWC
order it always does (ATen/native/Convolution.cpp, `use_cudnn_depthwise`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from convlab.algorithms import ALGORITHMS
from convlab.benchmark.baselines import Baseline, Call, torch_refuses
from convlab.benchmark.passes import PASSES, shape_of
from convlab.benchmark.saved import Row
from convlab.problem import ConvProblem

HALF = 2**13  # how much coarser numbers of 11 bits are than float32's, of 24
# float32 is free to use Winograd's transforms, which lose some bits.
_ROUNDING = {"": ALGORITHMS["winograd_4x4"].rounding, " TF32": HALF, " fp16": HALF}


def _prepare(
    numbers: str, order: str, problem: ConvProblem, x: np.ndarray, w: np.ndarray, threads: int = 1
) -> Call:
    """Put x and w on the device in the order that this form wants, and return the call."""
    import torch

    torch.set_grad_enabled(False)
    x_, w_ = (_there(torch, array, numbers, order) for array in (x, w))
    padding = [before for before, _ in problem.padding]
    step = problem.stride, padding, problem.dilation, problem.groups
    tf32, cudnn, convolve = bool(numbers), torch.backends.cudnn, torch.nn.functional.conv2d

    def run():
        cudnn.benchmark, cudnn.allow_tf32 = True, tf32
        return convolve(x_, w_, None, *step)

    return Call(run, _as_numpy)


def _prepare_backwards(
    pass_: str, numbers: str, order: str, problem: ConvProblem, one: np.ndarray, other: np.ndarray, threads=1
) -> Call:
    """Prepare what autograd calls for one gradient; `one` and `other` are what that pass reads."""
    import torch

    given = dict(zip(PASSES[pass_].reads, (one, other), strict=True))
    arrays = (given.get(name, np.zeros(shape_of(problem, name), one.dtype)) for name in ("dy", "x", "w"))
    dy, x, w = (_there(torch, array, numbers, order) for array in arrays)
    mask = [pass_ == "dgrad", pass_ == "wgrad", False]
    padding = [before for before, _ in problem.padding]
    window = list(problem.stride), padding, list(problem.dilation), False, [0, 0], problem.groups, mask
    tf32, cudnn, backward = bool(numbers), torch.backends.cudnn, torch.ops.aten.convolution_backward

    def run():
        cudnn.benchmark, cudnn.allow_tf32 = True, tf32
        return backward(dy, x, w, None, *window)[mask.index(True)]

    return Call(run, _as_numpy)


def _there(torch, array: np.ndarray, numbers: str, order: str):
    """Return an array on the device, in the order and the type that a form wants."""
    where = "cuda" if torch.cuda.is_available() else "cpu"  # the latter only where it is tested
    kind = torch.float16 if numbers == " fp16" else torch.float32
    layout = torch.channels_last if order else torch.contiguous_format
    return torch.from_numpy(array).to(where).permute(0, 3, 1, 2).to(kind).contiguous(memory_format=layout)


def _as_numpy(y) -> np.ndarray:
    return y.permute(0, 2, 3, 1).float().cpu().numpy()


def _is_depthwise(problem: ConvProblem) -> bool:
    return problem.C == problem.groups > 1


def _cudnn_refuses(problem: ConvProblem) -> str | None:
    """Say where arrays in NCHW order are not cuDNN's."""
    if _is_depthwise(problem):
        return "each filter reads one channel: PyTorch has kernels of its own for that"
    return torch_refuses(problem)


def _pytorch_refuses(problem: ConvProblem) -> str | None:
    """Say where they are not PyTorch's own."""
    return torch_refuses(problem) if _is_depthwise(problem) else "it is cuDNN that PyTorch calls for this"


def what_ran(row: Row) -> str:
    """Return whose kernel a row has timed: in older files PyTorch's own has the name of cuDNN."""
    renamed = row.candidate in NCHW and _is_depthwise(row.problem)
    return NCHW[row.candidate] if renamed else row.candidate


def _needs_a_gpu() -> None:
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("it finds no GPU")


def _forms(numbers: str, rounding: float) -> dict[str, Baseline]:
    """Return the forms with numbers of one kind, by their names."""
    told = {
        f"cuDNN{numbers}": ("", _cudnn_refuses),
        f"cuDNN{numbers} channels_last": (" channels_last", torch_refuses),
        f"PyTorch{numbers}": ("", _pytorch_refuses),
    }
    return {
        name: Baseline(
            *(name, "PyTorch", "torch"), partial(_prepare, numbers, order), refuses, _needs_a_gpu, rounding
        )
        for name, (order, refuses) in told.items()
    }


_EVERY = [_forms(numbers, rounding) for numbers, rounding in _ROUNDING.items()]
FLOAT32, TF32, FP16 = map(tuple, _EVERY)
CUDNN = {name: one for forms in _EVERY for name, one in forms.items()}
# Whose kernels run on arrays in NCHW order: of most layers, and of depthwise ones.
NCHW = {f"cuDNN{numbers}": f"PyTorch{numbers}" for numbers in _ROUNDING}
BACKWARDS = [
    replace(one, prepare=partial(_prepare_backwards, pass_, *one.prepare.args), pass_=pass_)
    for pass_ in ("dgrad", "wgrad")
    for one in CUDNN.values()
]
