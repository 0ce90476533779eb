"""Who we measure ourselves against: what a user would otherwise call, in the best form of it we know.

    NumPy                 im2col in one view and one copy, then a matrix product by its BLAS
    SciPy                 a convolution by FFT
    torch                 `torch.nn.functional.conv2d`, arrays in PyTorch's own order
    torch channels_last   the same, arrays in NHWC order
    oneDNN prepacked      what is under it, called directly, with weights reordered once

Libraries that run whole networks, and are given a graph, are in `rivals`.

`prepare` does what a user can do once (weights in another order), and returns the call that is timed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import numpy as np

from convlab.auto.timing import Timer
from convlab.problem import ConvProblem


@dataclass(frozen=True)
class Call:
    """A convolution ready to be timed.

    Attributes
    ----------
    run : callable
        Returns its output.
    array : callable
        Makes that an (N, P, Q, K) array.
    timer : callable, optional
        ``timer(warm=2)`` returns its `Timer`, where it is not the comparison's clock that can time it.
    """

    run: Callable[[], object]
    array: Callable[[object], np.ndarray] = lambda y: y
    timer: Callable[..., Timer] | None = None


@dataclass(frozen=True)
class Baseline:
    """One way to compute a convolution, or a gradient of one, that is not ours.

    Attributes
    ----------
    name : str
    library, package : str
        Its name for people, and the name it is imported by.
    prepare : callable
        ``prepare(problem, x, w, threads)`` returns a `Call`; of a gradient its two operands are given. Of a
        whole network it is ``prepare(model, photo, threads)``.
    refuses : callable
        ``refuses(problem)`` returns the reason why it cannot serve a problem, or None.
    needs : callable
        ``needs()`` imports the library; an error if it has been built without what this is made of.
    rounding : float
        How far its output may be off, as `Algorithm.rounding`.
    pass_ : str
        What it computes: "fprop", or a gradient, "dgrad" or "wgrad" (`pass_baselines`), or a whole "network"
        (`rivals`).
    """

    name: str
    library: str
    package: str
    prepare: Callable[[ConvProblem, np.ndarray, np.ndarray, int], Call]
    refuses: Callable[[ConvProblem], str | None]
    needs: Callable[[], object]
    rounding: float = 1.0
    pass_: str = "fprop"

    def missing(self) -> str | None:
        """Return why it cannot run here, or None if it can."""
        return None if find_spec(self.package) else f"{self.library} is not installed"

    def broken(self) -> str | None:
        """Return why its library does not work here, or None if it does."""
        try:
            self.needs()
        except Exception as error:  # a library built for another machine fails in ways of its own
            return f"{self.library} does not work here: {type(error).__name__}: {error}"
        return None


# -- NumPy and SciPy ---------------------------------------------------------------------------------------


def numpy_im2col(problem: ConvProblem, x: np.ndarray, w: np.ndarray, threads: int = 1) -> Call:
    """Prepare im2col as one writes it in NumPy: a view of all windows in the order r, s, c, then ``@``."""
    M, _, taps = problem.gemm
    weights = np.ascontiguousarray(w.reshape(problem.K, taps).T)  # (R*S*C, K)
    shape = problem.N, problem.P, problem.Q, problem.R, problem.S, problem.C
    steps, between = problem.stride, problem.dilation

    def run():
        n, h, w, c = (padded := _pad(x, problem)).strides
        strides = n, h * steps[0], w * steps[1], h * between[0], w * between[1], c
        windows = np.lib.stride_tricks.as_strided(padded, shape, strides)  # (N, P, Q, R, S, C), no copy yet
        return (windows.reshape(M, taps) @ weights).reshape(problem.y_shape)

    return Call(run)


def _fftconvolve():
    from scipy.signal import fftconvolve

    return fftconvolve


def _scipy_fft(problem, x, w, threads):
    fftconvolve = _fftconvolve()
    flipped = w[:, ::-1, ::-1]  # SciPy's convolution turns the filter round; ours does not
    p, q = (slice(None, None, step) for step in problem.stride)

    def run():
        padded = _pad(x, problem)
        y = np.empty(problem.y_shape, problem.dtype)
        for n in range(problem.N):
            for k in range(problem.K):  # all channels at once, over rows and columns only
                planes = fftconvolve(padded[n], flipped[k], mode="valid", axes=(0, 1))
                y[n, :, :, k] = planes.sum(axis=-1)[p, q]
        return y

    return Call(run)


def _pad(x: np.ndarray, problem: ConvProblem) -> np.ndarray:
    """Return x with the zeros around it; x itself where there are none."""
    return np.pad(x, ((0, 0), *problem.padding, (0, 0))) if any(map(any, problem.padding)) else x


# -- PyTorch -----------------------------------------------------------------------------------------------


def _torch_eager(problem, x, w, threads, contiguous=False):
    x_, w_ = torch_arrays(x, w, threads=threads)
    if contiguous:
        x_, w_ = x_.contiguous(), w_.contiguous()  # NCHW and KCRS in memory too
    convolve, padding = load_torch().nn.functional.conv2d, one_side(problem)
    step = problem.stride, padding, problem.dilation, problem.groups
    return Call(lambda: convolve(x_, w_, None, *step), from_torch)


def _onednn_prepacked(problem, x, w, threads):
    x_, w_ = torch_arrays(x, w, threads=threads)
    padding, steps, between = one_side(problem), problem.stride, problem.dilation
    (reorder, convolve), groups = _onednn(), problem.groups
    packed = reorder(w_.contiguous(), padding, steps, between, groups, list(x_.shape))
    rest = None, padding, steps, between, groups, "none", [], ""  # no bias, nothing done after it
    return Call(lambda: convolve(x_, packed, *rest), from_torch)


def load_torch():
    """Return PyTorch; it is loaded then."""
    import torch

    return torch


def _onednn():
    """Return oneDNN's two operations; PyTorch can be built without them."""
    operations = load_torch().ops.mkldnn
    return operations._reorder_convolution_weight, operations._convolution_pointwise


