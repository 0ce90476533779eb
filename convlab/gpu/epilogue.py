"""The epilogue on a GPU: bias, residual and ReLU, after whatever has computed y.

    y[n, p, q, k] = max(y[n, p, q, k] + bias[k] + residual[n, p, q, k], floor)

It is a kernel of its own, which reads y and writes it once more. (`convlab.cpu.epilogue` does the same in the
registers of the convolution, and so do cuDNN and CUTLASS on a GPU.)
"""

from __future__ import annotations

import numpy as np

from convlab.gpu.device import current
from convlab.gpu.kernels import kernel
from convlab.gpu.numba_cuda import cuda
from convlab.support.integers import ceil_div

THREADS = 256


@kernel
def finish(y, bias, residual, floor, numbers, filters, biased, added):
    """One thread a number, neighbours beside neighbours; what is not `biased` or `added` is not read."""
    i = cuda.grid(1)
    if i < numbers:
        number = y[i]
        if biased:
            number += bias[i % filters]
        if added:
            number += residual[i]
        y[i] = floor if number < floor else number  # NaN is not below it, and stays


def apply(y, bias=None, residual=None, floor: float = -np.inf) -> None:
    """Do it to y (N, P, Q, K) with a bias (K,), a residual like y and a floor, or with what there is of them.

    All of them lie on the device.
    """
    biased, added = bias is not None, residual is not None
    if not (biased or added or floor > -np.inf):
        return
    flat, blocks = y.reshape(-1), ceil_div(y.size, THREADS)
    others = bias if biased else flat, residual.reshape(-1) if added else flat, y.dtype.type(floor)
    sizes = y.size, y.shape[-1], int(biased), int(added)
    current().launch(finish, blocks, THREADS, flat, *others, *sizes)
