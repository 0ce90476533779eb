"""One number all over an array: zeros where nothing is added, or "not a number" where all must be written."""

from __future__ import annotations

from convlab.gpu.kernels import kernel
from convlab.gpu.numba_cuda import cuda
from convlab.support.integers import ceil_div

THREADS = 256  # of a block


@kernel
def fill_with(y, value, numbers):
    """One thread a number."""
    i = cuda.grid(1)
    if i < numbers:
        y[i] = value


def fill(device, array, value: float) -> None:
    """Write one number to the whole of an array of the device."""
    flat = array.reshape(-1)
    number = flat.dtype.type(value)
    device.launch(fill_with, ceil_div(flat.size, THREADS), THREADS, flat, number, flat.size)
