"""How a tensor core adds: the products are exact, and the sums are rounded, or cut off.

    rounded      C + A @ B by IEEE's rules, as every float32 is added here
    truncated    four words along the sum at a time: their products and the sum so far are put in units of the
                 24th bit of the largest of them, what hangs over is cut off, and the rest is added exactly

The second is what was found on devices, by sums made for it: M. Fasi, N. Higham, M. Mikaitis, S. Pranesh,
"Numerical Behavior of NVIDIA Tensor Cores", PeerJ Computer Science 7:e330 (2021). No maker writes it down;
GPUs that came later keep some bits more: M. Khattak, M. Mikaitis, arXiv:2512.07004.
"""

from __future__ import annotations

import numpy as np

WORDS = 4  # along the sum whose products are added at once: 8 of float16, 4 of tf32
BITS = 24  # of a float32's fraction, the one before the point among them


def rounded(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return c (16, 8) + a (16, k) @ b (8, k).T."""
    return c + a @ b.T


def truncated(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The same; all that lies behind the 24th bit of the largest number of a step is lost."""
    at_once = a.shape[1] * WORDS // 8  # eight words are as many as one instruction multiplies
    products = a[:, None].astype(np.float64) * b  # (16, 8, k)
    sums = c.astype(np.float64)
    for first in range(0, a.shape[1], at_once):
        terms = np.concatenate([sums[..., None], products[..., first : first + at_once]], axis=-1)
        sums = _cut(terms, abs(terms).max(axis=-1, keepdims=True)).sum(axis=-1)
        sums = _cut(sums, abs(sums))
    return sums.astype(np.float32)


def _cut(numbers: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """Return numbers without what lies behind the last bit of the largest."""
    unit = np.ldexp(1.0, np.frexp(largest)[1] - BITS)
    return np.trunc(numbers / unit) * unit


ACCUMULATE = {"rounded": rounded, "truncated": truncated}
