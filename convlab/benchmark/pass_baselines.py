"""Who the passes backwards are measured against: PyTorch's autograd, and the two slow ways of `slow_ways`.

torch channels_last   the operation that autograd calls, asked for one gradient, on arrays in NHWC order
zeros inserted        dgrad at a stride, by one convolution
whole picture         wgrad, by one convolution
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from convlab.benchmark.baselines import (
    BASELINES,
    Baseline,
    Call,
    from_torch,
    load_torch,
    one_side,
    torch_arrays,
)
from convlab.benchmark.passes import PASSES, ROUNDING, shape_of
from convlab.benchmark.rivals import RIVALS
from convlab.benchmark.slow_ways import picture_refuses, whole_picture, zeros_inserted, zeros_refuse
from convlab.problem import ConvProblem


def _autograd(pass_: str, problem: ConvProblem, one: np.ndarray, other: np.ndarray, threads: int) -> Call:
    """Prepare the operation that autograd calls, asked for one of its three gradients."""
    given = dict(zip(PASSES[pass_].reads, (one, other), strict=True))
    # Of the array that this gradient does not depend on only the shape counts.
    arrays = [
        given[name] if name in given else np.zeros(shape_of(problem, name), problem.dtype)
        for name in ("dy", "x", "w")
    ]
    dy, x, w = torch_arrays(*arrays, threads=threads)
    mask = [pass_ == "dgrad", pass_ == "wgrad", False]
    window = problem.stride, one_side(problem), problem.dilation
    backward = load_torch().ops.aten.convolution_backward
    rest = None, *map(list, window), False, [0, 0], problem.groups, mask
    return Call(lambda: backward(dy, x, w, *rest)[mask.index(True)], from_torch)


def _torch_for(pass_: str) -> Baseline:
    return replace(BASELINES[AUTOGRAD], prepare=partial(_autograd, pass_), pass_=pass_)


AUTOGRAD, ZEROS, PICTURE = "torch channels_last", "zeros inserted", "whole picture"
IN_TRAINING = (AUTOGRAD, ZEROS, PICTURE)  # those that pack nothing beforehand: weights are new in every step
_ours = partial(Baseline, library="NumPy", package="numpy", needs=lambda: np, rounding=ROUNDING)
EVERY = (  # whoever `convlab bench cpu` measures beside ours
    *BASELINES.values(),
    *RIVALS,
    *map(_torch_for, ("dgrad", "wgrad")),
    _ours(ZEROS, prepare=zeros_inserted, refuses=zeros_refuse, pass_="dgrad"),
    _ours(PICTURE, prepare=whole_picture, refuses=picture_refuses, pass_="wgrad"),
)