def torch_arrays(*arrays: np.ndarray, threads: int):
    """Return arrays as PyTorch names their axes, x NCHW and w KCRS; in memory they stay NHWC and KRSC."""
    torch = load_torch()
    torch.set_grad_enabled(False)
    torch.set_num_threads(threads)
    return tuple(torch.from_numpy(array).permute(0, 3, 1, 2) for array in arrays)


def from_torch(y) -> np.ndarray:
    """Return what PyTorch computed in our order of axes."""
    return y.permute(0, 2, 3, 1).numpy()


def one_side(problem: ConvProblem) -> list[int]:
    """Return the padding as PyTorch wants it: of the first side, for the other is the same."""
    return [before for before, _ in problem.padding]


# -- what they refuse --------------------------------------------------------------------------------------


def no_groups(problem: ConvProblem) -> str | None:
    """Return why a way for one group cannot serve a problem, or None if it can."""
    return "it has no groups" if problem.groups > 1 else None


def _scipy_refuses(problem: ConvProblem) -> str | None:
    if problem.groups > 1 or problem.dilation != (1, 1):
        return "it has neither groups nor dilation"
    return None


def torch_refuses(problem: ConvProblem) -> str | None:
    """Return why PyTorch's conv2d cannot serve a problem by itself, or None if it can."""
    one_sided = any(before != after for before, after in problem.padding)
    return "padding on one side needs a copy of x" if one_sided else None


BASELINES: dict[str, Baseline] = {
    one.name: one
    for one in (
        Baseline("NumPy", "NumPy", "numpy", numpy_im2col, no_groups, lambda: np),
        Baseline("SciPy", "SciPy", "scipy", _scipy_fft, _scipy_refuses, _fftconvolve),
        Baseline(
            "torch", "PyTorch", "torch", partial(_torch_eager, contiguous=True), torch_refuses, load_torch
        ),
        Baseline("torch channels_last", "PyTorch", "torch", _torch_eager, torch_refuses, load_torch),
        Baseline("oneDNN prepacked", "PyTorch", "torch", _onednn_prepacked, torch_refuses, _onednn),
    )
}


def at_hand(wanted: Iterable[Baseline]) -> tuple[list[Baseline], dict[str, str]]:
    """Return the baselines that work here; and of the others the names, and why they do not."""
    here, skipped = [], {}
    for one in wanted:  # on all cores: some libraries count the cores when they are loaded
        if reason := one.missing() or one.broken():
            skipped[one.name] = reason
        else:
            here.append(one)
    return here, skipped
