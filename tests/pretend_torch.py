"""PyTorch, played with NumPy: as much of it as a benchmark of cuDNN calls. There is a GPU, it says."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import numpy as np

CUDNN = 91002  # its version


class Tensor:
    """An array, with PyTorch's words for what is done to it."""

    def __init__(self, array):
        self.array = np.asarray(array)

    device, shape = "cuda", property(lambda self: self.array.shape)

    def to(self, kind):
        """Change the type of its numbers; to another device it need not go."""
        return self if kind == "cuda" else Tensor(self.array.astype(kind))

    def permute(self, *axes):
        return Tensor(self.array.transpose(axes))

    def contiguous(self, memory_format=None):
        return self if memory_format == "channels_last" else Tensor(np.ascontiguousarray(self.array))

    def float(self):
        return Tensor(self.array.astype(np.float32))

    def cpu(self):
        return self

    def numpy(self):
        return self.array

    @property
    def __cuda_array_interface__(self):
        return {**self.array.__array_interface__, "version": 3}


def _problem(x, w, stride, padding, dilation, groups):
    from convlab import ConvProblem

    (N, C, H, W), (K, _, R, S) = x.shape, w.shape
    sides = tuple((before, before) for before in padding)
    how = {"stride": tuple(stride), "padding": sides, "dilation": tuple(dilation), "groups": groups}
    return ConvProblem(N, H, W, C, K, R, S, **how)


def _ours(tensor):
    """Return an NHWC array."""
    return tensor.array.transpose(0, 2, 3, 1).astype(np.float32)


def _conv2d(x, w, bias, *how):
    from convlab.oracle import reference

    assert bias is None
    y = reference(_ours(x), _ours(w), _problem(x, w, *how))
    return Tensor(y.transpose(0, 3, 1, 2).astype(x.array.dtype))


def _backward(dy, x, w, sizes, stride, padding, dilation, transposed, output_padding, groups, mask):
    from convlab.benchmark.passes import IN_FLOAT64

    assert (sizes, transposed, output_padding, mask[2]) == (None, False, [0, 0], False)
    problem, found = _problem(x, w, stride, padding, dilation, groups), [None] * 3
    for at, (pass_, first, second) in enumerate((("dgrad", dy, w), ("wgrad", x, dy))):
        if mask[at]:
            gradient = IN_FLOAT64[pass_](_ours(first), _ours(second), problem)
            found[at] = Tensor(gradient.transpose(0, 3, 1, 2).astype(x.array.dtype))
    return found


def _there(given, device=None):
    from pretend_gpu import There

    assert device == "cuda"
    return Tensor(given._held if isinstance(given, There) else given)


def _pairs(tensor):
    """Return complex numbers as pairs."""
    numbers = tensor.array.astype(np.complex64)
    return Tensor(numbers.view(np.float32).reshape(*numbers.shape, 2))


def install() -> None:
    """Let ``import torch`` find it."""
    torch = ModuleType("torch")
    torch.__spec__ = ModuleSpec("torch", None)
    torch.float16, torch.float32 = np.float16, np.float32
    torch.channels_last, torch.contiguous_format = "channels_last", "contiguous"
    torch.set_grad_enabled = lambda enabled: None
    torch.from_numpy, torch.as_tensor = Tensor, _there
    torch.Tensor, default = Tensor, SimpleNamespace(cuda_stream=0)
    torch.cuda = SimpleNamespace(
        is_available=lambda: True,
        empty_cache=lambda: None,
        current_stream=lambda device: default,
        default_stream=lambda: default,
        stream=nullcontext,
    )
    cudnn = SimpleNamespace(benchmark=False, allow_tf32=True, version=lambda: CUDNN)
    torch.backends = SimpleNamespace(cudnn=cudnn)
    torch.nn = SimpleNamespace(functional=SimpleNamespace(conv2d=_conv2d))
    torch.ops = SimpleNamespace(aten=SimpleNamespace(convolution_backward=_backward))
    torch.view_as_real = _pairs
    torch.view_as_complex = lambda tensor: Tensor(
        np.ascontiguousarray(tensor.array).view(np.complex64)[..., 0]
    )
    torch.fft = SimpleNamespace(
        rfft2=lambda tensor, dim, norm: Tensor(np.fft.rfft2(tensor.array, axes=dim, norm=norm)),
        irfft2=lambda tensor, s, dim, norm: Tensor(
            np.fft.irfft2(tensor.array, s=s, axes=dim, norm=norm).astype(np.float32)
        ),
    )
    sys.modules["torch"] = torch
