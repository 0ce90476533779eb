"""Fourier transforms on a device: cuFFT, which CuPy and PyTorch both bring; NumPy's in the lane simulator.

    spectra = library.forward(pictures)            # (B, rows, cols, C) -> (B, rows, cols/2 + 1, C, 2)
    pictures = library.backward(spectra, cols)     # and back

Complex numbers are handed on as two real ones, as kernels take them. Both directions divide by the root of
rows * cols. What a library allocates for its results and on the way is its own affair: it keeps memory in a
pool, and no `workspace_bytes` counts it. Whatever stream its caller works on, here it works on CUDA's default
one, as the kernels before and after it do.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from convlab.errors import UnsupportedError
from convlab.gpu.device import current
from convlab.gpu.diagnose.driver_errors import translated
from convlab.gpu.simulated_gpu import Simulator


class NumPyTransforms:
    """NumPy's, for the lane simulator."""

    def forward(self, pictures):
        spectra = np.fft.rfft2(pictures, axes=(1, 2), norm="ortho")
        return (
            spectra.astype(np.result_type(pictures.dtype, 1j), copy=False)
            .view(pictures.dtype)
            .reshape(*spectra.shape, 2)
        )

    def backward(self, spectra, cols: int):
        numbers = np.ascontiguousarray(spectra).view(np.result_type(spectra.dtype, 1j))[..., 0]
        pictures = np.fft.irfft2(numbers, s=(numbers.shape[1], cols), axes=(1, 2), norm="ortho")
        return pictures.astype(spectra.dtype, copy=False)


class CuPyTransforms:
    """cuFFT, through CuPy."""

    @translated("a Fourier transform")
    def forward(self, pictures):
        import cupy

        with cupy.cuda.Stream.null:
            spectra = cupy.fft.rfft2(cupy.asarray(pictures), axes=(1, 2), norm="ortho")
            spectra = cupy.ascontiguousarray(spectra)
            return current().adopt(spectra.view(pictures.dtype).reshape(*spectra.shape, 2))

    @translated("a Fourier transform")
    def backward(self, spectra, cols: int):
        import cupy

        with cupy.cuda.Stream.null:
            numbers = cupy.asarray(spectra)
            numbers = numbers.view(np.result_type(spectra.dtype, 1j))[..., 0]
            size = numbers.shape[1], cols
            pictures = cupy.fft.irfft2(numbers, s=size, axes=(1, 2), norm="ortho")
            return current().adopt(cupy.ascontiguousarray(pictures))


class TorchTransforms:
    """cuFFT, through PyTorch."""

    @translated("a Fourier transform")
    def forward(self, pictures):
        import torch

        with torch.cuda.stream(torch.cuda.default_stream()):
            spectra = torch.fft.rfft2(torch.as_tensor(pictures, device="cuda"), dim=(1, 2), norm="ortho")
            return current().adopt(torch.view_as_real(spectra.contiguous()))

    @translated("a Fourier transform")
    def backward(self, spectra, cols: int):
        import torch

        with torch.cuda.stream(torch.cuda.default_stream()):
            numbers = torch.view_as_complex(torch.as_tensor(spectra, device="cuda"))
            size = numbers.shape[1], cols
            pictures = torch.fft.irfft2(numbers, s=size, dim=(1, 2), norm="ortho")
            return current().adopt(pictures.contiguous())


def transforms() -> NumPyTransforms | CuPyTransforms | TorchTransforms:
    """Return what transforms on the current device.

    Raises
    ------
    UnsupportedError
        If neither CuPy nor PyTorch is installed; the message has the commands.
    """
    if isinstance(current(), Simulator):
        return NumPyTransforms()
    if find_spec("cupy"):
        return CuPyTransforms()
    if find_spec("torch") and _torch_sees_a_gpu():
        return TorchTransforms()
    raise UnsupportedError(
        "Fourier transforms on backend='gpu' are done by cuFFT, which CuPy or PyTorch with CUDA bring, and "
        "neither is installed here; install one: pip install cupy-cuda13x, or pip install convlab[torch]"
    )


def _torch_sees_a_gpu() -> bool:
    import torch

    return torch.cuda.is_available()
