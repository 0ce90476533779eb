"""Filters as the gradient of the input reads them on a GPU: tap by tap, in any order, channels side by side.

It is done there: weights that are learned change on the GPU, and need not come back.
"""

from __future__ import annotations

from functools import lru_cache

from convlab.gpu.device import current
from convlab.gpu.kernels import kernel
from convlab.gpu.numba_cuda import cuda, number_type
from convlab.problem import ConvProblem
from convlab.support.device_arrays import described
from convlab.support.integers import ceil_div

THREADS = 256


def on_device(w):
    """Return weights on the device: a copy of NumPy's, and what lies there as it is."""
    device = current()
    return device.put(w) if described("w", w) is None else device.adopt(w)


def lay_out(problem: ConvProblem, w, out, rows: range, cols: range, depth: int) -> None:
    """Fill `out` (filters/depth, taps, depth, row) with the taps `rows` and `cols` of w, on the device."""
    sizes = out.size, w.shape[3], out.shape[-1], depth, len(rows), len(cols), problem.R, problem.S
    steps = (number % (1 << 32) for some in (rows, cols) for number in (some.start, some.step))
    blocks, arrays = ceil_div(out.size, THREADS), (w.reshape(-1), out.reshape(-1))
    current().launch(laid_out(problem.dtype), blocks, THREADS, *arrays, *sizes, *steps)


@lru_cache
def laid_out(dtype: str):
    """Return the kernel that lays filters out as (groups, taps_r, taps_s, depth, row), one thread a number.

    Of w (groups * depth, R, S, channels) it takes the taps first_r + i*step_r, and so along the other axis; a
    row is longer than the channels by zeros.
    """
    number = number_type(dtype)

    @kernel
    def laid_out(
        w, out, numbers, channels, row, depth, taps_r, taps_s, R, S, first_r, step_r, first_s, step_s
    ):
        i = cuda.grid(1)
        if i < numbers:
            rest, c = divmod(i, row)
            rest, k = divmod(rest, depth)
            rest, s = divmod(rest, taps_s)
            g, r = divmod(rest, taps_r)
            at = ((g * depth + k) * R + first_r + r * step_r) * S + first_s + s * step_s
            out[i] = w[at * channels + c] if c < channels else number(0)

    return laid_out
