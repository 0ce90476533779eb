"""The bias: y[n, p, q, k] += bias[k], after whatever has computed y."""

from __future__ import annotations

from convlab.gpu.device import current
from convlab.gpu.kernels import kernel
from convlab.gpu.numba_cuda import cuda
from convlab.support.integers import ceil_div

THREADS = 256


@kernel
def add_bias(y, bias, numbers, filters):
    """One thread a number: neighbours add to neighbours."""
    i = cuda.grid(1)
    if i < numbers:
        y[i] += bias[i % filters]


def add(y, bias) -> None:
    """Add bias (K,) to y (N, P, Q, K); both lie on the device."""
    blocks = ceil_div(y.size, THREADS)
    current().launch(add_bias, blocks, THREADS, y.reshape(-1), bias, y.size, bias.size)
